"""`parley show simulators`: the closeness of simulated users to people.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from app.cli.common import AsJson, StudyName, existing_database, name_of, option
from app.cli.printing import show
from app.cli.show import shown
from app.extensions.analysis.reads.study_data import origins_of
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.origins import Origin, simulated

if TYPE_CHECKING:
    from app.extensions.analysis.simulator_quality import SimulationData

PEOPLE = (Origin.PERSON, Origin.IMPORT)
# That of the analysis, repeated so that the help does not import it.
FEWEST_ANSWERS = 5


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
    from app.extensions.analysis.data_frames import frame
    from app.extensions.analysis.simulator_quality import alone, quality

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
    from app.extensions.analysis.data_frames import frame
    from app.extensions.analysis.simulator_quality import ANSWER_COLUMNS, TALK_COLUMNS, SimulationData

    answers = frame(database, study, "user_answers", origin, columns=ANSWER_COLUMNS)
    return SimulationData(answers, frame(database, study, "conversations", origin, columns=TALK_COLUMNS))
