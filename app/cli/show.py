"""`parley show WHAT`: what only shows something of a study, its calls and sessions, or of this installation."""

from __future__ import annotations

import json
import sys
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from inspect import getdoc
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import orjson
import typer

from app.cli.commands import SHOWN, group
from app.cli.common import (
    STDOUT,
    AnyStudy,
    AsJson,
    OriginOption,
    StudyName,
    any_study,
    argument,
    existing_database,
    name_of,
    option,
    participants,
    published_study,
    settings_in_use,
)
from app.cli.printing import echo, err, followed, iso, show, warn, warn_of_rehearsal
from app.clock import SystemClock
from app.config import settings as configuration
from app.errors import SettingsError
from app.extension import hooked
from app.i18n.catalogues import catalogue, catalogues, is_supported
from app.studies.loader import load_study
from app.studies.text_check import TextCheck
from app.studies.translations import missing_translations
from app.use_cases.costs import told_costs
from app.web.link_problem_texts import problem_rows
from experiments.errors import StudyError, ValidationIssue, suggestion
from experiments.plural import count as how_many
from experiments.session.waves import WaveState
from experiments.study.cells import cell_statuses, wanted_overall
from experiments.study.schema import json_schema
from experiments.study.study import Study
from experiments.views.quality_flags import SAME_ID, UNREADABLE_ID
from problems.items import table_of, understand
from storage.db.engine import Database
from storage.db.private_files import writing
from storage.errors import StorageError
from storage.log.seats import SessionCounts, cell_key, counted, query_params
from storage.payments.retention import RetentionPlan, retention_plan
from storage.registers.link_problems import LinkProblem, link_problems
from storage.registers.origins import ORIGINS, QUOTAS_APPLY, Origin
from storage.registers.reminders import reminder_counts
from storage.registers.studies import Studies
from storage.registers.study_status import dataset_info_of, operations_of
from storage.registers.study_versions import current, difference, versions
from storage.reports.attrition import WaveMonitor, wave_monitor
from storage.reports.blinding import blinding
from storage.reports.costs import attempts
from storage.reports.monitoring.sessions import first_origin, flag_counts, session_groups, tally
from storage.reports.reproducibility import recompute_draws
from storage.yaml_text import yaml_text

Function = TypeVar("Function", bound=Callable[..., Any])
CALL = ("session", "path", "model", "number", "finish_reason", "reason", "cause", "cost")
ITEMS_SHOWN, LONGEST = 20, 60
# Wide enough that no text is wrapped that the study does not wrap.
WIDTH = 10_000
WAVE_STATES: Mapping[WaveState, str] = {
    "upcoming": "not open yet",
    "open": "due",
    "late": "late",
    "live": "in progress",
    "done": "completed",
    "missed": "not completed",
    "dropped": "dropped out",
}

commands = group("show")
ToFile = Annotated[Path | None, option("-o --out FILE", "Write all rows to a file; `-` for standard output.")]


def shown(name: str) -> Callable[[Function], Function]:
    def register(function: Function) -> Function:
        text = "\n\n".join(part for part in (SHOWN[name], getdoc(function)) if part)
        commands.command(name, help=text)(function)
        return function

    return register


