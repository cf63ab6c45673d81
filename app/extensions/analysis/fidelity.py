"""What the arms of a study were: how much of the treatment participants had (dose), how many replies were as their
condition wants (adherence), and which versions of the models replied.

Dose and adherence are two of the facets of treatment fidelity in Bellg et al.: Enhancing Treatment Fidelity in Health
Behavior Change Studies (Health Psychology 23, 2004)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import pandas as pd

from app.extensions.analysis.base import MOST_VALUES, AnalysisStep, analysis, by_arm, call, compared_factors, table
from app.extensions.analysis.data_frames import CONVERSATIONS, SESSION
from app.extensions.analysis.estimates import (
    COUNT,
    NUMBER,
    Finding,
    count_estimate,
    mean_estimate,
    share_estimate,
    share_finding,
    slug,
)

COLUMNS = ("path", "arms", "turns", "words_written", "words_read", "minutes", "replies", "verdicts")
CLUSTERED = (
    "by leaving out one participant at a time (cluster jackknife; MacKinnon, Nielsen and Webb 2023), with Student's t"
)
DOSE = (
    "The unit is a conversation in which a model replied. Words are counted without numbers, signs and blocks of code; "
    f"minutes are those for which the screen was there. The 95 % interval is mean ± t standard errors, {CLUSTERED}."
)
ADHERENCE = (
    "The unit is the verdict of a rule on a reply that participants read; the rules are the study's `fidelity`. The "
    f"95 % interval is Wilson's for the effective number of replies, {CLUSTERED}."
)
VERSIONS = (
    "Replies that participants read, by the version that the model's server named. First and last use are UTC days."
)
MEASURES: Mapping[str, tuple[str, str]] = {
    "turns": ("Messages of participants", "Participants sent {} messages in a conversation"),
    "words_written": ("Words that participants wrote", "Participants wrote {} words in a conversation"),
    "words_read": ("Words of replies", "The replies of a conversation had {} words"),
    "minutes": ("Minutes", "A conversation lasted {} minutes"),
}


@analysis
def dose(conversations: pd.DataFrame) -> Iterator[Finding]:
    """The mean of each measure of a conversation, overall and by arm."""
    for measure, (title, said) in MEASURES.items():
        rows = conversations[conversations[measure].notna()]
        estimates = tuple(
            mean_estimate(
                ".".join(["fidelity.dose", measure, *map(slug, arm.value)]), arm.label, arm.groups,
                f"{said} ({arm.label})" if arm.value else said, own[measure], own[SESSION], counts="conversations",
                scale=(0, float("inf")),
            )
            for arm, own in by_arm(rows) if len(own)
        )  # fmt: skip
        most = max((one.high or one.value for one in estimates), default=0.0)
        heading = f"Dose: {title.lower()} in a conversation"
        yield Finding(
            f"fidelity.dose.{measure}", heading, "conversations", NUMBER, (0, most or 1), estimates, DOSE,
            columns=tuple(compared_factors(rows)),
        )  # fmt: skip


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
    for rule, every in verdict_rows(conversations).groupby("rule", sort=False):
        rows = every[every["kept"].notna()]
        unknown = len(every) - len(rows)
        estimates = tuple(
            share_estimate(
                ".".join(["fidelity.adherence", slug(rule), *map(slug, arm.value)]), arm.label, arm.groups,
                f"{{}} of the replies kept the rule {rule}" + (f" ({arm.label})" if arm.value else ""), own["kept"],
                own[SESSION], counts="replies",
            )
            for arm, own in by_arm(rows) if len(own)
        )  # fmt: skip
        note = f"Replies without a verdict, as it could not be known: {unknown:,}." if unknown else ""
        heading, columns = f"Adherence: {rule}", tuple(compared_factors(rows))
        yield share_finding(
            f"fidelity.adherence.{slug(rule)}", heading, "replies", estimates, ADHERENCE, note=note, columns=columns
        )


@analysis
def model_versions(conversations: pd.DataFrame) -> Iterator[Finding]:
    """The number of replies of each version of each model in each arm, with its first and last use."""
    arms = [
        ", ".join(f"{name}: {value}" for name, value in one.items() if name != "model") for one in conversations["arms"]
    ]
    shown = arms if len({*arms}) <= MOST_VALUES else [""] * len(arms)
    found = [
        (model, version or "not named", arm or "all", at_us, session)
        for arm, replies, session in zip(shown, conversations["replies"], conversations[SESSION], strict=True)
        for model, version, at_us in replies
    ]
    rows = pd.DataFrame(found, columns=["model", "version", "arm", "at_us", SESSION])
    estimates = []
    for key, own in rows.groupby(["model", "version", "arm"], sort=True):
        model, version, arm = map(str, key)
        first, last = (f"{datetime.fromtimestamp(us / 1e6, UTC):%Y-%m-%d}" for us in own["at_us"].agg(["min", "max"]))
        groups = {"model": model, "version": version, "arm": arm, "first": first, "last": last}
        label = f"{model}, {version} ({arm}), {first} to {last}"
        said = f"{model} replied as version {version} {len(own):,} times from {first} to {last} ({arm})."
        values = "-".join(part.partition(": ")[2] for part in arm.split(", ")) if arm != "all" else arm
        name = ".".join(["fidelity.replies", *map(slug, (model, version, values))])
        estimates.append(count_estimate(name, label, groups, len(own), own[SESSION].nunique(), said))
    most = max((one.value for one in estimates), default=1.0)
    yield Finding(
        "fidelity.replies", "Model versions that replied", "replies", COUNT, (0, most), tuple(estimates), VERSIONS
    )


_TABLE = table(CONVERSATIONS, COLUMNS, "conversation_frame(database, study, origin)")
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep("Adherence", call(adherence, _TABLE)),
    AnalysisStep("Dose", call(dose, _TABLE)),
    AnalysisStep("Model versions", call(model_versions, _TABLE)),
)
