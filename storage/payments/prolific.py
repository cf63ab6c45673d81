"""Prolific's lists: submissions to approve, bonuses, and requests to return.

Where Prolific's own export is at hand, it decides who is paid: those whose submission awaits review or was approved.
Without one, those are left out whose places were freed; those who had
returned their submission then are left out in any case.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from storage.payments.payments import Payee
from storage.payments.submissions import OVER, RETURNED
from storage.registers.contacts import PROLIFIC

APPROVED = "APPROVED"
OPEN = ("ACTIVE", "RESERVED")
# All that Prolific says of a submission; of several submissions of a person, the one that is named first here counts.
# Of participants who completed a study and were not rejected.
TAKEN = ("AWAITING REVIEW", "APPROVED")
STATUSES = (*TAKEN, "PARTIALLY APPROVED", "SCREENED OUT", *OPEN, *OVER)
UNKNOWN = "NOCODE: not in Prolific's export"
NO_ID = "an id that Prolific cannot have given"
# What an id is made of: it came in a link, where anybody could write a comma and a sum.
SIGNS = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

Statuses = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ProlificLists:
    """`bonus` has the sessions of each id for which something is due, `left_out` why a complete session is in no list,
    `second` those whose id is paid by another one, `excluded` those not paid, as a researcher excluded them."""

    bonus: Mapping[str, tuple[Payee, ...]]
    approve: tuple[str, ...]
    no_consent: tuple[str, ...]
    screened_out: tuple[str, ...]
    left_out: Mapping[str, str]
    second: tuple[Payee, ...] = ()
    excluded: tuple[Payee, ...] = ()


def statuses(rows: Iterable[tuple[str, str]]) -> Statuses:
    """The status of each id in Prolific's export; of several submissions the one that counts by `STATUSES`."""
    found: dict[str, str] = {}
    for id_, status in rows:
        found[id_] = min(found.get(id_, status), status, key=STATUSES.index)
    return found


def lists(payees: Sequence[Payee], statuses: Statuses | None, *, pay_excluded: bool = False) -> ProlificLists:
    """`statuses` are those of Prolific's export; excluded sessions are in the lists only with `pay_excluded`."""
    on_prolific = [payee for payee in payees if payee.recruiter == PROLIFIC and payee.id]
    reasons = {payee.stream: _why_not(payee, statuses, TAKEN) for payee in on_prolific}
    complete = [payee for payee in on_prolific if payee.outcome == "complete"]
    done = [payee for payee in complete if payee.excluded is None or pay_excluded]
    finished = {payee.id for payee in complete}
    bonus: dict[str, tuple[Payee, ...]] = {}
    for payee in done:
        if payee.due > 0 and not payee.second and not reasons[payee.stream]:
            bonus[payee.id] = (*bonus.get(payee.id, ()), payee)

    def ended(outcome: str) -> tuple[str, ...]:
        asked = (payee for payee in on_prolific if payee.outcome == outcome)
        ids = (payee.id for payee in asked if not _why_not(payee, statuses, (*TAKEN, *OPEN)))
        return _once(id_ for id_ in ids if id_ not in finished)

    fit = (payee.id for payee in done if not reasons[payee.stream])
    return ProlificLists(
        bonus=bonus,
        approve=_once(id_ for id_ in fit if (statuses or {}).get(id_) != APPROVED),
        no_consent=ended("no_consent"),
        screened_out=ended("screened_out"),
        left_out={payee.stream: reasons[payee.stream] for payee in done if reasons[payee.stream]},
        second=tuple(payee for payee in done if payee.second),
        excluded=tuple(payee for payee in complete if payee.excluded is not None and not pay_excluded),
    )


def _once(ids: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ids))


def _why_not(payee: Payee, statuses: Statuses | None, fit: Sequence[str]) -> str:
    """The reason why a participant is in no list of the statuses that `fit`; empty if there is none."""
    if not SIGNS.fullmatch(payee.id):
        return NO_ID
    over = payee.status if payee.status in OVER else ""
    if statuses is None or over == RETURNED:
        return over
    status = statuses.get(payee.id, UNKNOWN)
    return "" if status in fit else status
