"""Who comes to a rehearsal: the same for a seed, within the time, and what is left of one that was stopped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from app.bots.rehearse import AWAY_S, LEAVES_WITHIN, Visit, planned_visits, remaining_visits

plans = st.builds(
    planned_visits, st.just("study"), st.integers(1, 60), st.text(max_size=5), st.floats(0, 86_400, allow_nan=False)
)


@given(plans)
def test_everybody_comes_within_the_time_in_order(visits: tuple[Visit, ...]) -> None:
    times = [visit.arrives_s for visit in visits]
    assert times == sorted(times)
    assert len({visit.name for visit in visits}) == len(visits)
    for visit in visits:
        assert visit.leaves_after is None or 1 <= visit.leaves_after <= LEAVES_WITHIN
        assert visit.away_s is None or (visit.leaves_after is not None and AWAY_S[0] <= visit.away_s <= AWAY_S[1])


@given(st.integers(1, 60), st.integers(0, 20), st.text(max_size=5))
def test_more_people_are_added_to_those_of_the_same_seed(people: int, more: int, seed: str) -> None:
    few, many = planned_visits("study", people, seed, 3_600), planned_visits("study", people + more, seed, 3_600)
    assert set(few) <= set(many)
    assert all(0 <= visit.arrives_s <= 3_600 for visit in many)


def test_some_leave_some_come_back_and_another_seed_is_other_people() -> None:
    visits = planned_visits("study", 300, "1", 3_600)
    leave, drop = [v for v in visits if v.leaves_after is not None], [v for v in visits if v.drops_out]
    assert 0 < len(drop) < len(leave) < len(visits) / 2
    assert any(visit.reloads(click) for visit in visits for click in range(5))
    assert not {visit.name for visit in visits} & {visit.name for visit in planned_visits("study", 300, "2", 3_600)}


@given(plans, st.data())
def test_a_stopped_rehearsal_goes_on_with_whoever_is_not_gone(visits: tuple[Visit, ...], data: st.DataObject) -> None:
    names = [visit.name for visit in visits]
    begun = set(data.draw(st.lists(st.sampled_from(names), unique=True)))
    ended = set(data.draw(st.lists(st.sampled_from(sorted(begun)), unique=True))) if begun else set()
    left = {visit.name: visit for visit in remaining_visits(visits, begun, ended)}
    for visit in visits:
        gone = visit.name in ended or (visit.name in begun and visit.drops_out)
        assert (visit.name in left) is not gone
        if visit.name in left:
            assert left[visit.name] == (Visit(visit.name, 0.0) if visit.name in begun else visit)
