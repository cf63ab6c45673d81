"""Fidelity of a study's arms: how much of the treatment participants had (dose), how many replies were as their
condition wants (adherence), which versions of the models replied (Bellg et al., Health Psychology 23, 2004); and the
results of a rehearsal.

In a rehearsal, each rule that needs no judge is put to the replies of all arms. Two arms are compared by the means of
their sessions, since replies of one are alike: by Kruskal and Wallis' test, with Holm's correction for all
comparisons. No difference found does not mean that there is none.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import combinations
from math import erfc, inf, sqrt
from typing import Any

import numpy as np
import orjson
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
from app.extensions.analysis.data_frames import SESSION, conversation_frame
from app.extensions.analysis.estimates import Finding, count_estimate, finding, mean_estimate, share_estimate, slug
from app.extensions.analysis.intervals import Values, codes, holm, share_of
from experiments.session.conversation import ROLES, is_by_model
from experiments.session.fidelity import Reply, recomputed
from experiments.session.state import visited
from experiments.study.reply_checks import words
from experiments.study.study import Study
from experiments.views.fidelity import verdicts
from storage.db.engine import Database
from storage.log.folded_sessions import FoldedSession, analysed_sessions
from storage.log.seats import cell_key
from storage.registers.origins import Origin

COLUMNS = ("path", "arms", "turns", "words_written", "words_read", "minutes", "replies", "verdicts")
MEASURES: Mapping[str, tuple[str, str]] = {
    "turns": ("messages of the participant", "Participants sent {} messages in a conversation"),
    "words_written": ("words written", "Participants wrote {} words in a conversation"),
    "words_read": ("words of replies", "The replies of a conversation had {} words"),
    "minutes": ("minutes", "A conversation lasted {} minutes"),
}


@analysis
def dose(conversations: pd.DataFrame) -> Iterator[Finding]:
    for measure, (title, told) in MEASURES.items():
        rows, name = conversations[conversations[measure].notna()], f"fidelity.dose.{measure}"
        estimates = tuple(
            mean_estimate(
                ".".join([name, *map(slug, arm.value)]), arm.label, arm.groups, told + _in(arm),
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


_TABLE = table(conversation_frame, COLUMNS)
PARTS: tuple[AnalysisStep, ...] = (
    AnalysisStep(call(adherence, _TABLE), quick=True),
    AnalysisStep(call(dose, _TABLE), quick=True),
    AnalysisStep(call(model_versions, _TABLE), quick=True),
)


WORST, LEVEL_P = 10, 0.05
LENGTH, LATENCY = "words of a reply", "seconds to the first word"
# The checks by which a rule makes the length of replies differ.
OF_LENGTH = ("words", "characters")


def fidelity_report(database: Database, study: Study, streams: Collection[str]) -> dict[str, Any]:
    """The tables of these rehearsed sessions, those of this version of a study, and their worst conversations."""
    every = analysed_sessions(database, study.name, Origin.REHEARSAL)
    own = [one for one in every if one.stream in streams and one.study.hash == study.hash]
    frame = conversation_frame(database, study.name, Origin.REHEARSAL)
    rows = verdict_rows(frame[frame[SESSION].isin([one.stream for one in own])]).dropna(subset=["kept"])
    rows["arm"] = [cell_key(arms) for arms in rows["arms"]]
    measured = pd.DataFrame(_measured(study, own), columns=["arm", "what", "value", SESSION])
    return {
        "sessions": len(own),
        "adherence_by_arm": [*_shares(rows, "rule", "arm")],
        "adherence_by_turn": [*_shares(rows, "rule", "turn")],
        "adherence_by_version": [*_shares(rows, "rule", "model", "version")],
        "arms_compared": _compared(study, measured),
        "worst_conversations": worst_conversations(own),
    }


def _shares(rows: pd.DataFrame, *names: str) -> Iterator[dict[str, Any]]:
    for key, own in rows.groupby(list(names), sort=True):
        found = share_of(own["kept"].to_numpy(), codes(own[SESSION]))
        interval = {"kept": found.value, "low": found.low, "high": found.high}
        yield {
            **dict(zip(names, key, strict=True)),
            **interval,
            "replies": len(own),
            "sessions": own[SESSION].nunique(),
        }


def _measured(study: Study, sessions: Sequence[FoldedSession]) -> Iterator[tuple[str, str, float, str]]:
    """Yield each shown reply's measures, with its arm: the rules that it kept, its length and its latency."""
    rules = study.file.fidelity or ()
    named = {name for rule in rules for name in rule.where}
    everywhere = tuple(rule.model_copy(update={"where": {}}) for rule in rules)
    unbound = replace(study, file=study.file.model_copy(update={"fidelity": everywhere}))

    def arm_of(condition: Mapping[str, str]) -> str:
        return orjson.dumps({name: value for name, value in condition.items() if name in named}).decode()

    for session in sessions:
        for found in recomputed(unbound, session.state):
            if found["shown"] and found["kept"] is not None:
                yield arm_of(found["condition"]), found["rule"], float(found["kept"]), session.stream
        for place in visited(study, session.state):
            arm = arm_of(Reply(place, "", 0, "").condition)
            for data in (event.data for event in place.facts if is_by_model(event)):
                yield arm, LENGTH, float(len(words(data["text"]))), session.stream
                if data.get("first_token_us") is not None:
                    yield arm, LATENCY, data["first_token_us"] / 1e6, session.stream


