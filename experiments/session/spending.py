"""What the replies to a participant have cost, and how many messages that leaves.

A reply's fact says what all its attempts cost, where the study knows the prices. A limit on it is part of the study,
as it bounds what people can do; a budget for all participants is the researcher's (`operations`).
"""

from __future__ import annotations

from experiments.session.state import Place, State


def spent(state: State) -> float:
    """What the replies in a session have cost, as far as that is known."""
    return sum((float(event.data.get("cost", 0.0)) for event in state.events if event.by == "model"), 0.0)


def messages_left(place: Place, of: int) -> int:
    """How many of so many messages can still be sent: none once the participant's `cost_limit` is reached."""
    limit = place.study.file.cost_limit
    return 0 if limit is not None and spent(place.state) >= limit else of
