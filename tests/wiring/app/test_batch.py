"""What asks models alone: everything once, whatever happened before; failures are told apart; the budget holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.batch.plan import RunLimits
from storage.ai_alone.runs import runs
from tests.fakes.alone import (
    BAD,
    BUSY,
    DOWN,
    GARBLED,
    NO,
    NO_KEY,
    Talk,
    ask,
    asking,
    database_in,
    row,
    rows,
    seeds,
)
from tests.fakes.sampled import write_sampled

CELLS = [Talk("a", 3), Talk("b", 2, steps=2), Talk("c", 2, steps=3, last="two")]


def first(seed, *errors):
    left = {seed: list(errors)}
    return lambda now: left[now].pop(0) if left.get(now) else None


def test_everything_is_asked_once_and_then_never_again(each_database):
    with asking() as model:
        ended = ask(each_database, CELLS)
        assert sorted(model.asked) == sorted(seeds(CELLS))
        told = {text for text in model.texts if text.startswith("c")}
        assert any(text.startswith("c | reply") and text.count("|") == 2 for text in told), (
            "a step is told those before it"
        )
        assert (ended.why, ended.asked, ended.progress.reused, ended.progress.failed) == ("done", 13, 0, 0)
        again = ask(each_database, CELLS)
        assert len(model.asked) == 13
        assert (again.why, again.asked, again.progress.reused) == ("done", 0, 7)
    assert sorted(seed for seed, *_ in rows(each_database, CELLS)) == sorted(seeds(CELLS))


@settings(max_examples=8)
@given(st.data())
def test_after_any_prefix_of_rows_exactly_the_missing_is_asked(tmp_path_factory, data):
    database = database_in(tmp_path_factory.mktemp("prefix"))
    samples = [(cell, number) for cell in CELLS for number in range(cell.samples)]
    there = {
        f"{cell.key}:{number}:{step}"
        for cell, number in samples
        for step in range(data.draw(st.integers(0, cell.steps), label=f"{cell.name}{number}"))
    }
    failed = data.draw(st.sets(st.sampled_from(sorted({*seeds(CELLS)} - there) or [""])), label="failed before")
    before = [row(seed) for seed in sorted(there)] + [row(seed, "status_500") for seed in sorted(failed) if seed]
    write_sampled(database, before)
    with asking() as model:
        ended = ask(database, CELLS)
    assert sorted(model.asked) == sorted({*seeds(CELLS)} - there)
    assert {seed for seed, text, _ in rows(database, CELLS) if text} == {*seeds(CELLS)}
    assert ended.progress.done == len(samples)
    database.dispose()


def test_more_samples_ask_only_for_more_and_another_temperature_for_all(database):
    with asking() as model:
        ask(database, [Talk("x", 5)])
        model.asked.clear()
        ended = ask(database, [Talk("x", 10)])
        assert sorted(int(seed.split(":")[1]) for seed in model.asked) == [5, 6, 7, 8, 9]
        assert (ended.asked, ended.progress.reused) == (5, 5)
        assert ask(database, [Talk("x", 5, temperature=0.8)]).asked == 5


def test_no_more_calls_are_made_at_once_than_allowed(database):
    with asking() as model:
        ask(database, [Talk("x", 40), Talk("y", 40, model="two"), Talk("z", 40, steps=2, last="three")], RunLimits(6))
    assert 1 < model.most_at_once <= 6


def test_being_told_to_wait_is_no_try(database):
    cell = Talk("x")
    with asking(first(seeds([cell])[0], *[BUSY] * 20)) as model:
        assert ask(database, [cell], RunLimits(4, tries=2)).progress.failed == 0
    assert len(model.asked) == 21


@pytest.mark.parametrize(("error", "requests"), [(DOWN, 3), (GARBLED, 2), (BAD, 1)])
def test_what_stays_is_a_failed_row_and_asked_again_by_the_next_run(error, requests, database):
    cells = [Talk("x"), Talk("y")]
    hurt = seeds(cells)[0]
    with asking(lambda seed: error if seed == hurt else None) as model:
        ended = ask(database, cells)
        assert (ended.why, ended.progress.failed, ended.asked) == ("done", 1, 1)
        assert model.asked.count(hurt) == requests
        assert dict((seed, reason) for seed, _, reason in rows(database, cells))[hurt] == error.reason
        model.told = lambda seed: None
        again = ask(database, cells)
    assert (again.asked, again.progress.reused, again.progress.failed) == (1, 1, 0)
    assert {reason for *_, reason in rows(database, cells)} == {None}


def test_a_refusal_is_an_outcome_and_not_asked_again(database):
    cells = [Talk("x", steps=2), Talk("y", steps=2)]
    hurt = seeds(cells)[0]
    with asking(lambda seed: NO if seed == hurt else None) as model:
        ended = ask(database, cells)
        assert (ended.progress.refused, ended.progress.failed, ended.asked) == (1, 0, 3)
        assert model.asked.count(hurt) == 1
        assert ask(database, cells).progress.reused == 2
        assert len(model.asked) == 3
    assert (hurt, None, "refusal") in rows(database, cells)


def test_a_key_that_is_refused_ends_the_asking_of_that_model_alone(database):
    cells = [Talk("x", 200), Talk("y", 3, model="two")]
    with asking(lambda seed: NO_KEY if seed.startswith(cells[0].key) else None) as model:
        ended = ask(database, cells)
    assert ended.why == "stopped"
    one, two = ended.models
    assert "Who are you?" in one.stopped
    assert (two.replies, two.stopped) == (3, None)
    assert len(model.asked) < 15


def test_a_server_that_is_away_is_given_up(database):
    with asking(lambda seed: DOWN):
        limits = RunLimits(4, tries=1, patience_s=0.05)
        ended = ask(database, [Talk("x", 200)], limits, breaker_pause_s=0.001)
    assert ended.why == "stopped"
    assert 0 < ended.progress.failed < 200


def test_the_budget_is_never_exceeded_and_nearly_used(database):
    cells = [Talk("x", 200)]  # each reply costs 0.001, and could cost 0.01
    with asking():
        ended = ask(database, cells, RunLimits(8, budget=0.05))
        assert ended.why == "budget"
        assert 0.035 <= ended.cost <= 0.05
        more = ask(database, cells, RunLimits(8, budget=0.05))
    assert more.progress.reused == ended.asked
    assert sum(one.cost for one in runs(database)) == pytest.approx(ended.cost + more.cost)
