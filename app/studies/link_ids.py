"""Reads the participant's id from the parameters of a link, and says why where none can be taken.

A parameter is recognized whatever its case and separators: `PROLIFIC_PID`, `prolific_pid` and `prolificPid` are one
name. The names of the study's recruiters come first, then the general names of panels, then the names of recruiters
that the study does not accept. Of the first of these groups that the link has, the one id is taken. Where it has none,
or two that differ, nothing is guessed.

Names of parameters: Prolific and CloudResearch Connect (their help centres), MTurk's `workerId` (AWS, "How Mechanical
Turk tasks are rendered"), SONA's survey codes, Cint's `RID` and `PID` (Exchange, "Query parameter variables"), Dynata's
`pid` and `psid` (Demand API, "Start Link").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from experiments.study.sections.recruitment import Recruitment
from storage.registers.participants import ParticipantId

# The parameters of a personal link and of a signature, and the channel of personal links.
LAB, SIGNATURE, LAB_CHANNEL = "p", "parley_sig", "lab"
# The form of an id. Cint's have up to 128 characters, and Dynata's `psid` has asterisks.
ID = re.compile(r"[\w.@:+=~*/-]{1,128}")
UnreadableReason = Literal["unfilled", "malformed", "conflicting", "unknown"]


@dataclass(frozen=True, slots=True)
class LinkParameters:
    """Parameters of person's and submission's id; `others` also of the person's, without case and separators."""

    id: str
    submission: str = ""
    others: tuple[str, ...] = ()


RECRUITERS: Mapping[str, LinkParameters] = {
    "prolific": LinkParameters("PROLIFIC_PID", "SESSION_ID", ("prolificid", "prolificparticipantid")),
    "connect": LinkParameters("participantId", "assignmentId", ("connectid",)),
    "sona": LinkParameters("survey_code", others=("sonaid",)),
}
# The label of a recruiter that fills in ids, and the query with its placeholders. CloudResearch Connect has none: it
# adds its parameters itself.
PLACEHOLDERS: Mapping[str, tuple[str, str]] = {
    "prolific": ("Prolific", "?PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"),
    "sona": ("SONA", "?survey_code=%SURVEY_CODE%"),
}
# SONA's usual `?id=%SURVEY_CODE%`. It applies only to studies whose channels include SONA, as other recruiters use the
# same name.
SONA_OWN = "id"
# Names of the id in the links of panels and other recruiters.
GENERAL = frozenset(
    {
        *("pid", "psid", "vpid", "rid", "uid", "aid", "id", "workerid", "mturkid", "mturkworkerid", "cpxid"),
        *("participant", "participantid", "participantcode", "participantno", "subject", "subjectid", "subjectcode"),
        *("subid", "subj", "subjid", "respondent", "respondentid", "panelist", "panelistid", "personid", "userid"),
        *("memberid", "foreignid", "externalid"),
    }
)
# MTurk's name of the submission, beside `workerId`; other panels have none.
MTURK_SUBMISSION = "assignmentid"
# Names that end as an id's do, and are not a person's.
NO_PERSON = frozenset(
    {
        *("lang", "studyid", "sessionid", "assignmentid", "projectid", "hitid", "surveyid", "experimentid"),
        *("workspaceid", "campaignid", "groupid", "conditionid", "courseid", "gbraid", "wbraid", "mcid", "mceid"),
    }
)
PERSONS = ("participant", "subject", "worker", "respondent", "panelist", "prolific", "mturk", "sona")
# MTurk's value of `assignmentId` where the task is only previewed, without case and separators.
UNACCEPTED = "assignmentidnotavailable"
# Values, without case and separators, which stand for no id.
EMPTY = frozenset(
    {
        *("undefined", "null", "none", "nan", "objectobject", UNACCEPTED),
        *("idhere", "yourid", "youridhere", "insertid", "insertidhere", "placeholder", "surveycode", "sessionid"),
    }
)
# How a placeholder begins: `{{%PROLIFIC_PID%}}`, `[ID]`, `${e://Field/ID}`, `%ID%`, `<id>`.
_PLACEHOLDER = re.compile(r"[\[{<$%#]")
_QUOTED = re.compile(r"""(["'“‘«])(.*)(["'”’»])""", re.DOTALL)
# What looks like an id: Prolific's 24 hexadecimal digits, a UUID, ten or more letters and digits.
_TOKEN = re.compile(r"[0-9a-f]{24}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=(.*\d){3})(?=.*[a-z])[\w-]{10,}", re.I)
_QUESTION_MARK = re.compile(r"\?([A-Za-z][\w.-]*)=")
_REPORTED = re.compile(r"[A-Za-z][A-Za-z_.-]{0,29}\d{0,2}")
_LAST_WORD_ID = re.compile(r"(?i:(^|[\W_])[pu]?id$)|[a-z]P?I[Dd]$|(?i:[gu]uid$)")


@dataclass(frozen=True, slots=True)
class UnreadableId:
    """The reason why an id was not taken, and the parameter, which is empty if its name could be an id."""

    reason: UnreadableReason
    parameter: str