@shown("status")
def status(
    study: StudyName,
    origin: Annotated[
        Origin, option("--origin ORIGIN", "Only sessions of this origin: person, pilot, rehearsal or bot.")
    ] = Origin.PERSON,
    as_json: AsJson = False,
) -> None:
    """Then recruiters' IDs that are unclear, what is due to be deleted, and a trial's looks and deviations."""
    now_us = SystemClock().now_us()
    database, found = published_study(study)
    with database.connect() as connection:
        hold_s = found.file.session_limits.hold_place_s
        there = session_groups(connection, query_params(found.name, origin, now_us, hold_s))
    now, flags = tally(there), flag_counts(there).flags
    operations = operations_of(database, found.name)
    quotas = operations.quotas_of(found.file.quotas) if origin in QUOTAS_APPLY else ()
    reminders, plan = reminder_counts(database, found.name, origin, now_us), _retention(found, now_us)
    data = {
        "study": found.name,
        "state": operations.state,
        "reason": operations.closed_reason,
        "wanted": wanted_overall(quotas),
        "sessions" if found.file.waves and not as_json else "outcomes": now.outcomes,
        "cells": _cells(found, now, quotas),
        **(_waves(wave_monitor(database, found, origin, now_us), as_json) if found.waves else {}),
        SAME_ID: flags.get(SAME_ID, 0),
        UNREADABLE_ID: flags.get(UNREADABLE_ID, 0),
        "link_problems": [
            {**_link_problem(one, as_json), "why": why, "to_do": to_do}
            for one, why, to_do in problem_rows(link_problems(database, found.name))
        ],
        **({"retention": plan.as_json()} if as_json else {"due to be deleted": _due(plan)}),
        **({"reminders": asdict(reminders)} if reminders else {}),
        **{key: value for status in hooked("status") for key, value in status(database, found.name).items()},
    }
    if not as_json:
        warn_of_rehearsal(origin)
        other = first_origin(database, found.name, (origin, *ORIGINS))
        if not any(now.outcomes.values()) and other != origin:
            warn(f"There are no sessions of origin {origin}, but of {other}: --origin {other}")
    show(data, as_json)


def _link_problem(problem: LinkProblem, as_json: bool) -> dict[str, Any]:
    found = asdict(problem)
    return found if as_json else {"last": iso(found.pop("last_us")), **found}


def _waves(seen: WaveMonitor, as_json: bool) -> dict[str, Any]:
    """As a table: a row for each wave, with all its states and how many of each arm are lost."""
    if as_json:
        return {"waves": asdict(seen)}
    rows = [
        {
            "wave": wave,
            **{label: states.get(state, 0) for state, label in WAVE_STATES.items()},
            **{f"lost, {arm}": f"{lost} of {over}" for arm, (lost, over) in seen.lost.get(wave, {}).items()},
        }
        for wave, states in seen.states.items()
    ]
    return {"people": rows, "p_of_equal_attrition": seen.p}


def _cells(study: Study, counts: SessionCounts, caps: Any) -> dict[str, Any]:
    found = cell_statuses(counted(study, counts), caps) if study.factors else ()
    total = sum(one.complete + one.live for one in found)
    shares = [(one.complete + one.live) / total if total else None for one in found]
    return {
        cell_key(one.values): {
            **{name: getattr(one, name) for name in ("complete", "live", "wanted")},
            **{"share": share, "planned": one.planned, "closed": one.shut},
        }
        for one, share in zip(found, shares, strict=True)
    }


def _retention(study: Study, now_us: int) -> RetentionPlan:
    """The secret, which payments need, is read only if the study keeps something for a period."""
    if not study.file.keep_ids_for and not study.file.keep_for:
        return RetentionPlan(study.name, None, None)
    return retention_plan(*participants(), study, now_us)


def _due(plan: RetentionPlan) -> str:
    if not plan.keep_ids_for and not plan.keep_for:
        return "nothing: the study sets no period (keep_ids_for, keep_for)"
    due = f"recruiter IDs of {how_many(len(plan.ids), 'session')}, all data of {how_many(len(plan.data), 'session')}"
    return f"{due}; {len(plan.unpaid):,} more wait for a payment" if plan.unpaid else due


@shown("quotas")
def quotas(study: StudyName, as_json: AsJson = False) -> None:
    database, found = published_study(study)
    quotas = operations_of(database, found.name).quotas_of(found.file.quotas)
    show([{"where": held.where, "quota": held.max} for held in quotas], as_json)


