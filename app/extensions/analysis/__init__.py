"""Analysis: the figures of the three papers, of arenas and of reliance, and the report."""

from pathlib import Path

from app.extension import CommandEntry, Extension, register

HERE = __name__
REPORT = CommandEntry(f"{HERE}.report_command", "Write a report: participants and results.")

register(
    Extension(
        "analysis",
        commands={"Data and analysis": {"report": REPORT}},
        tabs={"export": (f"{HERE}.results_tab:ResultsTab",)},
        routes=(f"{HERE}.report_page:route",),
        templates=Path(__file__).parent / "templates",
        styles=Path(__file__).parent / "static",
        hooks={
            "annotator_agreement": f"{HERE}.annotator_agreement:agreement_of",
            "fidelity_report": f"{HERE}.fidelity:fidelity_report",
        },
    )
)