@dataclass(frozen=True, slots=True)
class LinkIds:
    """`unreadable`: an id in the link that was not taken; beside a person it is that of the submission."""

    person: ParticipantId | None = None
    unreadable: UnreadableId | None = None


def is_unaccepted(items: Iterable[tuple[str, str]]) -> bool:
    return any(_plain(_unwrapped(value)) == UNACCEPTED for name, value in items for _, value in _split(name, value))


def clean_id(text: str) -> str:
    """An id composed (NFC), without invisible characters, and blanks and quotes around it; empty if it is none."""
    text = _unwrapped(text)
    return text if ID.fullmatch(text) and not _is_unfilled(text) else ""


def read_ids(items: Iterable[tuple[str, str]], recruitment: Recruitment) -> LinkIds:
    """The ids in the parameters of a link, in their order, as a study wants them read."""
    given = [pair for name, value in items for pair in _split(name.removeprefix("amp;"), value)]
    for names in _groups(recruitment):
        values = [(name, value) for name, value in given if _plain(name) in names]
        if values:
            read = _one_of(values)
            if isinstance(read, UnreadableId):
                return LinkIds(unreadable=read)
            recruiter = next(by for called, by in names.items() if read in _ids_under(values, called))
            return _with_submission(given, recruiter, read)
    return LinkIds(unreadable=next(_lookalikes(given), None))


def _split(name: str, value: str) -> Iterator[tuple[str, str]]:
    """A parameter, and those after a second `?`, with which recruiters add theirs to an address with a query."""
    first, *others = _QUESTION_MARK.split(value)
    yield name, first
    yield from zip(others[::2], others[1::2], strict=True)


def _with_submission(given: Sequence[tuple[str, str]], recruiter: str, id_: str) -> LinkIds:
    wanted = _plain(RECRUITERS[recruiter].submission) if recruiter in RECRUITERS else MTURK_SUBMISSION
    values = [(name, value) for name, value in given if wanted and _plain(name) == wanted]
    read = _one_of(values) if values else ""
    if isinstance(read, UnreadableId):
        return LinkIds(ParticipantId(recruiter, id_), read)
    return LinkIds(ParticipantId(recruiter, id_, read))


def _groups(recruitment: Recruitment) -> Iterator[Mapping[str, str]]:
    """The names of ids in the order in which they are looked for, each with its recruiter."""
    names = {by: (_plain(parameters.id), *parameters.others) for by, parameters in RECRUITERS.items()}
    names["panel"] = (_plain(recruitment.id_parameter),)
    own = [by for by in names if not recruitment.channels or by in recruitment.channels]
    yield _by_name(names, own)
    if "sona" in recruitment.channels:
        yield {SONA_OWN: "sona"}
    if "panel" in own:
        yield dict.fromkeys(sorted(GENERAL), "panel")
    yield _by_name(names, [by for by in names if by not in own])


def _by_name(names: Mapping[str, Sequence[str]], recruiters: Sequence[str]) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for by in recruiters:
        for name in names[by]:
            found.setdefault(name, by)
    return found


def _one_of(values: Sequence[tuple[str, str]]) -> str | UnreadableId:
    found = dict.fromkeys(id_ for _, value in values if (id_ := clean_id(value)))
    name = _reported(values[-1][0])
    if len(found) > 1:
        return UnreadableId("conflicting", name)
    if found:
        return next(iter(found))
    return UnreadableId("malformed" if any(not _is_unfilled(value) for _, value in values) else "unfilled", name)


def _ids_under(values: Sequence[tuple[str, str]], name: str) -> list[str]:
    return [clean_id(value) for called, value in values if _plain(called) == name]


def _lookalikes(given: Sequence[tuple[str, str]]) -> Iterator[UnreadableId]:
    """Parameters that Parley does not know and that look like ids."""
    for name, value in given:
        plain, text = _plain(name), _unwrapped(value)
        if plain in NO_PERSON or plain.startswith(("utm", "parley")) or plain.endswith("clid"):
            continue
        named = plain in GENERAL or bool(_LAST_WORD_ID.search(name)) or any(word in plain for word in PERSONS)
        if _TOKEN.fullmatch(text) or (not text and _TOKEN.fullmatch(name)):
            yield UnreadableId("unknown", _reported(name))
        elif text and _PLACEHOLDER.match(text):
            yield UnreadableId("unfilled", _reported(name))
        elif named:
            yield UnreadableId("unfilled" if _is_unfilled(text) else "unknown", _reported(name))


def _is_unfilled(value: str) -> bool:
    text = _unwrapped(value)
    plain = _plain(text)
    names = (_plain(parameters.id) for parameters in RECRUITERS.values())
    return not text or bool(_PLACEHOLDER.match(text)) or plain in EMPTY or plain in GENERAL or plain in names


def _unwrapped(value: str) -> str:
    """A value composed, without invisible characters, and without blanks and quotes around it."""
    text = "".join(char for char in unicodedata.normalize("NFC", value) if unicodedata.category(char) != "Cf").strip()
    quoted = _QUOTED.fullmatch(text)
    return quoted[2].strip() if quoted else text


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _reported(name: str) -> str:
    return name if _REPORTED.fullmatch(name) and not _TOKEN.fullmatch(name) else ""