@shown("costs")
def costs_(
    study: StudyName,
    by: Annotated[
        Literal["model", "condition", "participant"], option("--by", "Group by model, condition or participant.")
    ] = "model",
    as_json: AsJson = False,
) -> None:
    """The budget bounds the costs of participants, not those of simulated sessions. `unknown` counts replies whose
    cost is not known; a sum is then a lower bound."""
    database, found = published_study(study)
    show(told_costs(database, found, by), as_json)


@shown("calls")
def calls(
    study: StudyName,
    failed: Annotated[bool, option("--failed", "Only failed calls.")] = False,
    last: Annotated[int, option("--last N", "Show the newest N calls.", min=1)] = 20,
    to: ToFile = None,
    as_json: AsJson = False,
) -> None:
    """A reply can take several attempts; each of them is a call of its own. A file has all calls, as JSON lines."""
    database, found = published_study(study)
    rows = attempts(database, found.name, failed=failed)
    if to == STDOUT:
        sys.stdout.buffer.writelines(map(_json_line, rows))
    elif to is not None:
        with writing(to) as file:
            file.writelines(map(_json_line, rows))
        echo(f"{to} has the calls.")
    else:
        newest = [{**attempt, "started": iso(attempt["started_us"])} for attempt in deque(rows, maxlen=last)]
        show(newest if as_json else [_call(one) for one in newest], as_json)


def _json_line(attempt: Mapping[str, Any]) -> bytes:
    return orjson.dumps(dict(attempt), option=orjson.OPT_APPEND_NEWLINE)


def _call(attempt: Mapping[str, Any]) -> dict[str, Any]:
    times = {"first_s": attempt["first_token_us"], "total_s": attempt["total_us"]}
    seconds = {name: None if us is None else us / 1e6 for name, us in times.items()}
    return {"started": attempt["started"], **{name: attempt[name] for name in CALL}, **seconds}


@shown("versions")
def versions_(study: StudyName, as_json: AsJson = False) -> None:
    """A version is named by the first characters of its hash."""
    database = existing_database()
    name = current(database, name_of(study)).name
    rows = [
        {"version": one.version, "hash": one.hash, "published": iso(one.published_us), "current": one.current}
        for one in versions(database, name)
    ]
    show(rows, as_json)


@shown("diff")
def diff(
    study: Annotated[str, argument("STUDY", "The study's name, or a file to compare with the published version.")],
    as_json: AsJson = False,
) -> None:
    """For a name: what its current version changed. For a file: what it would change if published."""
    database, name = existing_database(), name_of(study)
    new = load_study(study) if name != study else current(database, name)
    old = current(database, name) if name != study else _version_before(database, new)
    found = difference(old, new)
    data = {"study": new.name, "before": old.hash, "after": new.hash, "diff": found}
    show(data if as_json else found or "No difference.", as_json)


def _version_before(database: Database, study: Study) -> Study:
    hashes = [one.hash for one in versions(database, study.name)]
    earlier = hashes[hashes.index(study.hash) + 1 :] if study.hash in hashes else []
    if not earlier:
        raise SettingsError(f"{study.name} has no earlier version. `parley show versions {study.name}` lists them.")
    return Studies(database).get(earlier[0])


@shown("draws")
def draws(study: StudyName, as_json: AsJson = False) -> None:
    """Recomputes every assignment and draw, and lists the differences; exits with 1 if there are any."""
    database, found = published_study(study)
    with followed(f"{found.name}: sessions") as tell:
        done = recompute_draws(database, found.name, tell)
    show({"study": found.name, **asdict(done)}, as_json)
    if done.differences:
        raise typer.Exit(1)


@shown("metadata")
def metadata(study: StudyName, as_json: AsJson = False) -> None:
    """`parley publish` and `parley metadata` record them. Works for imported data as well."""
    database, name = existing_database(), name_of(study)
    require_known(database, name)
    info = dataset_info_of(database, name)
    given = info.model_dump(mode="json", exclude_defaults=True) if info else {}
    show(given if as_json else yaml_text({"dataset": given}).rstrip(), as_json)


