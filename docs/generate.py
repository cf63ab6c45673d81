"""Writes the generated files of the docs: schemas, API description and reference pages, all from the code itself.

    python -m docs.generate            write them
    python -m docs.generate --check    say which are not up to date, and exit with 1 if any is

Nothing here knows a step, a setting, a command or a column by name; what is missing in the docs is missing in the code.
"""

from __future__ import annotations

import json
import sys
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, cast

import typer
from fastapi import FastAPI
from pydantic import BaseModel

from app.backends.registry import BACKENDS
from app.cli import app as command_line
from app.cli.commands import PANELS
from app.config.settings import Settings, env_name
from app.session.service import SessionService
from app.studies.loader import INSTRUMENTS, PROTOCOLS, read_yaml
from app.web.participant.api import ParticipantApi
from app.web.participant.session_cookie import SessionCookie
from docs import studies
from docs.annotators import annotators
from docs.figures import figures
from docs.methods import methods
from docs.rooms import drawn
from docs.servers import listed
from docs.tables import UNSAID, about, item, keys, rows, table
from experiments.instruments.scales import QUESTIONS, SCALES
from experiments.session import conversation_design
from experiments.session.telemetry import ScreenVisitRecord
from experiments.study import fields as asked
from experiments.study import schema as parts
from experiments.study.field_docstrings import describe
from experiments.study.instrument import Instrument, InstrumentUse, Item, Points, Score
from experiments.study.schema import json_schema
from experiments.study.sections import ai_alone, dataset_info, integrity, plan, recruitment, reminders
from experiments.study.sections import model_spec as replying
from experiments.study.sections.annotators import AnnotatorSpec
from experiments.study.sections.embed import EmbedSpec
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.sections.memory import MemorySpec
from experiments.study.sections.privacy import PrivacyInfo, Recipient
from experiments.study.sections.prolific import ProlificRecruitment, ScreenOut
from experiments.study.sections.tools import ToolSet
from experiments.study.sections.two_step_simulator import SimulatorPrompts
from experiments.study.sections.waves import Opening
from experiments.study.step import Step, kinds
from problems import registry as sources
from storage.columns import Column
from storage.datasets.tidy import columns as tidy
from storage.schemas.registry import schemas

WORDS = ("title", "text", "button", "questions")  # of a protocol's step, which its file has
GIVES = "What a step gives later steps refer to as `id.name`."
ALIKE = 3  # from so many columns on they share a head
DOCS = Path(__file__).parent
MAP = DOCS / "architecture.md"
OPERATOR = DOCS / "operator.md"
NOTE = "<!-- Made by `python -m docs.generate` from the code: do not edit. -->\n\n"
QUESTION_KINDS = (
    asked.SingleChoice,
    asked.MultipleChoiceField,
    asked.Scale,
    asked.Number,
    asked.Slider,
    asked.ShortText,
    asked.LongText,
    asked.Checkbox,
)
STUDY_PARTS: tuple[tuple[str, type[BaseModel]], ...] = (
    ("`problems`: a pool", parts.ProblemSource),
    ("`groups`: batches and sets", parts.ProblemGroups),
    ("`models`: a model", replying.ModelSpec),
    ("`system`: a prompt for each value", replying.PromptByFactor),
    ("`price` of a model", replying.Price),
    ("`factors`: the values of a tag", parts.FromTag),
    ("`quotas`: a quota", recruitment.Quota),
    ("`recruitment`", recruitment.Recruitment),
    ("`prolific`: recruitment by its API", ProlificRecruitment),
    ("`screen_out` of `prolific`", ScreenOut),
    ("`waves`: a wave", parts.Wave),
    ("`opens`: when a wave opens", Opening),
    ("`reminders` of waves", reminders.Reminders),
    ("`send`: a reminder", reminders.Reminder),
    ("`quiet_hours` of reminders", reminders.QuietHours),
    ("`outcomes`: the page and code of each", recruitment.EndPage),
    ("`session_limits`", recruitment.SessionLimits),
    ("`embed`: a frame in another page", EmbedSpec),
    ("`ai_alone`: models without people", ai_alone.AiAloneSpec),
    ("`ai_alone.prompts`", ai_alone.AiAlonePrompts),
    ("`simulator_prompts`: simulated users", SimulatorPrompts),
    ("`memory` of earlier waves", MemorySpec),
    ("`tools`: a set", ToolSet),
    ("`bonus`: a rule", recruitment.Bonus),
    ("`annotators`: your own annotator", AnnotatorSpec),
    ("`fidelity`: a rule about replies", FidelityRule),
    ("`plan`: the plan of a trial", plan.Plan),
    ("`hypotheses` of the plan: a hypothesis", plan.Hypothesis),
    ("`contrast` of a hypothesis", plan.PlannedContrast),
    ("`looks` of the plan", plan.Looks),
    ("`integrity`: checks and thresholds", integrity.IntegrityChecks),
    ("`thresholds` of `integrity`", integrity.IntegrityThresholds),
    ("`dataset`: publication metadata", dataset_info.DatasetInfo),
    ("`authors` of the dataset: an author", dataset_info.Author),
    ("`funding` of the dataset: a grant", dataset_info.Grant),
    ("`privacy`: the data-protection document", PrivacyInfo),
    ("`recipients` of `privacy`", Recipient),
    ("`phase`: a section with a heading", parts.Phase),
    ("`each`: a loop over problems", parts.Loop),
    ("`do`: a protocol for each value of a factor", parts.ByFactor),
    ("`ends` of `chat` and `compare`", conversation_design.Ending),
    ("`system_additions` of `chat` and `compare`", conversation_design.SystemAddition),
    ("`suggestions` of `chat` and `compare`", conversation_design.Suggestions),
)


