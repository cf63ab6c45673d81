"""Requests to a recruiter's API about a study (`experiments.session.recruiting`), in the study's own stream."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select

from experiments.errors import NotPossible
from experiments.events import Event
from experiments.money import Money
from experiments.session.recruiting import RecruiterAct, committed_cents, fold_acts
from storage import tables
from storage.db.engine import Database
from storage.registers.study_status import StatusTransaction, decided, study_stream

_event = tables.events.c
KINDS = ("recruiting", "recruited", "asked", "settled")


@dataclass(frozen=True, slots=True)
class RecruiterRequest:
    """What is to be asked: `known` is the number of the last act that whoever decided has seen, 0 if there was none;
    `money` is what it commits, and `limit` what all acts of the study together may."""

    act: str
    who: str
    request: Mapping[str, Any]
    known: int
    money: Money
    limit: Money


def recruiter_acts(database: Database, study: str) -> tuple[RecruiterAct, ...]:
    with database.connect() as connection:
        return acts_in(connection, study)


def begin_act(
    database: Database, study: str, request: RecruiterRequest, at_us: int, audit: Callable[[Connection], None]
) -> int:
    """Record that something is being asked, and `audit` it in the same transaction; the number of the act. Raises
    NotPossible if another act is in progress or came between, or if it would commit more than the limit."""

    def write(transaction: StatusTransaction) -> int:
        acts = acts_in(transaction.connection, study)
        for act in acts:
            if act.in_progress(at_us):
                raise NotPossible(f"{act.who} is asking the recruiter for `{act.act}`. Look again in 3 minutes.")
        if acts and acts[-1].number != request.known:
            raise NotPossible(f"{acts[-1].who} was first, by `{acts[-1].act}`. Look again, and decide again.")
        refuse_beyond(acts, request.money, request.limit)
        data = {"act": request.act, "who": request.who, "request": request.request, "cents": request.money.cents}
        audit(transaction.connection)
        return transaction.add("recruiting", data, by="researcher", at_us=at_us)

    return decided(database, study, write)


def end_act(database: Database, study: str, number: int, answer: Mapping[str, Any], at_us: int) -> None:
    decided(database, study, lambda now: now.add("recruited", {"of": number, **answer}, by="system", at_us=at_us))


def refuse_beyond(acts: Iterable[RecruiterAct], money: Money, limit: Money) -> None:
    """Raise NotPossible if this and what is committed already is more than the limit."""
    committed = Money.of_cents(committed_cents(acts), money.currency)
    if money.cents and limit < committed + money:
        raise NotPossible(
            f"This commits {money}, and {committed} of the limit of {limit} are committed already. Raise "
            "`prolific.spend_limit`, and publish the study."
        )


def acts_in(connection: Connection, study: str) -> tuple[RecruiterAct, ...]:
    wanted = select(*tables.EVENT).where(_event.stream == study_stream(study), _event.kind.in_(KINDS))
    return fold_acts(Event(*row) for row in connection.execute(wanted.order_by(_event.seq)))
