"""What must hold for every session of every study, whatever people do: tried on what bots and hypothesis think up."""

from __future__ import annotations

import asyncio
import random
from dataclasses import asdict

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.bots.random_bot import RandomBot
from experiments.errors import Refused
from experiments.events import Action, Event
from experiments.session.assignment import drawn_factors
from experiments.session.engine import MISSING_NEWS, decide, fold, pending_tasks, screen
from experiments.session.state import current_location
from experiments.session.timing import deadlines
from experiments.study.location import State
from tests.fakes.annotated import annotated
from tests.fakes.databases import interleaved
from tests.fakes.examples import SEEDS, examples
from tests.fakes.sessions import NAMES, click, play, study, whole

seeds = st.integers(0, SEEDS).map(str)
names = st.sampled_from(NAMES)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=6,
)


def some_state(name: str, seed: str, share: float) -> State:
    log = whole(name, seed)
    return fold(log[: 1 + round(share * (len(log) - 1))])


def attempt(name: str, state: State, action: Action) -> tuple[tuple[Event, ...], Refused | None]:
    try:
        return decide(study(name), state, action), None
    except Refused as refused:
        return (), refused


@given(names, seeds, st.floats(0, 1))
@examples(20)
def test_every_prefix_of_every_log_resumes_to_its_end(name: str, seed: str, share: float) -> None:
    log = whole(name, seed)
    prefix = log[: round(share * len(log))]
    last = fold(prefix)
    for last, _ in play(study(name), f"{seed}, somebody else", prefix):  # noqa: B007
        pass
    assert screen(study(name), last).ended
    assert last.events[: len(prefix)] == prefix


@given(names, seeds)
@examples(10)
def test_the_same_seed_gives_the_same_study(name: str, seed: str) -> None:
    again = tuple(event for _, events in play(study(name), seed) for event in events)
    assert again == whole(name, seed)


@given(names, seeds)
@examples(10)
def test_folding_a_log_that_went_through_json_gives_the_live_state(name: str, seed: str) -> None:
    log = whole(name, seed)
    stored = [type(event)(**orjson.loads(orjson.dumps(asdict(event)))) for event in log]
    assert fold(stored) == fold(log)
    assert [event.seq for event in log] == list(range(1, len(log) + 1))


@given(
    names,
    seeds,
    st.floats(0, 1),
    st.sampled_from(
        ["submit", "say", "rate", "retry", "vote", "draw", "assign", "finish", "reply", "enrol", "withdraw", ""]
    ),
    st.dictionaries(
        st.sampled_from(["answer", "text", "agreed", "confidence", "helpfulness", "winner", "slot", "x"]), json_values
    ),
    st.sampled_from(["participant", "system", "model", "researcher"]),
    st.booleans(),
    st.integers(-1, 1),
)
@examples(60)
def test_an_act_is_either_taken_whole_or_refused_without_a_trace(
    name: str, seed: str, share: float, kind: str, data: dict[str, object], by: str, elsewhere: bool, off: int
) -> None:
    state = some_state(name, seed, share)
    before = repr(state)
    present = screen(study(name), state)
    path = "phase-1/question[9]/alone" if elsewhere else present.path
    action = Action(kind, path, data, 7, by=by, seen=present.seen + off, key="forged-key")  # type: ignore[arg-type]
    events, refused = attempt(name, state, action)
    if refused:
        assert refused.reason in ("stale", "not_offered", "ended", "invalid", "too_early")
        assert str(refused)
    else:
        assert fold(events, state).seq == state.seq + len(events)
        offered = kind == "withdraw" or (not elsewhere and off == 0 and kind in present.actions)
        assert by != "participant" or offered
    assert repr(state) == before


@given(names, seeds, st.floats(0, 1), st.integers(1, 40))
@examples(20)
def test_a_click_on_a_screen_that_has_changed_is_stale(name: str, seed: str, share: float, ago: int) -> None:
    state = some_state(name, seed, share)
    present = screen(study(name), state)
    if not present.actions:
        return
    old = click(study(name), state, RandomBot(seed), 7, seen=present.seen - ago)
    if old.kind in (*MISSING_NEWS, "edit"):  # these may count although something has come meanwhile: test_out_of_turn
        return
    with pytest.raises(Refused) as refused:
        decide(study(name), state, old)
    assert refused.value.reason == "stale"


@given(names, seeds, st.floats(0, 1), st.integers(0, 9))
@examples(20)
def test_a_models_annotation_refuses_no_click_and_is_on_no_screen(
    name: str, seed: str, share: float, chance: int
) -> None:
    state = some_state(name, seed, share)
    found = annotated(study(name), state, random.Random(chance))
    after = fold(found, state)
    assert [event.kind for event in found] in ([], ["annotated"])
    assert screen(study(name), after) == screen(study(name), state)
    assert pending_tasks(study(name), after) == pending_tasks(study(name), state)
    assert deadlines(study(name), after) == deadlines(study(name), state)
    if screen(study(name), state).actions:
        act = click(study(name), state, RandomBot(seed), 7)
        meant = [(event.kind, event.data) for event in decide(study(name), state, act)]
        assert [(event.kind, event.data) for event in decide(study(name), after, act)] == meant


