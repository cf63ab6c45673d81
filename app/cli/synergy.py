"""The command that estimates the synergy of people and models.

The analysis is imported where it is needed, as that takes as long as all other imports.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table
from rich.text import Text

from app.cli.commands import command
from app.cli.common import (
    AsJson,
    OriginOption,
    StudyName,
    err,
    existing_database,
    name_of,
    out,
    print_json,
    settings_in_use,
)
from app.clock import SystemClock
from app.errors import SettingsError, TrialError
from problems.errors import install_line
from storage.reports.conversations import origin_of

if TYPE_CHECKING:
    from app.analysis.synergy.figures import Credible, SynergyFigures

INSTALL = f"The model of synergy needs packages that are not installed: {install_line('bayes')}"


@command("synergy")
def synergy_(
    study: StudyName,
    seed: Annotated[int, typer.Option(metavar="SEED", min=0, help="The same seed gives the same numbers.")] = 1,
    draws: Annotated[
        int,
        typer.Option(metavar="N", min=100, max=100_000, help="Draws of each of four chains; as many adapt it."),
    ] = 1000,
    as_json: AsJson = False,
    origin: OriginOption = None,
) -> None:
    """How much more people answer right with each model than alone, by a Bayesian model of abilities and difficulties.

    It needs participants who answered questions both alone and with a model: a study of your own, or an imported
    ChatBench release. Own and collaborative ability are two abilities of a person, and their correlation is estimated.
    """
    from app.analysis.synergy.answers import synergy_answers
    from app.analysis.synergy.figures import synergy_figures
    from app.analysis.synergy.posterior import sample
    from app.analysis.trial.looks import locked_for

    database = existing_database(settings_in_use())
    name = name_of(study)
    whose = origin_of(database, name, origin)
    if why := locked_for(database, name, whose, "", SystemClock().now_us()):
        raise TrialError(why)
    answers = synergy_answers(database, name, whose)
    try:
        posterior = sample(answers, seed=seed, draws=draws, warmup=draws, progress=err.is_terminal and not as_json)
    except ImportError as error:
        raise SettingsError(f"{INSTALL} ({error})") from None
    found = synergy_figures(answers, posterior)
    if as_json:
        print_json({"study": name, "origin": whose, "seed": seed, **asdict(found), "doubts": list(found.doubts)})
        return
    _print(found)


def _print(found: SynergyFigures) -> None:
    about = (
        "Means over all participants and questions, with 95 % intervals of the posterior; observed: the plain "
        "difference of the shares of right answers."
    )
    table = Table(title="Synergy", title_justify="left", caption=about, caption_justify="left")
    table.add_column("")
    for title in ("answers", "right", "synergy, points", "above 0", "observed, points"):
        table.add_column(title, justify="right")
    table.add_row("alone", f"{found.alone:,}", _shown(found.accuracy_alone, " %"), "", "", "")
    for one in found.models:
        above = f"{100 * one.above_zero:.1f} %"
        numbers = (_shown(one.accuracy, " %"), _shown(one.synergy, "", "+"), above, f"{100 * one.observed:+.1f}")
        table.add_row(Text(f"with {one.model}"), f"{one.answers:,}", *numbers)
    out.print(table)
    out.print(
        f"{found.people:,} participants, {found.questions:,} questions. Own ability has a standard deviation of "
        f"{_logits(found.sd_own)} logits, collaborative ability {_logits(found.sd_collaborative)}; their correlation "
        f"is {_logits(found.correlation)}.",
        highlight=False,
    )
    mixed = f"R-hat at most {found.worst_r_hat:.3f}, {found.fewest_effective:,.0f} effective draws at least, "
    out.print(f"Chains: {mixed}{found.divergences:,} divergences.", highlight=False)
    if found.doubts:
        out.print(f"[yellow]Do not trust these numbers: {'; '.join(found.doubts)}. More --draws may help.[/yellow]")


def _shown(one: Credible, unit: str, sign: str = "") -> str:
    return f"{100 * one.value:{sign}.1f}{unit} ({100 * one.low:{sign}.1f} to {100 * one.high:{sign}.1f})"


def _logits(one: Credible) -> str:
    return f"{one.value:.2f} ({one.low:.2f} to {one.high:.2f})"
