"""How the data were made that models made: annotations of conversations, and answers of models alone."""

from __future__ import annotations

from collections.abc import Iterator

from storage.ai_alone.model_use import ModelTask
from storage.datasets.describe.markdown import bullets, code, join, table
from storage.datasets.manifest import ExportManifest

UNUSABLE = {
    "annotation": (
        "A conversation without an annotation has null in its columns: it was not asked about, or the reply was not "
        "usable (unparsed, refused or failed). The counts below tell how many there are of each."
    ),
    "alone": (
        "Unparsed and refused replies count as wrong in a method's `_acc` and are in its `_invalid`; `_acc_valid` "
        "leaves them out. Failed calls and missing samples are in none of them."
    ),
}
TITLES = {"annotation": "## How models annotated the conversations", "alone": "## How models answered alone"}
NEWEST = "Prompts and parameters are those of the newest run; an earlier one may have had others."
NOT_RECORDED = "Its prompt and settings were not recorded."


def model_sections(exported: ExportManifest) -> str:
    """A section of the card for each kind of data that models made; empty if there are none."""
    return join(*(_section(exported, kind) for kind in TITLES)) if exported.uses else ""


def described(use: ModelTask) -> str:
    """One use in a line: the task, the model as it was asked, its version, when, and what came of it."""
    served = ", ".join(use.served) or "never asked"
    days = f", {' to '.join(dict.fromkeys(use.days))}" if use.days else ""
    counts = ", ".join(f"{number:,} {word}" for word, number in use.counts.items())
    return f"{use.task} by {use.model} (asked as {served}{days}): {counts}"


def sources(exported: ExportManifest, task: str) -> str:
    """The models that gave an annotation, for the codebook; empty if none did."""
    models = [f"{use.model} (asked as {', '.join(use.served)})" for use in exported.uses if use.task == task]
    return ", ".join(models) + ("; where several annotated a conversation, the newest counts" if models[1:] else "")


def _section(exported: ExportManifest, kind: str) -> str:
    uses = [use for use in exported.uses if use.kind == kind]
    if not uses:
        return ""
    words = list(uses[0].counts)
    rows = (
        (
            code(use.task),
            code(use.model),
            ", ".join(map(code, use.served)) or "-",
            " to ".join(dict.fromkeys(use.days)) if use.days else "-",
            *(f"{use.counts[word]:,}" for word in words),
        )
        for use in uses
    )
    several = {use.task for use in uses if sum(other.task == use.task for other in uses) > 1}
    overlaid = f"Several models annotated for {', '.join(map(code, sorted(several)))}: the newest annotation counts."
    return join(
        TITLES[kind],
        UNUSABLE[kind],
        overlaid if several and kind == "annotation" else "",
        table(("annotator" if kind == "annotation" else "method", "model", "asked as", "days", *words), rows),
        NEWEST,
        *_settings(uses),
    )


def _settings(uses: list[ModelTask]) -> Iterator[str]:
    for task, settings in {use.task: use.settings for use in uses}.items():
        yield f"### {code(task)}"
        if not settings:
            yield NOT_RECORDED
        short = {name: value for name, value in settings.items() if "\n" not in str(value) and len(str(value)) < 60}
        yield bullets(f"{name}: {code(str(value))}" for name, value in short.items() if value not in (None, ""))
        yield from (f"{name}:\n\n~~~~text\n{value}\n~~~~" for name, value in settings.items() if name not in short)
