"""An act goes on from where it is, and its limit holds, whoever writes at once, in each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal

from experiments.errors import NotPossible
from experiments.money import Money
from storage.db.engine import Database
from storage.payments.recruiter_acts import ActEvent, acts, add_acts, committed_cents


def asked(act: str, cents: int = 0) -> ActEvent:
    return ActEvent("asked", {"act": act, "what": "places", "who": "ada", "cents": cents}, 1, "researcher")


def test_of_many_who_send_an_act_one_does(each_database: Database) -> None:
    assert add_acts(each_database, "paid", [asked("a")], lambda _: True)
    sent = [ActEvent("sent", {"act": "a", "attempt": 1}, 2)]
    with ThreadPoolExecutor(4) as pool:
        fits = [lambda known: all(not act.attempts for act in known)] * 4
        mine = list(pool.map(lambda fit: add_acts(each_database, "paid", sent, fit), fits))
    assert sorted(mine) == [False, False, False, True]
    assert acts(each_database, "paid")["a"].is_uncertain


def test_many_who_spend_at_once_stay_below_the_limit(each_database: Database) -> None:
    limit = Money(Decimal(2), "GBP")

    def spend(number: int) -> bool:
        try:
            return add_acts(each_database, "paid", [asked(str(number), 70)], lambda _: True, limit)
        except NotPossible:
            return False

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(spend, range(6))) == 2
    assert committed_cents(acts(each_database, "paid").values()) == 140
