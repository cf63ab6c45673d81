"""Trials: plans, power, preregistration, looks, and evidence on how texts came about."""

from pathlib import Path

from app.extension import CommandEntry, Extension, register

HERE = __name__
TRIAL = CommandEntry(f"{HERE}.trial_commands", "Plan a trial: power, preregistration, looks, reasons.")
DEVIATIONS = CommandEntry(f"{HERE}.show_trial", "Deviations from a preregistered plan, with reasons.")
INTEGRITY = CommandEntry(f"{HERE}.show_trial", "Evidence on how texts came about.")

register(
    Extension(
        "trials",
        commands={"Make a study": {"trial": TRIAL}},
        shown={"deviations": DEVIATIONS, "integrity": INTEGRITY},
        tabs={"sessions": (f"{HERE}.integrity_tab:IntegrityTab",)},
        templates=Path(__file__).parent / "templates",
        styles=Path(__file__).parent / "static",
        studies=Path(__file__).parent / "studies",
        checks=(f"{HERE}.plan_check:plan_faults",),
        advice=(f"{HERE}.plan_check:plan_advice",),
        hooks={
            "confirmatory_part": f"{HERE}.report_part:confirmatory_part",
            "figure_names": f"{HERE}.results:NAMES",
            "locked_for": f"{HERE}.outcome_lock:locked_for",
            "look_is_due": f"{HERE}.outcome_lock:look_is_due",
            "open_again": f"{HERE}.outcome_lock:open_again",
            "peek": f"{HERE}.outcome_lock:peek",
            "plan_history": f"{HERE}.deviations:plan_history",
            "status": f"{HERE}.show_trial:status",
            "take_look": f"{HERE}.looks:look",
        },
    )
)