def files() -> dict[Path, str]:
    """Every generated file with the text that it should have."""
    makers: dict[str, Callable[[], str]] = {
        "schema/study.schema.json": lambda: _json(json_schema("study")),
        "schema/protocol.schema.json": lambda: _json(json_schema("protocol")),
        "api/openapi.json": lambda: _json(openapi()),
        "reference/study.md": study_page,
        "reference/steps.md": steps_page,
        "reference/fields.md": fields_page,
        "reference/protocols.md": protocols_page,
        "reference/instruments.md": instruments_page,
        "reference/methods.md": lambda: _page("Methods", methods()),
        "reference/columns/index.md": columns_page,
        "reference/settings.md": settings_page,
        "reference/commands.md": commands_page,
        "reference/annotators.md": lambda: _page("Annotators", annotators()),
        "reference/figures.md": lambda: _page("Figures", figures()),
        "decisions/index.md": decisions_page,
        "gallery/index.md": lambda: NOTE + studies.gallery(),
    }
    makers |= {f"reference/columns/{name}.md": partial(_columns_of, name) for name in schemas()}
    makers |= {f"reference/columns/{tidy.NAME}.md": _tidy_columns}
    made = {DOCS / name: make() for name, make in makers.items()}
    return made | {
        MAP: drawn(MAP.read_text(encoding="utf-8")),
        OPERATOR: listed(OPERATOR.read_text(encoding="utf-8")),
    }


def stale() -> list[Path]:
    return [path for path, text in files().items() if not path.is_file() or path.read_text(encoding="utf-8") != text]


def main(arguments: Sequence[str]) -> int:
    if "--check" in arguments:
        for path in (old := stale()):
            print(f"{path.relative_to(DOCS.parent)} is not up to date: python -m docs.generate", file=sys.stderr)
        return 1 if old else 0
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return 0


# The machines' files


