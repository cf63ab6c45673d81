"""The command that compares simulated users with people.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import AsJson, StudyName, existing_database, name_of, out, print_json, settings_in_use
from storage.db.engine import Database, open_database
from storage.errors import StorageError
from storage.registers.origins import Origin
from storage.registers.simulated_users import simulated
from storage.reports.analysis_data import origins_of

if TYPE_CHECKING:
    from app.analysis.simulator_quality import SimulationData, SimulatorQuality

PEOPLE = (Origin.PERSON, Origin.IMPORT)
LEAST = 5
"""That of the analysis, repeated so that the help does not import it."""


@command("simulator-quality")
def simulators_(
    study: StudyName,
    against: Annotated[
        str,
        typer.Option(
            "--compare-with",
            metavar="STUDY",
            help="The people to compare with: another study or imported dataset in this database, or the URL of "
            "another database with a study of the same name. Default: the people of the study itself.",
        ),
    ] = "",
    least: Annotated[
        int, typer.Option("--min-answers", metavar="N", help="Only questions that N or more people answered.", min=1)
    ] = LEAST,
    as_json: AsJson = False,
) -> None:
    """Compares accuracy by question, and first prompts (ChatBench, section 5)."""
    from app.analysis.data_frames import frame
    from app.analysis.simulator_quality import alone, quality

    database, name = existing_database(settings_in_use()), name_of(study)
    human_database = open_database(against) if "://" in against else database
    other = against if against and human_database is database else name
    origin = _origin_of_people(human_database, other)
    who = {stream: str(user) for stream, user in simulated(database, name).items()}
    if not who:
        raise StorageError(
            f"{name!r} has no simulated sessions. Run: parley simulate {name} --user two_step --user-model MODEL"
        )
    people, bots = _data(human_database, other, origin), _data(database, name, Origin.BOT)
    found = list(quality(people, bots, who, least))
    for held, its_origin in ((database, Origin.BOT), (human_database, origin)):
        rows = frame(held, name if its_origin == Origin.BOT else other, "ai_alone_answers", its_origin)
        found += alone(people.answers, rows, least) if len(rows) else []
    if as_json:
        print_json([asdict(one) for one in found])
        return
    out.print(_table(found, f"{name}, compared with {other} ({origin})"))
    out.print(
        f"[dim]Questions that at least {least} people answered with the chatbot. r: Pearson's correlation of "
        "accuracy by question; MAE: its mean absolute error; BLEU, ROUGE-1: first prompts, all pairs.[/dim]"
    )


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


def _data(database: Database, study: str, origin: str) -> SimulationData:
    from app.analysis.data_frames import frame
    from app.analysis.simulator_quality import ANSWER_COLUMNS, TALK_COLUMNS, SimulationData

    answers = frame(database, study, "user_answers", origin, columns=ANSWER_COLUMNS)
    return SimulationData(answers, frame(database, study, "conversations", origin, columns=TALK_COLUMNS))


def _table(found: Sequence[SimulatorQuality], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for name in ("who", "model"):
        table.add_column(name)
    for name in ("answers", "questions", "r", "MAE", "pairs", "BLEU", "ROUGE-1"):
        table.add_column(name, justify="right")
    for one in found:
        texts = (f"{one.alike.pairs:,}", _three(one.alike.bleu), _three(one.alike.rouge)) if one.alike else ("",) * 3
        numbers = (f"{one.answers:,}", f"{one.fit.questions:,}", _two(one.fit.r), _two(one.fit.mae))
        table.add_row(Text(one.who), Text(one.model), *numbers, *texts)
    return table


def _two(number: float | None) -> str:
    return "" if number is None else f"{number:.2f}"


def _three(number: float | None) -> str:
    return "" if number is None else f"{number:.3f}"
