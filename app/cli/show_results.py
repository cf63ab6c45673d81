"""What `parley show` shows of a study's results: integrity, blinding, simulators, deviations.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

from app.cli.common import AsJson, OriginOption, StudyName, existing_database, name_of, option
from app.cli.printing import iso, show
from app.cli.show import shown
from experiments.views.integrity import INDICATORS
from storage.datasets.integrity import excluded_sessions
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.origins import Origin
from storage.registers.simulated_users import simulated
from storage.registers.study_versions import current
from storage.reports.analysis_data import origins_of
from storage.reports.blinding import blinding
from storage.reports.conversations import origin_of

if TYPE_CHECKING:
    from app.analysis.false_alarms import IntegrityFindings
    from app.analysis.simulator_quality import SimulationData

PEOPLE = (Origin.PERSON, Origin.IMPORT)
FEWEST_ANSWERS = 5
"""That of the analysis, repeated so that the help does not import it."""


@shown("deviations")
def deviations_(study: StudyName, as_json: AsJson = False) -> None:
    """The report states each. `parley trial explain` gives a reason."""
    from app.analysis.trial.deviations import deviations

    database = existing_database()
    found = deviations(database, current(database, name_of(study)).name)
    rows = [{"name": one.name, "at": iso(one.at_us), "what": one.what, "reason": one.reason} for one in found]
    show(rows, as_json)


@shown("integrity")
def integrity(
    study: StudyName,
    every: Annotated[bool, option("--all", "List sessions without any flag too.")] = False,
    as_json: AsJson = False,
    origin: OriginOption = None,
) -> None:
    """Pasting, speed, likeness to models' replies, and copies, with rates of false alarms; without conditions,
    answers and outcomes. Evidence, never a verdict: dictation, autocompletion and translation look like pasting
    too."""
    from app.analysis.false_alarms import integrity_findings

    database, name = existing_database(), name_of(study)
    found = integrity_findings(database, name, origin_of(database, name, origin))
    excluded = excluded_sessions(database, name)
    sessions = [
        {
            "number": number,
            "flags": [flag for flag, is_set in one.flags.items() if is_set],
            "excluded": number in excluded,
            **{about: asdict(evidence) if evidence else None for about, evidence in one.dossier.items()},
        }
        for number, one in found.sessions.items()
        if as_json or every or any(one.flags.values())
    ]
    show({"indicators": [_rates(one, found) for one in INDICATORS], "sessions": sessions}, as_json)


def _rates(name: str, found: IntegrityFindings) -> dict[str, Any]:
    """An indicator with its threshold and rates; None where no session of that origin is there."""
    rates = {"sessions": found.here, **found.false_alarms}
    known = {whose: asdict(by[name]) if name in by else None for whose, by in rates.items()}
    return {"indicator": name, "threshold": found.thresholds[name], **known}


@shown("blinding")
def blinding_(
    study: StudyName,
    origin: OriginOption = None,
    by: Annotated[
        list[str] | None,
        option("--by FACTOR", "Group by this factor. Can be repeated. Default: every factor."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Lists the words by which replies named their model, and counts the answers to the step `guess`."""
    show(blinding(existing_database(), name_of(study), origin, by or None).as_json(), as_json)


@shown("simulators")
def simulators(
    study: StudyName,
    against: Annotated[
        str,
        option(
            "--compare-with STUDY",
            "The people to compare with: another study or imported dataset in this database, or the URL of another "
            "database with a study of the same name. Default: the people of the study itself.",
        ),
    ] = "",
    fewest: Annotated[
        int, option("--min-answers N", "Only questions that N or more people answered.", min=1)
    ] = FEWEST_ANSWERS,
    as_json: AsJson = False,
) -> None:
    """Accuracy by question (Pearson's r and mean absolute error), and the similarity of first prompts (BLEU and
    ROUGE-1)."""
    from app.analysis.data_frames import frame
    from app.analysis.simulator_quality import alone, quality

    database, name = existing_database(), name_of(study)
    human_database = open_database(against) if "://" in against else database
    other = against if against and human_database is database else name
    origin = _origin_of_people(human_database, other)
    who = {stream: str(user) for stream, user in simulated(database, name).items()}
    if not who:
        raise StorageError(
            f"{name!r} has no simulated sessions. Run: parley simulate {name} --user two_step --user-model MODEL"
        )
    people, bots = _simulation_data(human_database, other, origin), _simulation_data(database, name, Origin.BOT)
    found = list(quality(people, bots, who, fewest))
    for held, its_origin in ((database, Origin.BOT), (human_database, origin)):
        rows = frame(held, name if its_origin == Origin.BOT else other, "ai_alone_answers", its_origin)
        found += alone(people.answers, rows, fewest) if len(rows) else []
    show(found, as_json)


def _origin_of_people(database: Database, study: str) -> str:
    """The origin of people's rows; raises StorageError if there are none."""
    known = origins_of(database, study)
    found = next((origin for origin in PEOPLE if origin in known), None)
    if found is None:
        raise StorageError(
            f"{study!r} has no people to compare simulated users with. Name a study with people: --compare-with STUDY. "
            f"`parley import chatbench FOLDER --study NAME` imports the published one"
        )
    return found


def _simulation_data(database: Database, study: str, origin: str) -> SimulationData:
    from app.analysis.data_frames import frame
    from app.analysis.simulator_quality import ANSWER_COLUMNS, TALK_COLUMNS, SimulationData

    answers = frame(database, study, "user_answers", origin, columns=ANSWER_COLUMNS)
    return SimulationData(answers, frame(database, study, "conversations", origin, columns=TALK_COLUMNS))
