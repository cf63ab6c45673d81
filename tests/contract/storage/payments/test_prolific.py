"""Prolific's lists: nobody is in two that contradict each other, and every cent that is due is in one place."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from experiments.session.outcomes import OUTCOMES
from storage.log.seats import LIVE
from storage.payments.payments import Payee
from storage.payments.prolific import STATUSES, Statuses, lists
from storage.payments.submissions import OVER, RETURNED

ids = st.sampled_from(["a1", "b2", "c3", "=d4", "e,5", ""])
cents = st.integers(0, 500).map(lambda number: Decimal(number) / 100)
payees = st.builds(
    Payee,
    stream=st.uuids().map(str),
    number=st.integers(1, 99),
    recruiter=st.sampled_from(["prolific", "panel", "open"]),
    id=ids,
    outcome=st.sampled_from([*OUTCOMES, LIVE]),
    earned=cents,
    paid=st.dictionaries(st.sampled_from(["one.csv", "two.csv"]), cents),
    runs=st.just(frozenset()),
    checks_failed=st.integers(0, 3),
    minutes=st.none() | st.floats(0, 90),
    seq=st.integers(1, 99),
    status=st.sampled_from(["", *STATUSES]),
)


@given(st.lists(payees, max_size=12), st.none() | st.dictionaries(ids, st.sampled_from(STATUSES)))
def test_every_list_holds_those_for_whom_it_is(people: list[Payee], known: Statuses | None) -> None:
    sorted_ = lists(people, known)
    theirs = [payee for payee in people if payee.recruiter == "prolific" and payee.id]
    complete = [payee for payee in theirs if payee.outcome == "complete"]
    good = {id_ for id_, status in (known or {}).items() if status in ("APPROVED", "AWAITING REVIEW")}
    paid = [p for p in complete if p.id in ("a1", "b2", "c3") and p.status != RETURNED]
    paid = [p for p in paid if (p.status not in OVER if known is None else p.id in good)]
    due = [p for p in paid if p.earned > sum(p.paid.values())]
    assert sorted(p.stream for found in sorted_.bonus.values() for p in found) == sorted(p.stream for p in due)
    assert all(payee.id == id_ for id_, found in sorted_.bonus.items() for payee in found)
    assert set(sorted_.approve) == {p.id for p in paid if (known or {}).get(p.id) != "APPROVED"}
    assert sorted_.left_out.keys() == {p.stream for p in complete} - {p.stream for p in paid}
    for outcome, listed in (("no_consent", sorted_.no_consent), ("screened_out", sorted_.screened_out)):
        assert set(listed) <= {payee.id for payee in theirs if payee.outcome == outcome} - {p.id for p in complete}
        assert len(set(listed)) == len(listed)
