"""The command that deposits an export in a repository, after a gate."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote
from typing import Annotated, Literal

import typer
from pydantic import SecretStr

from app.cli.commands import command
from app.cli.common import AsJson, argument, option, settings_in_use
from app.cli.printing import echo, show
from app.clock import SystemClock
from app.config.settings import env_name
from app.errors import DepositError, SettingsError
from app.extensions.publishing.deposit import HuggingFace, Zenodo
from app.extensions.publishing.deposit import deposit as deposit_export
from app.extensions.publishing.export_folders import (
    NONE,
    THRESHOLD,
    Decision,
    Deposit,
    ExportFolder,
    GateReport,
    decide,
    examine,
    open_export,
    read_record,
    record_file,
)

To = Literal["huggingface", "zenodo"]
REVIEWED = "You have looked at this column, and it can be published. It is recorded. Can be given several times."
DEMOGRAPHICS = f"The columns that describe participants (`age,gender`), besides those of the schema; or `{NONE}`."


@command("deposit")
def deposit(
    folder: Annotated[Path, argument("FOLDER", "The folder of an export.")],
    to: Annotated[To | None, option("--to REPOSITORY", "huggingface or zenodo. Default: only the gate.")] = None,
    publish: Annotated[bool, option("--publish", "Make it public, which cannot be undone.")] = False,
    reviewed: Annotated[list[str] | None, option("--reviewed COLUMN", REVIEWED)] = None,
    demographics: Annotated[str, option("--demographics COLUMNS", DEMOGRAPHICS)] = "",
    by: Annotated[str, option("--by NAME", "The person who decides, for --reviewed and --demographics.")] = "",
    name: Annotated[str, option("--name NAME", "The Hub's repository (`lab/data`). Default: the study's name.")] = "",
    as_json: AsJson = False,
) -> None:
    """A gate comes first: personal data, small cells and unreviewed free text each need a decision.

    The deposit is a draft that only you see, unless --publish is given.
    """
    export = open_export(folder)
    report = _gate(export, tuple(reviewed or ()), demographics, by)
    if not as_json:
        _print_gate(export, report)
    made = deposit_export(export, report, _repository(to), publish=publish, name=name) if to else None
    if as_json:
        gate = {"passed": not report.open, "threshold": THRESHOLD, **asdict(report)}
        show({"gate": gate, "deposit": made.model_dump(mode="json") if made else None}, as_json)
    elif made:
        _print_deposit(export, made)
    if to is None and report.open:
        raise typer.Exit(1)


def _gate(export: ExportFolder, reviewed: tuple[str, ...], demographics: str, by: str) -> GateReport:
    """Examine the export, with the decisions that are recorded and that of this command, which is recorded."""
    if not reviewed and not demographics:
        return examine(export, read_record(export.path).decisions)
    if not by:
        raise DepositError("--reviewed and --demographics need --by NAME, the person who decides")
    columns = tuple(filter(None, (part.strip() for part in demographics.split(",")))) or None
    now = datetime.fromtimestamp(SystemClock().now_us() / 1e6, UTC).isoformat(timespec="seconds")
    return decide(export, Decision(data=export.data, by=by, at=now, reviewed=reviewed, demographics=columns))


def _repository(to: To) -> HuggingFace | Zenodo:
    settings = settings_in_use()
    token: SecretStr | None = getattr(settings, f"{to}_token")
    if token is None:
        raise SettingsError(f"{env_name(f'{to}_token')} is not set: docs/deposit.md says where to create a token")
    url = str(getattr(settings, f"{to}_url"))
    return (HuggingFace if to == "huggingface" else Zenodo)(url, token.get_secret_value())


def _print_gate(export: ExportFolder, report: GateReport) -> None:
    if report.simulated:
        echo("No person took part in these sessions: the gate has nothing to examine.")
        return
    for one in report.findings:
        decision = f"reviewed by {'; '.join(dict.fromkeys(one.reviews.values()))}" if one.resolved else "open"
        echo(f"{one.kind}: {', '.join(one.columns)}: {one.detail} ({decision})")
    if report.k is not None:
        echo(f"k-anonymity of {', '.join(report.demographics)}: k = {report.k}, of {report.people:,} people")
    echo(_advice(export, report) if report.open else "The gate is passed.")


def _advice(export: ExportFolder, report: GateReport) -> str:
    column = quote(next((name for one in report.open for name in one.columns), "COLUMN"))
    again = f"parley export {export.study} --schema {export.schema} -o ANOTHER_FOLDER"
    return f"""Ways to settle open findings:
  Leave a column out: {again} --without {column}  # or --mask-personal-data
  Or look at a column, and say that it can be published: --reviewed {column} --by NAME
  Name the columns that describe participants: --demographics age,gender; or --demographics {NONE}"""


def _print_deposit(export: ExportFolder, deposit: Deposit) -> None:
    if not deposit.published:
        echo(f"Deposited as a draft that only you see: {deposit.url}")
        echo(f"Look at it there, then publish it: parley deposit {quote(str(export.path))} --to {deposit.to} --publish")
    else:
        echo(f"Published: {deposit.url}")
        doi = deposit.doi or f"the DOI that {deposit.url}/settings generates"
        echo(f"Write below `dataset:` in the study file: `doi: {doi}`, and run `parley metadata {export.study} FILE`")
    echo(f"Recorded in {record_file(export.path)}")