def _compared(study: Study, rows: pd.DataFrame) -> list[dict[str, Any]]:
    means, found = rows.groupby(["what", "arm", SESSION], sort=False)["value"].mean(), list[dict[str, Any]]()
    for what, own in means.groupby("what", sort=False):
        groups = {str(arm): values.to_numpy() for arm, values in own.groupby("arm")}
        for one, other in combinations(groups, 2):
            about = {"what": str(what), "arm": one, "other_arm": other}
            levels = {"mean": float(groups[one].mean()), "other_mean": float(groups[other].mean())}
            found.append({**about, **levels, "p": rank_test(groups[one], groups[other])})
    for compared, p in zip(found, holm(np.array([one["p"] for one in found])), strict=True):
        arms = [orjson.loads(compared[name]) for name in ("arm", "other_arm")]
        side, free = _wanted(study, compared["what"], *arms)
        so = _judged(p < LEVEL_P, compared["mean"] - compared["other_mean"], side, free=free)
        compared |= {"arm": cell_key(arms[0]), "other_arm": cell_key(arms[1]), "p": float(p), "so": so}
    return found


def _wanted(study: Study, what: str, arm: Mapping[str, str], other: Mapping[str, str]) -> tuple[int, bool]:
    """The arm that a rule is for: 1, -1, or 0 for both or neither; True if a rule sets their lengths apart."""
    sides = {
        rule.name: (rule.where.items() <= arm.items()) - (rule.where.items() <= other.items())
        for rule in study.file.fidelity or ()
    }
    by_length = [rule.name for rule in study.file.fidelity or () if rule.check in OF_LENGTH]
    return sides.get(what, 0), what == LENGTH and any(sides[name] for name in by_length)


def _judged(differs: bool, difference: float, side: int, *, free: bool) -> str:
    if side:
        return "differ, as they should" if differs and difference * side > 0 else "DO NOT DIFFER AS THEY SHOULD"
    if not differs:
        return "no difference found"
    return "differ, by a rule" if free else "DIFFER, AND SHOULD NOT"


def rank_test(values: Values, others: Values) -> float:
    """The two-sided p of Kruskal and Wallis' test of two groups, corrected for ties."""
    ranks = pd.Series(np.concatenate([values, others])).rank().to_numpy()
    spread = float(((ranks - ranks.mean()) ** 2).sum())
    between = sum(some.size * (some.mean() - ranks.mean()) ** 2 for some in np.split(ranks, [values.size]))
    return erfc(sqrt((ranks.size - 1) * between / spread / 2)) if spread else 1.0


def worst_conversations(sessions: Sequence[FoldedSession]) -> list[dict[str, Any]]:
    broke = (one for one in map(_conversation, sessions) if one["kept"] < 1)
    return sorted(broke, key=lambda one: one["kept"])[:WORST]


def _conversation(session: FoldedSession) -> dict[str, Any]:
    """The share of a session's verdicts that were kept, and its messages with the rules that they broke."""
    known = [one for one in verdicts(session.state.events) if one.shown and one.kept is not None]
    messages = [
        {
            "by": event.by,
            "text": event.data["text"],
            "broke": [one.rule for one in known if (one.path, one.of) == (event.path, event.seq) and not one.kept],
        }
        for event in session.state.events
        if event.kind in ROLES
    ]
    kept = sum(bool(one.kept) for one in known) / len(known) if known else 1.0
    return {"session": session.number, "arm": cell_key(session.arms), "kept": kept, "messages": messages}
