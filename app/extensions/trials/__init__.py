"""Trials: plans, power, preregistration, looks, and evidence on how texts came about."""

from app.extension import CommandEntry, Extension, register

TRIAL = CommandEntry("app.cli.trial", "Plan a trial: power, preregistration, looks, reasons.")

register(
    Extension(
        "trials",
        commands={"Make a study": {"trial": TRIAL}},
        hooks={
            "confirmatory_part": "app.analysis.trial.report_part:confirmatory_part",
            "figure_names": "app.analysis.trial.results:NAMES",
        },
    )
)
