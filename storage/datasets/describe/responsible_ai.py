"""How the data were collected, in sentences, and by the names of Croissant's vocabulary for responsible AI (RAI 1.0).

What a study file, the log and the publication metadata say; a property of which nothing is known is left out. About
simulated sessions nothing is said of recruitment, consent, pay or approval, because there were no participants.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from experiments.study.schema import FromTag
from experiments.study.sections.recruitment import Bonus
from experiments.study.study import Study
from storage.ai_alone.model_use import ModelTask
from storage.datasets.describe.markdown import code, count
from storage.datasets.describe.publication import is_imported, is_simulated, original_origins, publication
from storage.datasets.describe.summary_text import ORIGINS, left_out, participants_text
from storage.datasets.manifest import ExportManifest
from storage.registers.origins import SIMULATED, Origin

CONFORMS_TO = "http://mlcommons.org/croissant/RAI/1.0"
PER: Mapping[str, str] = {"correct_answer": "correct answer", "answer": "answer", "completion": "completed study"}
BLANK = "A blank cell of a csv and a `null` in JSON mean that the value is unknown."


def responsible_ai(exported: ExportManifest) -> dict[str, Any]:
    """The properties that are known, by their names (`rai:dataCollection`, ...)."""
    info = publication(exported)
    people = not is_simulated(exported)
    facts = " ".join(f"{name}: {_sentence(text)}" for name, text in collection_facts(exported).items())
    found = {
        "dataCollection": f"{participants_text(exported)} {facts}".strip(),
        "dataCollectionType": _types(exported),
        "dataCollectionTimeframe": list(exported.period or ()),
        "dataCollectionRawData": _raw_data(exported),
        "dataCollectionMissingData": f"{BLANK}{_withdrawn(exported)}",
        "dataPreprocessingProtocol": list(_selection(exported)),
        "dataAnnotationPlatform": _platforms(exported) if people else [],
        "machineAnnotationTools": [_described(use) for use in exported.uses],
        "annotatorDemographics": [info.participants] if info.participants and people else [],
        "personalSensitiveInformation": list(info.personal_information),
        "dataLimitations": [*_warnings(exported), *info.limitations],
        "dataBiases": list(info.biases),
        "dataUseCases": list(info.use_cases),
        "dataSocialImpact": info.social_impact,
        "dataReleaseMaintenancePlan": info.maintenance,
    }
    return {f"rai:{name}": value for name, value in found.items() if value}


def collection_facts(exported: ExportManifest) -> dict[str, str]:
    """How the data were collected: what is known, by a word or two that name it."""
    info, studies = publication(exported), exported.studies
    if exported.only_models:
        return {}
    found = {
        "Steps": ", ".join(dict.fromkeys(step.step for study in studies for _, step in study.steps)),
        "Conditions": "; ".join(dict.fromkeys(text for study in studies for text in _factors(study))),
    }
    if is_simulated(exported):
        return {name: text for name, text in found.items() if text}
    bonuses = "; ".join(dict.fromkeys(_bonus(rule) for study in studies for rule in study.file.bonus))
    period = " to ".join(dict.fromkeys(exported.period or ()))
    found = {
        "Participants": info.participants or "",
        "Recruitment channels": ", ".join(dict.fromkeys(one for s in studies for one in s.file.recruitment.channels)),
        "First and last session started": period,
        **found,
        "Consent": " ".join(filter(None, (info.consent, *dict.fromkeys(text for s in studies for text in _forms(s))))),
        "Pay": info.pay or "",
        "Bonus": bonuses,
        "Ethics approval": info.ethics_approval or "",
    }
    return {name: text for name, text in found.items() if text}


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _factors(study: Study) -> Iterator[str]:
    for name, factor in study.file.factors.items():
        yield f"{name} ({f'values of {factor.one_of}' if isinstance(factor, FromTag) else ', '.join(factor)})"


def _forms(study: Study) -> Iterator[str]:
    places = ", ".join(code(path) for path, step in study.steps if step.step == "consent")
    if places:
        yield f"Participants agreed to a consent form; its text is in the study file (step {places})."


def _bonus(rule: Bonus) -> str:
    most = f", at most {rule.max}" if rule.max is not None else ""
    return f"{rule.amount} per {PER[rule.per]}{most}, in the recruiter's currency"


def _types(exported: ExportManifest) -> list[str]:
    """Values that RAI 1.0 recommends, as far as they follow from the study."""
    if is_simulated(exported):
        return ["Others: simulated sessions"]
    steps = {step.step for study in exported.studies for _, step in study.steps}
    experiment = any(study.file.factors for study in exported.studies)
    return [name for name, fits in (("Experiments", experiment), ("Surveys", "survey" in steps)) if fits]


def _raw_data(exported: ExportManifest) -> str:
    if is_imported(exported):
        files = ", ".join(f"{source['file']} (SHA-256 {source['sha256']})" for source in exported.sources)
        return f"The imported files: {files}." if files else ""
    return "The event log of Parley, from which the files are computed. It is not part of the export."


def _withdrawn(exported: ExportManifest) -> str:
    withdrawn = exported.withdrawn
    return f" {count(withdrawn, 'session was', 'sessions were')} withdrawn, or erased by age." if withdrawn else ""


def _selection(exported: ExportManifest) -> Iterator[str]:
    if text := left_out(exported).strip():
        yield text
    filtered = ", ".join(file.path for file in exported.files if file.table.filters)
    steps = "; ".join(f"{kept.step}: {count(kept.people, 'participant')}" for kept in exported.filtered)
    if filtered and steps:
        yield f"{filtered} is filtered. {steps}."


def _described(use: ModelTask) -> str:
    """One use in a line: the task, the model as it was asked, its version, when, and what came of it."""
    served = ", ".join(use.served) or "never asked"
    days = f", {' to '.join(dict.fromkeys(use.days))}" if use.days else ""
    counts = ", ".join(f"{number:,} {word}" for word, number in use.counts.items())
    return f"{use.task} by {use.model} (asked as {served}{days}): {counts}"


def _platforms(exported: ExportManifest) -> list[str]:
    if is_imported(exported):
        return []
    return ["Parley", *dict.fromkeys(name for study in exported.studies for name in study.file.recruitment.channels)]


def _warnings(exported: ExportManifest) -> Iterator[str]:
    yield from (ORIGINS[mark] for mark in original_origins(exported) if mark in (Origin.PILOT, *SIMULATED))
