"""What is observed of submissions is kept once, in each database."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from storage.db.engine import Database
from storage.payments.submissions import Observation, observations_in, observe


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
