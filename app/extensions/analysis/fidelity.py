"""What the arms of a study were: how much of the treatment participants had (dose), how many replies were as their
condition wants (adherence), and which versions of the models replied.

Dose and adherence are two of the facets of treatment fidelity in Bellg et al.: Enhancing Treatment Fidelity in Health
Behavior Change Studies (Health Psychology 23, 2004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from math import inf

import pandas as pd

from app.extensions.analysis.base import (
    MOST_VALUES,
    AnalysisStep,
    ComparedArm,
    analysis,
    by_arm,
    call,
    compared_factors,
    table,
)
from app.extensions.analysis.data_frames import CONVERSATIONS, SESSION
from app.extensions.analysis.estimates import Finding, count_estimate, finding, mean_estimate, share_estimate, slug
from storage.log.seats import cell_key

COLUMNS = ("path", "arms", "turns", "words_written", "words_read", "minutes", "replies", "verdicts")
MEASURES: Mapping[str, tuple[str, str]] = {
    "turns": ("messages of the participant", "Participants sent {} messages in a conversation"),
    "words_written": ("words written", "Participants wrote {} words in a conversation"),
    "words_read": ("words of replies", "The replies of a conversation had {} words"),
    "minutes": ("minutes", "A conversation lasted {} minutes"),
}


@analysis
def dose(conversations: pd.DataFrame) -> Iterator[Finding]:
    """The mean of each measure of a conversation, overall and by arm."""
    for measure, (title, words) in MEASURES.items():
        rows, name = conversations[conversations[measure].notna()], f"fidelity.dose.{measure}"
        estimates = tuple(
            mean_estimate(
                ".".join([name, *map(slug, arm.value)]), arm.label, arm.groups, words + _in(arm),
                own[measure], own[SESSION], counts="conversations", scale=(0, inf),
            )
            for arm, own in by_arm(rows) if len(own)
        )  # fmt: skip
        axis, columns = (0, max([one.high or one.value for one in estimates], default=1)), tuple(compared_factors(rows))
        known = {"measure": measure, "title": title}
        yield finding("fidelity.dose.{measure}", estimates, axis=axis, columns=columns, words=known)


def _in(arm: ComparedArm) -> str:
    return f" ({arm.label})" if arm.value else ""


def verdict_rows(conversations: pd.DataFrame) -> pd.DataFrame:
    """A row for each verdict on a reply that was shown: `rule`, `arms`, `kept` (1, 0, or NaN if unknown), `turn`,
    `model`, `version`."""
    found = [
        (one.rule, dict(one.condition), one.kept, one.turn, one.model, one.version, session)
        for session, verdicts in zip(conversations[SESSION], conversations["verdicts"], strict=True)
        for one in verdicts
        if one.shown
    ]
    names = ["rule", "arms", "kept", "turn", "model", "version", SESSION]
    return pd.DataFrame(found, columns=names, dtype="object").astype({"kept": "float64"})


@analysis
def adherence(conversations: pd.DataFrame) -> Iterator[Finding]:
    """The share of replies that kept each rule, overall and by arm."""
    every = verdict_rows(conversations)
    rows, name = every[every["kept"].notna()], "fidelity.adherence"
    estimates = tuple(
        share_estimate(
            ".".join([name, slug(rule), *map(slug, arm.value)]), f"{rule}{_in(arm)}",
            {"rule": str(rule), **arm.groups}, f"{{}} of the replies kept the rule {rule}{_in(arm)}", kept["kept"],
            kept[SESSION], counts="replies",
        )
        for arm, own in by_arm(rows)
        for rule, kept in own.groupby("rule", sort=False)
    )  # fmt: skip
    unknown, columns = len(every) - len(rows), tuple(compared_factors(rows))
    note = f"The verdict on {unknown:,} replies could not be known." if unknown else ""
    yield finding(name, estimates, note=note, columns=columns)


@analysis
def model_versions(conversations: pd.DataFrame) -> Iterator[Finding]:
    """The number of replies of each version of each model in each arm, with its first and last use."""
    arms = [{name: value for name, value in one.items() if name != "model"} for one in conversations["arms"]]
    few = len({*map(cell_key, arms)}) <= MOST_VALUES
    names = [(cell_key(arm), "-".join(arm.values())) if few and arm else ("all", "all") for arm in arms]
    found = [
        (model, version or "not named", *own, f"{datetime.fromtimestamp(at_us / 1e6, UTC):%Y-%m-%d}", session)
        for own, replies, session in zip(names, conversations["replies"], conversations[SESSION], strict=True)
        for model, version, at_us in replies
    ]
    rows, estimates = pd.DataFrame(found, columns=["model", "version", "arm", "values", "day", SESSION]), []
    for key, own in rows.groupby(["model", "version", "arm", "values"], sort=True):
        (model, version, arm, values), (first, last) = map(str, key), own["day"].agg(["min", "max"])
        groups = {"model": model, "version": version, "arm": arm, "first": first, "last": last}
        label, name = f"{model} {version}, {values}: {first} to {last}", ".".join(map(slug, (model, version, values)))
        said = f"{model} replied as version {version} {len(own):,} times from {first} to {last} ({arm})."
        people = own[SESSION].nunique()
        estimates.append(count_estimate(f"fidelity.replies.{name}", label, groups, len(own), people, said))
    yield finding("fidelity.replies", estimates, axis=(0, max([one.value for one in estimates], default=1.0)))


_TABLE = table(CONVERSATIONS, COLUMNS, "conversation_frame(database, study, origin)")
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Adherence", call(adherence, _TABLE), quick=True),
    AnalysisStep("Dose", call(dose, _TABLE), quick=True),
    AnalysisStep("Model versions", call(model_versions, _TABLE), quick=True),
)