def _json(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def openapi() -> dict[str, Any]:
    """The participant API as OpenAPI describes it, without the page around it."""
    project = tomllib.loads((DOCS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    api = FastAPI(
        title="Parley: participant API",
        version=project["version"],
        description=(
            "The API of a session: the page, simulated participants and load tests use it. The cookie is set by the "
            "button of a study's start page, `POST /s/{study}`. Without it every response is 401. 429 and 503 have a "
            "`note` for the participant; so have refused actions, which return 200 with the current screen."
        ),
    )
    for call in ParticipantApi(cast(SessionService, None), SessionCookie("", secure=True)).calls():
        api.add_api_route(
            call.path, call.function, methods=[call.method], summary=call.summary, status_code=call.status
        )
    found: dict[str, Any] = api.openapi()
    cookie = {"type": "apiKey", "in": "cookie", "name": "__Host-parley", "description": "`parley` without https."}
    describe(found["components"]["schemas"][ScreenVisitRecord.__name__], ScreenVisitRecord)
    found["components"]["securitySchemes"] = {"participant": cookie}
    found["security"] = [{"participant": []}]
    return found


# The pages


def study_page() -> str:
    study, protocol = parts.StudyFile, parts.ProtocolFile
    text = "A study file is YAML with these keys. `parley show schema` prints them as a JSON Schema for editors. "
    text += f"{UNSAID}\n\n"
    text += keys(study, leave_out=("schema_",))
    for title, model in STUDY_PARTS:
        text += f"\n## {title}\n\n{about(model)}\n\n{keys(model)}"
    text += f"\n## A protocol file\n\n{about(protocol)}\n\n{keys(protocol, leave_out=('schema_',))}"
    return _page("The study file", text + _kinds_text())


def _kinds_text() -> str:
    text = f"\n## Problem sources\n\n{', '.join(f'`{name}`' for name in sources.names())}.\n\n## Backends\n"
    for name, kind in BACKENDS.all().items():
        text += f"\n### {name}\n\nIts `options`:\n\n{keys(kind.Options)}"
    return text


def steps_page() -> str:
    text = (
        f"Every step has these keys, and those of its kind below. {UNSAID} {GIVES}\n\n{keys(Step, leave_out=('step',))}"
    )
    known = sorted(kinds().items())
    own = {name: rows(kind, [key for key in kind.model_fields if _differs(kind, key)]) for name, kind in known}
    uses = Counter((key, allowed, meaning) for one in own.values() for key, allowed, _, meaning in one)
    shared = [use for use, count in uses.items() if count > 1]
    text += "\n## Keys of several kinds\n\n"
    text += "".join(item((key, allowed, "", meaning)) for key, allowed, meaning in sorted(shared))
    for name, kind in known:
        text += f"\n## {name}\n\n{about(kind)}\n\n"
        also = []
        for row in own[name]:
            key, allowed, default, meaning = row
            if (key, allowed, meaning) in shared:
                also.append(f"`{key}`" + (f" ({default})" if default else ""))
            else:
                text += item(row)
        text += f"- [Also](#keys-of-several-kinds): {', '.join(also)}.\n" if also else ""
        text += "".join(f"\n{line}\n" for line in _roles(kind, name))
        for key, *_ in own[name]:
            if isinstance(part := kind.model_fields[key].default, BaseModel):
                text += f"\n`{key}`: {about(type(part))}\n\n{keys(type(part))}"
    return _page("Steps", text)


def _differs(step_kind: type[Step], key: str) -> bool:
    common = Step.model_fields.get(key)
    return key != "step" and (common is None or common.default != step_kind.model_fields[key].default)


def _roles(step_kind: type[Step], name: str) -> Iterator[str]:
    """Yield the names that a step gives to later ones, and those that it needs, as the step's own code says it."""
    roles = (
        ("provides", "Gives"),
        ("requires", "Needs"),
        ("depends_on", "Must come after"),
    )
    for method, words in roles:
        if getattr(step_kind, method) is not getattr(Step, method):
            said = (getattr(step_kind, method).__doc__ or "").strip().rstrip(".")
            yield f"{words}: {said[:1].lower()}{said[1:]}."


def fields_page() -> str:
    text = (
        "The questions of a `survey`. Each has a key `type` with its kind, these keys, and those of its kind below. "
        f"{UNSAID}\n\n"
    )
    text += keys(asked.Field)
    for kind in QUESTION_KINDS:
        own = [key for key in kind.model_fields if key not in ("type", *asked.Field.model_fields)]
        text += f"\n## {kind.model_fields['type'].default}\n\n{about(kind)}\n" + (f"\n{keys(kind, own)}" if own else "")
    text += "\n# Scales\n\nTheir wording is that of the published instruments; `name` and `text` come with them.\n"
    for name, points in SCALES.items():
        text += f"\n## {name}\n\n> {QUESTIONS[name]}\n\n"
        text += "".join(f"- `{key}`: {words}\n" for key, words in points.items())
    return _page("Questions and scales", text)


def protocols_page() -> str:
    """Every protocol that comes with Parley: its steps, without their texts."""
    text = (
        "A protocol defines what happens with one problem. Studies name it in `do` and change its steps in `with`, by "
        "their ids. The files, with all texts, are in `experiments/protocols`.\n"
    )
    for path in sorted(PROTOCOLS.glob("*.yaml")):
        raw = read_yaml(path)
        text += f"\n## {raw['protocol']}@{raw['version']}\n\n{raw['about'].strip()}\n\n"
        for step in raw["flow"]:
            name = step.get("id", step["step"])
            plain = {key: value for key, value in step.items() if key not in ("step", "id", *WORDS)}
            given = ", ".join(f"`{key}: {json.dumps(value)}`" for key, value in plain.items())
            text += f"- `{name}`" + (f" ({step['step']})" if name != step["step"] else "")
            text += f": {given}\n" if given else "\n"
    return _page("Protocols", text)


def instruments_page() -> str:
    text = (
        "An instrument is a published questionnaire with its scoring. A survey asks it by `- instrument: NAME` among "
        f"its questions:\n\n{keys(InstrumentUse)}\n"
        "An instrument of your own is a file in a folder `instruments` beside the study; its keys are at the end of "
        "this page. All items of a score must be answered unless it says otherwise. "
        f"{UNSAID}\n"
    )
    for path in sorted(INSTRUMENTS.glob("*.yaml")):
        text += _instrument(Instrument.model_validate(read_yaml(path)))
    text += f"\n## The file of an instrument\n\n{keys(Instrument)}"
    for title, part in (("scale", Points), ("items", Item), ("scores", Score)):
        text += f"\n### `{title}`\n\n{about(part)}\n\n{keys(part)}"
    return _page("Instruments", text)


def _instrument(one: Instrument) -> str:
    text = f"\n## {one.instrument}\n\n{one.title}. {one.source}\n\n"
    text += f"Licence: {one.licence.rstrip('.')}: <{one.licence_url}>\n\n" + (f"{one.note}\n\n" if one.note else "")
    text += f"> {one.instructions}\n\n" if one.instructions else ""
    for scale, items in groupby(one.items, key=lambda item: _points(one.scale_of(item))):
        text += f"{scale}:\n\n"
        for asked_item in items:
            reverse = " (reverse)" if asked_item.reverse else ""
            text += f"- `{one.instrument}_{asked_item.id}`{reverse}: {asked_item.text}\n"
        text += "\n"
    text += "Scores:\n\n"
    for score in one.scores:
        to = f", mapped to {score.range[0]:g} to {score.range[1]:g}" if score.range else ""
        of = ", ".join(f"`{item}`" for item in score.items) or "all items"
        missing = f"; at most {score.missing} unanswered" if score.missing else ""
        text += f"- `{score.name}`: the {score.rule} of {of}{to}{missing}\n"
    return text


def _points(scale: Points) -> str:
    if scale.shown == "points":
        return "; ".join(scale.options().values())
    ends = (f"{number} {scale.labels.get(number, '')}".strip() for number in (scale.minimum, scale.maximum))
    return " to ".join(ends) + f", in steps of {scale.step}"


def columns_page() -> str:
    text = (
        "The tables that grow while people take part, with the released files' names, columns and order. In the "
        "database each has five more columns, which exports leave out: `_study`; `_session` (empty if a row belongs "
        "to the study itself); `_part`, the folder of a release with several; `_seq`, the number of the event that "
        "completed the row, or of an imported row among those of its files; `_written`, JSON of the cells that an "
        "imported file spells differently.\n\n"
    )
    rows = [
        (f"[{name}]({name}.md)", ", ".join(f"`{one.name}`" for one in schema.tables))
        for name, schema in sorted(schemas().items())
    ]
    rows.append((f"[{tidy.NAME}]({tidy.NAME}.md)", ", ".join(f"`{made.name}`" for made in tidy.tables(()))))
    return _page("Columns", text + table(("schema", "tables"), rows))


def _columns_of(name: str) -> str:
    schema = schemas()[name]
    parts = [
        (one.name, f"Released as {', '.join(f'`{one.path(part)}`' for part in one.parts)}.", one.columns)
        for one in schema.tables
    ]
    return _page(f"Columns of {name}", f"{schema.source}\n" + _columns(parts))


def _tidy_columns() -> str:
    text = (
        f"The tables of `parley export STUDY --schema {tidy.NAME}`, made from the events of any study; they are in no "
        "database. `sessions` has a further column for each factor, and for a participant's id in each further schema "
        "that the study fills; `answers_wide` has one for each question outside of loops. In a study with waves all "
        "tables have `person`, which joins the sessions of a person, and `wave`.\n"
    )
    parts = [(made.name, f"Written as `{made.file}`.", made.columns) for made in tidy.tables(())]
    return _page(f"Columns of {tidy.NAME}", text + _columns(parts))


def _columns(parts: Sequence[tuple[str, str, Sequence[Column]]]) -> str:
    """The columns of each table in order; what several tables have is explained once."""
    uses = Counter(_column(column) for _, _, columns in parts for column in columns)
    shared = [line for line, count in uses.items() if count > 1]
    text = "\nIn brackets: what may stand there (any text unless it is said), and who or what gives it.\n"
    text += f"\n## Columns of several tables\n\n{''.join(shared)}" if shared else ""
    for name, files, columns in parts:
        text += f"\n## {name}\n\n{files}\n\n"
        for common, group in groupby(columns, key=lambda column: _column(column) in shared):
            if common:
                text += f"- {', '.join(map(_column_name, group))}: [above](#columns-of-several-tables)\n"
            else:
                text += _column_list([*group])
    return text


def _column_list(columns: Sequence[Column]) -> str:
    """Columns in a row with the same values and the same beginning of their meaning have both in one head."""
    text = ""
    for inside, group in groupby(columns, key=_in_brackets):
        alike = [*group]
        if len(alike) < ALIKE:
            text += "".join(map(_column, alike))
            continue
        meanings = [" ".join(column.meaning.split()) for column in alike]
        begin = _one_of({meaning.rpartition(": ")[0] for meaning in meanings})
        end = _one_of({meaning.partition(", ")[2] for meaning in meanings})
        text += f"- {begin or 'Columns'} ({inside}){f': {end}' if end else ':'}\n"
        for column, meaning in zip(alike, meanings, strict=True):
            own = meaning.removeprefix(f"{begin}: ").removesuffix(f", {end}" if end else "")
            text += f"    - {_column_name(column)}" + ("\n" if own == f"{column.name}." else f": {own}\n")
    return text


def _one_of(texts: set[str]) -> str:
    return texts.pop() if len(texts) == 1 else ""


def _column_name(column: Column) -> str:
    name = f"`{column.name}`" if column.name else "No name"
    name += f", in the database `{column.stored}`" if column.stored else ""
    return name + (", in older copies" if column.theirs else ", may be missing" if column.optional else "")


def _column(column: Column) -> str:
    return f"- {_column_name(column)} ({_in_brackets(column)}): {' '.join(column.meaning.split())}\n"


def _in_brackets(column: Column) -> str:
    allowed = column.form.allowed
    kind = "" if column.kind == "text" or "number" in allowed else column.kind
    return "; ".join(filter(None, (kind, "" if allowed == "a text" else allowed, column.source)))


def settings_page() -> str:
    text = (
        "Set them in the environment or in a file `.env`; the environment wins. `parley show settings` prints them.\n\n"
    )
    groups = [base for base in reversed(Settings.__bases__) if issubclass(base, BaseModel) and base.model_fields]
    for group in groups:
        text += f"{group.__doc__}\n\n"
        for name, info in group.model_fields.items():
            default = "" if info.default in (None, {}, "") else f" (default `{info.default}`)"
            text += f"- `{env_name(name)}`{default}: {info.description or ''}\n"
        text += "\n"
    return _page("Settings", text)


EVERY_COMMAND = """\
- `parley COMMAND --help` prints the help of a command. `parley --install-completion` installs shell completion.
- Every command that prints a table takes `--json`: then standard output has one JSON value and nothing else. Times are
  ISO 8601 in UTC, and a missing value is `null`. Messages and progress go to standard error.
- Exit codes: 0 for success, 1 if a check found something or a run is incomplete, 2 for an error, 130 for Ctrl-C. A
  server ends with 3 if it cannot start, and with 70 if one of its threads failed.
"""


def commands_page() -> str:
    group: Any = typer.main.get_command(command_line)
    known = {
        panel: [one for name in names for one in _commands(name, group.commands[name])]
        for panel, names in PANELS.items()
    }
    uses = Counter(_parameter(item) for panel in known.values() for _, one in panel for item in _parameters(one))
    shared = [line for line, count in uses.items() if count > 1]
    text = f"{group.help}\n\n{EVERY_COMMAND}\n## Arguments and options of several commands\n\n{''.join(shared)}"
    for panel, entries in known.items():
        text += f"\n## {panel}\n" + "".join(_command(name, one, shared) for name, one in entries)
    return _page("Commands", text)


def _commands(name: str, command: Any) -> Iterator[tuple[str, Any]]:
    yield name, command
    for inner, part in getattr(command, "commands", {}).items():
        yield f"{name} {inner}", part


def _parameters(command: Any) -> list[Any]:
    return [item for item in command.params if item.opts[0] not in ("--help", "--json")]  # EVERY_COMMAND has these


def _command(name: str, command: Any, shared: Sequence[str]) -> str:
    items = _parameters(command)
    usage = " ".join([name, *(_argument(item) for item in items if _is_argument(item))])
    text = f"\n### {usage}\n\n{command.help}\n"
    own = [line for line in map(_parameter, items) if line not in shared]
    also = [f"`{item.opts[-1]}`" for item in items if _parameter(item) in shared and not _is_argument(item)]
    own += [f"- [Also](#arguments-and-options-of-several-commands): {', '.join(also)}.\n"] if also else []
    return text + ("\n" + "".join(own) if own else "")


def _is_argument(item: Any) -> bool:
    return not item.opts[0].startswith("-")


def _argument(item: Any) -> str:
    more = "..." if item.nargs != 1 else ""
    return f"{item.metavar}{more}" if item.required else f"[{item.metavar}{more}]"


def _parameter_name(item: Any) -> str:
    value = "" if _is_argument(item) or item.is_flag or item.metavar is None else f" {item.metavar}"
    names = [item.metavar] if _is_argument(item) else [f"{name}{value}" for name in item.opts] + item.secondary_opts
    return ", ".join(f"`{name}`" for name in names)


def _parameter(item: Any) -> str:
    unset = item.required or item.default in (None, "", False)
    default = "" if unset else f" (default `{str(item.default).lower()}`)"
    return f"- {_parameter_name(item)}{default}: {' '.join((item.help or '').split())}\n"


def decisions_page() -> str:
    text = "Choices against alternatives: the question, the options, what was measured, and what was chosen.\n\n"
    for path in sorted((DOCS / "decisions").glob("[0-9]*.md")):
        heading = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        text += f"- [{heading}]({path.name})\n"
    return _page("Decisions", text)


def _page(title: str, text: str) -> str:
    return f"{NOTE}# {title}\n\n{text}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
