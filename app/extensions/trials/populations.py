"""The analysed populations: everybody as assigned (intention to treat), or without the sessions that the plan excludes
(per protocol).

Both are decided from how a session went, never from its outcome. A session counts under the first rule of the plan that
leaves it out. Withdrawn participants are erased and in neither.

With it goes the CONSORT flow by group: assigned, started, completed, left out by each rule, analysed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from app.extensions.trials.deviations import INTEGRITY
from app.extensions.trials.outcomes import TrialData, TrialSession
from app.extensions.trials.wording import RULES
from experiments.session.fidelity import OFF_PROTOCOL
from experiments.study.sections.plan import Hypothesis, Plan, PlannedContrast


def intention_to_treat(data: TrialData, contrast: PlannedContrast) -> frozenset[str]:
    return frozenset(one.session for one in data.sessions if one.assigned(contrast))


def per_protocol(data: TrialData, contrast: PlannedContrast, rules: Sequence[str] | None = None) -> frozenset[str]:
    chosen = data.plan.exclude if rules is None else rules
    return frozenset(
        one.session for one in data.sessions if one.assigned(contrast) and not broken(one, data.plan, chosen)
    )


def broken(session: TrialSession, plan: Plan, rules: Iterable[str]) -> str:
    return next((rule for rule in rules if _BROKEN[rule](session, plan)), "")


def excluded_otherwise(session: TrialSession) -> bool:
    """True if a researcher excluded a session for a reason that no plan can name."""
    return session.excluded is not None and not _for_integrity(session)


def _for_integrity(session: TrialSession) -> bool:
    return session.excluded is not None and session.excluded.lower().startswith(INTEGRITY)


def _too_fast(session: TrialSession, plan: Plan) -> bool:
    return session.complete and plan.fastest_seconds is not None and session.seconds < plan.fastest_seconds


def _off_protocol(session: TrialSession, plan: Plan) -> bool:
    least = plan.least_adherence
    return session.outcome == OFF_PROTOCOL or (least is not None and session.adherence < least)


_BROKEN: Mapping[str, Callable[[TrialSession, Plan], bool]] = {
    "failed_attention": lambda one, _: one.failed_attention,
    "too_fast": _too_fast,
    "integrity": lambda one, _: _for_integrity(one),
    "timed_out": lambda one, _: one.outcome == "timed_out",
    "technical_failure": lambda one, _: one.outcome == "technical_failure",
    "off_protocol": _off_protocol,
    "incomplete": lambda one, _: not one.complete,
}


# The one column where the same participants are in both groups.
BOTH = "both groups"


@dataclass(frozen=True, slots=True)
class FlowRow:
    words: str
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArmFlow:
    factor: str
    groups: tuple[str, ...]
    """Treatment and control, or BOTH."""
    hypotheses: tuple[str, ...]
    """The hypotheses with this contrast; the rows `analysed` are those of the first."""
    rows: tuple[FlowRow, ...]

    @property
    def lines(self) -> list[tuple[str, ...]]:
        return [(row.words, *(f"{count:,}" for count in row.counts)) for row in self.rows]


def arm_flows(data: TrialData, came: Mapping[str, Mapping[str, tuple[int, int]]]) -> tuple[ArmFlow, ...]:
    """The flow for each contrast of the plan. `came` has, by factor and value, how many participants were assigned,
    those with erased data too, and how many completed (`ParticipantFlow.factors`)."""
    contrasts: dict[PlannedContrast, list[Hypothesis]] = {}
    for one in data.plan.hypotheses:
        contrasts.setdefault(one.contrast, []).append(one)
    return tuple(_flow(data, contrast, named, came) for contrast, named in contrasts.items())


def _flow(
    data: TrialData,
    contrast: PlannedContrast,
    hypotheses: Sequence[Hypothesis],
    came: Mapping[str, Mapping[str, tuple[int, int]]],
) -> ArmFlow:
    among = [one for one in data.sessions if one.assigned(contrast)]
    between = any(contrast.factor in one.factors for one in among) or contrast.factor in came
    groups = (contrast.treatment, contrast.control) if between else (BOTH,)
    members = {
        group: [one for one in among if group == BOTH or one.factors.get(contrast.factor) == group] for group in groups
    }
    assigned = {
        group: max(len(members[group]), came.get(contrast.factor, {}).get(group, (0, 0))[0]) for group in groups
    }
    erased = FlowRow("withdrew, data erased", tuple(assigned[one] - len(members[one]) for one in groups))
    return ArmFlow(
        contrast.factor,
        groups,
        tuple(one.id for one in hypotheses),
        (
            FlowRow("assigned", tuple(assigned.values())),
            *([erased] if any(erased.counts) else []),
            *_stages(data, contrast, hypotheses[0], members),
        ),
    )


def _stages(
    data: TrialData, contrast: PlannedContrast, hypothesis: Hypothesis, sessions: Mapping[str, Sequence[TrialSession]]
) -> Iterator[FlowRow]:
    def row(words: str, holds: Callable[[TrialSession], bool]) -> FlowRow:
        return FlowRow(words, tuple(sum(map(holds, some)) for some in sessions.values()))

    yield row("started", lambda one: one.started)
    yield row("completed the study", lambda one: one.complete)
    analysed = _with_outcome(data, hypothesis, intention_to_treat(data, contrast))
    yield row("without the outcome", lambda one: one.session not in analysed)
    yield row("analysed as assigned (intention to treat)", lambda one: one.session in analysed)
    for rule in data.plan.exclude:
        why = {one.session for one in data.sessions if broken(one, data.plan, data.plan.exclude) == rule}
        yield row(f"left out: {RULES[rule]}", partial(_is_in, frozenset(why)))
    kept = per_protocol(data, contrast)
    yield row("analysed per protocol", lambda one: one.session in kept and one.session in analysed)
    others = row("excluded by a researcher for another reason", excluded_otherwise)
    if any(others.counts):
        yield others


def _is_in(sessions: frozenset[str], session: TrialSession) -> bool:
    return session.session in sessions


def _with_outcome(data: TrialData, hypothesis: Hypothesis, sessions: frozenset[str]) -> frozenset[str]:
    """The sessions with the outcome and the covariates; for two steps, with the outcome at both."""
    rows = data.rows(hypothesis, sessions).dropna()
    if "moment" in rows:
        both = rows.groupby("participant")["moment"].nunique()
        return frozenset(map(str, both[both == 2].index))
    return frozenset(map(str, rows["participant"]))
