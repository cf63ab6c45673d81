"""The checklists of reporting guidelines, filled in from a study and its report as far as they have the answer.

- CONSORT 2025: Hopewell et al., PLOS Medicine 22(4):e1004587, table 1 (30 items).
- CONSORT-AI, the extension for interventions with AI: Liu et al., Nature Medicine 2020, 26:1364, table 1 (14 items).

Items are paraphrased; their numbers are those of the publications. What neither the study nor the report says is
marked as not answered, for the authors to write.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType

from app.extensions.trials.deviations import SHORT
from app.extensions.trials.trial_report import TrialReport
from app.extensions.trials.wording import factor_words, looks_words, sample_words

NOT_ANSWERED = "not answered"


@dataclass(frozen=True, slots=True)
class ChecklistItem:
    number: str
    item: str
    answer: str

    @property
    def answered(self) -> bool:
        return self.answer != NOT_ANSWERED


@dataclass(frozen=True, slots=True)
class Checklist:
    title: str
    source: str
    items: tuple[ChecklistItem, ...]

    @property
    def answered(self) -> int:
        return sum(one.answered for one in self.items)


def checklists(trial: TrialReport) -> tuple[Checklist, ...]:
    """The filled checklists; that for AI only if a model replies in the study."""
    found = [_filled("CONSORT 2025", "doi.org/10.1371/journal.pmed.1004587", CONSORT, trial)]
    if trial.study.file.models:
        found.append(_filled("CONSORT-AI", "doi.org/10.1038/s41591-020-1034-x", CONSORT_AI, trial))
    return tuple(found)


def _filled(title: str, source: str, items: Mapping[str, str], trial: TrialReport) -> Checklist:
    known = {number: answer for number, answer in _answers(trial) if answer}
    prefix = "AI " if items is CONSORT_AI else ""
    rows = (ChecklistItem(number, item, known.get(f"{prefix}{number}", NOT_ANSWERED)) for number, item in items.items())
    return Checklist(title, source, tuple(rows))


CONSORT: Mapping[str, str] = MappingProxyType(
    {
        "1a": "identified as a randomised trial",
        "1b": "structured summary",
        "2": "registry, number and date of registration",
        "3": "where the protocol and the analysis plan can be read",
        "4": "where data, code and other materials can be had",
        "5a": "funding, and what the funders did",
        "5b": "conflicts of interest of the authors",
        "6": "background and rationale",
        "7": "objectives on benefits and harms",
        "8": "involvement of patients or the public",
        "9": "type of trial, allocation ratio, framework",
        "10": "changes after the start, and outcomes or analyses that were not prespecified, with reasons",
        "11": "settings and locations",
        "12a": "who was eligible",
        "12b": "who was eligible to deliver the intervention",
        "13": "intervention and comparator in enough detail to repeat them",
        "14": "primary and secondary outcomes: measure, metric, aggregation, time",
        "15": "how harms were defined and assessed",
        "16a": "how the sample size was determined, with its assumptions",
        "16b": "interim analyses and stopping rules",
        "17a": "who made the random sequence, and how",
        "17b": "type of randomisation and its restrictions",
        "18": "how the sequence was implemented and concealed",
        "19": "whether those who enrolled and assigned knew the sequence",
        "20a": "who was blinded after assignment",
        "20b": "how blinding was achieved, and how alike the interventions were",
        "21a": "statistical methods that compare the groups",
        "21b": "who is in each analysis, and in which group",
        "21c": "how missing data were handled",
        "21d": "further analyses, prespecified or post hoc",
        "22a": "numbers assigned, treated as intended and analysed, by group",
        "22b": "losses and exclusions after assignment, by group, with reasons",
        "23a": "dates of recruitment and follow-up",
        "23b": "why the trial ended or was stopped",
        "24a": "how intervention and comparator were delivered: by whom, adherence, fidelity",
        "24b": "other care during the trial, by group",
        "25": "baseline characteristics of each group in a table",
        "26": "for each outcome and group: numbers, result, effect with its precision; for binary ones absolute and "
        "relative effects",
        "27": "harms and unintended events in each group",
        "28": "other analyses, prespecified or post hoc",
        "29": "interpretation",
        "30": "limitations",
    }
)
CONSORT_AI: Mapping[str, str] = MappingProxyType(
    {
        "1a,b (i)": "the title or abstract says that the intervention involves AI, and the type of model",
        "1a,b (ii)": "the title or abstract says what the AI is meant for",
        "2a (i)": "what the AI is meant for, its purpose and its users",
        "4a (i)": "inclusion and exclusion of participants",
        "4a (ii)": "inclusion and exclusion of input data",
        "4b": "how the AI was integrated into the setting, and what it required",
        "5 (i)": "which version of the AI was used",
        "5 (ii)": "how input data were acquired and selected",
        "5 (iii)": "how poor or missing input data were handled",
        "5 (iv)": "whether people handled the input together with the AI, and what skill that took",
        "5 (v)": "what the AI puts out",
        "5 (vi)": "how the output contributed to decisions",
        "19": "analysis of errors of the AI, or why there is none",
        "25": "whether and how the AI or its code can be accessed, with restrictions",
    }
)


def _answers(trial: TrialReport) -> Iterator[tuple[str, str]]:
    """Where each item is answered, by its number, with `AI ` before those of CONSORT-AI; empty where it is not."""
    for part in (_open_science, _design, _analysis, _results, _ai):
        yield from part(trial)


def _open_science(trial: TrialReport) -> Iterator[tuple[str, str]]:
    info = trial.study.file.dataset
    yield "1a", "Confirmatory results, Methods: Design" if trial.study.file.factors else ""
    yield "3", _registered(trial)
    if info is not None:
        yield "4", f"dataset: {info.url}" if info.url else ""
        yield "5a", "; ".join(one.funder for one in info.funding)


def _registered(trial: TrialReport) -> str:
    version = f"version {trial.study.file.version} ({trial.study.hash[:SHORT]})"
    if trial.preregistered_us is None:
        return f"the plan in the study file, {version}; not preregistered"
    return f"plan of {version}, preregistered on {datetime.fromtimestamp(trial.preregistered_us / 1e6, UTC):%Y-%m-%d}"


def _design(trial: TrialReport) -> Iterator[tuple[str, str]]:
    plan, study = trial.plan, trial.study
    yield "7", "Methods: Hypotheses; harms are not stated"
    frameworks = {"equivalent": "equivalence", "not_worse": "non-inferiority"}
    kinds = ", ".join(dict.fromkeys(frameworks.get(one.direction, "superiority") for one in plan.primary))
    factors = "; ".join(factor_words(study))
    yield "9", f"{factors}; {kinds}" if factors else kinds
    yield "10", _changes(trial)
    yield (
        "13",
        f"the study file, version {study.file.version} ({study.hash[:SHORT]}): its texts, steps, models and prompts",
    )
    yield "14", "Methods: Hypotheses"
    smallest = ", ".join(f"{one.id} {one.smallest_effect:g}" for one in plan.primary if one.smallest_effect)
    yield "16a", f"{sample_words(plan)}; smallest effects of interest: {smallest}" if smallest else sample_words(plan)
    yield "16b", looks_words(plan)
    if study.file.factors:
        yield "17a", "Methods: Design (by computer; the seed of each session is in the log)"
        yield "17b", f"balanced over the combinations of {', '.join(study.file.factors)}; Methods: Design"
        yield "18", "decided by the server when the participant is admitted; it is not known before"


def _changes(trial: TrialReport) -> str:
    if trial.preregistered_us is None:
        return ""
    many = len(trial.deviations) + len(trial.unplanned_looks)
    return f"Deviations from the plan ({many:,} listed); all other figures are under Exploratory results"


def _analysis(trial: TrialReport) -> Iterator[tuple[str, str]]:
    yield "21a", "Methods: Statistical model, Inference"
    yield "21b", "Methods: Populations; Participants by group"
    yield "21c", "Methods: Missing data"
    yield "21d", "sensitivity to exclusions, prespecified: Confirmatory results; post hoc: Exploratory results"


def _results(trial: TrialReport) -> Iterator[tuple[str, str]]:
    yield "22a", "Participants by group (assigned, started, analysed)"
    yield "22b", "Participants by group"
    if not trial.over:
        yield "23b", f"data collection is not over: {trial.complete:,} have completed"
    yield "26", "Confirmatory results (number, effect and 95 % interval; no relative effects)"
    yield "28", "Confirmatory results (per protocol, sensitivity); Exploratory results (post hoc)"


def _ai(trial: TrialReport) -> Iterator[tuple[str, str]]:
    study = trial.study
    models = ", ".join(f"{name} ({one.backend})" for name, one in study.file.models.items())
    yield "AI 4a (i)", "Methods: Populations (exclusion); inclusion is not stated" if trial.plan.exclude else ""
    yield "AI 4b", f"the steps of the study file, version {study.file.version} ({study.hash[:SHORT]})"
    yield "AI 5 (i)", f"models of the study file: {models}; the version that answered each call is in `model_calls`"
    yield "AI 5 (ii)", "the input is what participants write, with the prompts of the study file"
    yield "AI 5 (v)", "text replies; all are in the table `messages`"
