"""Trials: plans, power, preregistration, looks, and evidence on how texts came about."""

from app.extension import CommandEntry, Extension, register

TRIAL = CommandEntry("app.cli.trial", "Plan a trial: power, preregistration, looks, reasons.")

register(
    Extension(
        "trials",
        commands={"Make a study": {"trial": TRIAL}},
        hooks={
            "confirmatory_part": "app.analysis.trial.report_part:confirmatory_part",
            "deviations": "app.analysis.trial.deviations:deviations",
            "figure_names": "app.analysis.trial.results:NAMES",
            "plan_history": "app.extensions.trials.plan_history:plan_history",
            "take_look": "app.analysis.trial.looks:look",
        },
    )
)
