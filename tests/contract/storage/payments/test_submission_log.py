"""What is observed of submissions is kept once, and an act goes on from where it is, in each database."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from storage.db.engine import Database
from storage.payments.submission_log import ActEvent, acts, add_act_event, observations_in, observe
from storage.payments.submissions import Act, Observation


def webhook(number: int, status: str, at_us: int) -> Observation:
    return Observation("mark", status, at_us, "webhook", f"event-{number}")


def test_many_who_observe_at_once_come_to_one_end(each_database: Database) -> None:
    seen = [webhook(1, "ACTIVE", 1), webhook(2, "AWAITING REVIEW", 5), webhook(3, "APPROVED", 9)]
    listed = Observation("mark", "AWAITING REVIEW", 6, "list")
    with ThreadPoolExecutor(4) as pool:
        given = [[one] for one in (*seen, *reversed(seen), listed, listed)]
        list(pool.map(lambda some: observe(each_database, "prolific", some, {}, 0), given))
    with each_database.connect() as connection:
        assert observations_in(connection, "prolific") == {"mark": seen[-1]}


def test_of_many_who_send_an_act_one_does(each_database: Database) -> None:
    asked = {"act": "a", "what": "approve", "who": "ada", "sessions": []}
    assert add_act_event(each_database, "paid", ActEvent("asked", asked, 1, "researcher"))

    def fits(known: Mapping[str, Act]) -> bool:
        return known["a"].attempts == 0

    with ThreadPoolExecutor(4) as pool:
        sent = ActEvent("sent", {"act": "a", "attempt": 1, "before": {}}, 2)
        mine = list(pool.map(lambda _: add_act_event(each_database, "paid", sent, fits), range(4)))
    assert sorted(mine) == [False, False, False, True]
    assert acts(each_database, "paid")["a"].is_uncertain