def require_known(database: Database, study: str) -> None:
    known = Studies(database).names()
    if study not in known:
        raise StorageError(f"the database has no study {study!r}{suggestion(study, known)}")


@shown("items")
def items(
    path: Annotated[
        Path,
        argument(
            "FILE",
            "A table (.csv, .xlsx, .jsonl, .json or .parquet), or a folder of tables or of Markdown.",
            exists=True,
        ),
    ],
    column: Annotated[
        list[str] | None,
        option(
            "--column PART=NAME",
            "The column that holds a part, as in `question=Frage` or `options=A,B,C`. Parts: question, options, "
            "answer, id, dataset, tags. Also `sheet=NAME` of a workbook, and `answers_from=0` or 1. Can be repeated. "
            "Default: recognised by their names.",
        ),
    ] = None,
    every: Annotated[bool, option("--all", f"Show all rows, not only {ITEMS_SHOWN}.")] = False,
    as_json: AsJson = False,
) -> None:
    """Rows that cannot be used are listed with the reason, and the exit code is 2. The last lines are what the study
    file needs."""
    given = _columns(column or [])
    found = understand(table_of(path, given), given, path.stem)
    checked = TextCheck()
    checked.add_problems(found.problems, path if path.is_dir() else path.parent)
    found = replace(found, faults=(*found.faults, *map(str, checked.faults)))
    pool = {"path": str(path), "columns": found.columns.to_json()}
    data: dict[str, Any] = {
        "rows": len(found.problems),
        "columns": pool["columns"],
        "notes": found.notes,
        "errors": found.faults,
        "pictures": {key: picture.to_json() for key, picture in checked.by_key.items()},
        "items": [problem.to_json() for problem in found.problems],
    }
    if not as_json:
        rows = found.problems if every else found.problems[:ITEMS_SHOWN]
        data["items"] = [
            {
                "id": one.id,
                "question": _cut(one.text),
                "options": "\n".join(f"{choice.key}. {_cut(choice.text)}" for choice in one.options),
                "answer": one.answer,
                "tags": one.tags,
            }
            for one in rows
        ]
    show(data, as_json)
    if not as_json and not found.faults:
        echo(f"\nIn the study file:\n\n{yaml_text({'problems': {'questions': pool}}).rstrip()}")
    if found.faults:
        raise typer.Exit(2)


def _columns(told: list[str]) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for one in told:
        part, equals, name = one.partition("=")
        if not equals:
            raise typer.BadParameter(f"--column {one!r} is not a pair; write PART=NAME, such as question=Frage.")
        several = part == "tags" or (part == "options" and "," in name)
        columns[part] = [cell.strip() for cell in name.split(",")] if several else name
    return columns


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


@shown("translations")
def translations(
    study: AnyStudy,
    language: Annotated[str, option("-l --language LANGUAGE", "The language to translate into, such as `de`.")],
) -> None:
    if not is_supported(language):
        what = f"Parley has no texts in the language {language!r}{suggestion(language, catalogues())}"
        raise StudyError(study, [ValidationIssue("--language", what)])
    wanted = missing_translations(any_study(study), language)
    if wanted:
        print(yaml_text(dict.fromkeys(wanted, ""), WIDTH), end="")
    lacking = how_many(len(wanted), "text has", "texts have")
    err.print(f"{study}: {lacking} no translation into {language} ({catalogue(language).name}).", markup=False)


@shown("schema")
def schema(
    protocol: Annotated[bool, option("--protocol", "Print the schema of protocol files instead.")] = False,
) -> None:
    print(json.dumps(json_schema("protocol" if protocol else "study"), indent=2, ensure_ascii=False))


@shown("settings")
def settings_(as_json: AsJson = False) -> None:
    names = ("variable", "value", "default", "description")
    rows = configuration.settings_table(settings_in_use())
    show([dict(zip(names, row, strict=True)) for row in rows], as_json)


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