@given(names, seeds, st.floats(0, 1))
@examples(12)
def test_an_annotation_is_of_what_was_said_and_of_nobody_who_withdrew(name: str, seed: str, share: float) -> None:
    state = some_state(name, seed, share)
    said = {path for path, facts in state.facts.items() if any(event.kind == "said" for event in facts)}
    for path in {*state.facts, "nowhere"} - said - {""}:
        with pytest.raises(Refused, match="no conversation"):
            decide(study(name), state, Action("annotate", "", {"path": path}, 7, by="model"))
    with pytest.raises(Refused):
        decide(study(name), state, Action("annotate", "", {"path": ""}, 7, by="participant", seen=state.changed))
    gone = fold(decide(study(name), state, Action("withdraw", "", {}, 8, by="participant")), state)
    with pytest.raises(Refused, match="withdrawn"):
        decide(study(name), gone, Action("annotate", "", {"path": ""}, 9, by="model"))


@given(names, seeds, st.floats(0, 1))
@examples(20)
def test_the_same_click_twice_happens_once(name: str, seed: str, share: float) -> None:
    state = some_state(name, seed, share)
    if not screen(study(name), state).actions:
        return
    act = click(study(name), state, RandomBot(seed), 7)
    after = fold(decide(study(name), state, act), state)
    assert decide(study(name), after, act) == ()


@given(names, seeds)
@examples(10)
def test_a_reply_is_owed_from_a_message_until_its_reply_and_never_otherwise(name: str, seed: str) -> None:
    for state, _ in play(study(name), seed):
        replies = [job for job in pending_tasks(study(name), state) if job.kind == "reply"]
        place = current_location(study(name), state)
        said = [event for event in place.facts if event.kind in ("said", "replied")] if place else []
        since = len(said) - max((n for n, event in enumerate(said) if event.kind == "said"), default=0)
        columns = getattr(place.node, "columns", 1) if place else 0
        assert len(replies) == (columns + 1 - since if said else 0)
        for job in replies:
            assert job.data["messages"][-1]["text"] == said[-since].data["text"]


@given(names, seeds)
@examples(10)
def test_progress_is_a_share_and_ends_at_the_whole(name: str, seed: str) -> None:
    shares = [screen(study(name), state).progress.share for state, _ in play(study(name), seed)]
    assert all(0 <= share <= 1 for share in shares)
    assert shares[-1] == 1


@given(names, seeds)
@examples(12)
def test_no_problem_is_given_twice_by_loops_over_one_pool(name: str, seed: str) -> None:
    state = fold(whole(name, seed))
    for pool in {draw.of for draw in state.draws.values()}:
        drawn = [next(iter(item.values())) for draw in state.draws.values() if draw.of == pool for item in draw.items]
        assert len(drawn) == len(set(drawn))


@given(seeds)
@examples(12)
def test_chatbench_asks_its_batch_in_the_papers_order(seed: str) -> None:
    log = fold(whole("chatbench", seed))
    pool = {problem.id: problem for problem in study("chatbench").pools["questions"]}
    loops = ("phase-1/question", "phase-2/question")
    drawn = [pool[item["question"]] for loop in loops for item in log.draws[loop].items]
    assert {(p.tags["subject"], p.tags["batch"]) for p in drawn} == {(log.factors["subject"], log.factors["batch"])}
    if log.factors["subject"] == "math":
        e, h, c = "elementary_mathematics", "high_school_mathematics", "college_mathematics"
        assert [p.dataset for p in drawn] == [e, h, c, *[e] * 4, *[h] * 4, c]


@given(seeds)
@examples(12)
def test_in_mathconverse_every_set_has_three_models_in_an_order_of_ones_own(seed: str) -> None:
    state = fold(whole("mathconverse", seed))
    sets = [draw.items for path, draw in state.draws.items() if path.endswith("/problem")]
    assert sets
    for items in sets:
        assert sorted(item["model"] for item in items) == ["chatgpt", "chatgpt4", "instructgpt"]
        found = [study("mathconverse").problem("theorems", item["problem"]) for item in items]
        assert len({problem.tags["set"] for problem in found}) == 1


def test_factors_are_drawn_with_their_weights_and_independently() -> None:
    file, pools = study("chatbench").file, study("chatbench").pools
    got = [drawn_factors(file.factors, pools, f"participant {n}") for n in range(4_000)]
    n = len(got)
    for name, wanted in {"subject": {"math": 0.6, "physics": 0.2}, "condition": {"answer-first": 0.5}}.items():
        for value, share in wanted.items():
            seen = sum(row[name] == value for row in got) / n
            assert abs(seen - share) < 4 * (share * (1 - share) / n) ** 0.5
    for one, other in (("condition", "model"), ("subject", "condition"), ("subject", "model")):
        a, b = got[0][one], got[0][other]
        pa, pb = sum(r[one] == a for r in got) / n, sum(r[other] == b for r in got) / n
        both = sum(r[one] == a and r[other] == b for r in got) / n
        assert abs(both - pa * pb) < 4 * (pa * pb * (1 - pa * pb) / n) ** 0.5


@given(st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3)), min_size=1, max_size=6), st.integers(0, 10**6))
@examples(1)
def test_live_tables_equal_rebuilt_ones_after_any_interleaving(sessions: list[tuple[str, int]], order: int) -> None:
    live, rebuilt = asyncio.run(interleaved(sessions, random.Random(order)))
    assert live == rebuilt
