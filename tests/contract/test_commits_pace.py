"""The writer waits for more the longer, the fuller the processor is that this process has."""

from hypothesis import given
from hypothesis import strategies as st

from storage.pace import EACH_S, FREE, LEAST_S, MOST_S, Pace

SHARES = st.floats(0, 4)
SECONDS = st.floats(2 * EACH_S, 60)


class Machine:
    """A clock, and what this process has used of the processor."""

    def __init__(self) -> None:
        self.now_s, self.used_s = 100.0, 7.0
        self.pace = Pace(lambda: self.now_s, lambda: self.used_s)

    def passes(self, seconds: float, share: float) -> None:
        """So long this share of a core is used."""
        self.now_s += seconds
        self.used_s += seconds * share


@given(SECONDS, SHARES)
def test_it_is_between_the_least_and_the_most(seconds: float, share: float) -> None:
    machine = Machine()
    assert machine.pace.wait_s() == LEAST_S, "who is the first waits for nobody"
    machine.passes(seconds, share)
    assert LEAST_S <= machine.pace.wait_s() <= MOST_S


@given(SECONDS, SHARES, SHARES)
def test_the_fuller_the_longer(seconds: float, one: float, other: float) -> None:
    waits = []
    for share in sorted((one, other)):
        machine = Machine()
        machine.passes(seconds, share)
        waits.append(machine.pace.wait_s())
    assert waits == sorted(waits)


def test_it_is_the_least_while_there_is_time_to_spare_and_the_most_in_a_full_core() -> None:
    machine = Machine()
    for share, wait_s in ((FREE, LEAST_S), (1.0, MOST_S), (3.5, MOST_S), (0.0, LEAST_S)):
        machine.passes(10, share)
        assert abs(machine.pace.wait_s() - wait_s) < 1e-9, "what was before is forgotten"


def test_it_is_not_looked_at_for_each_piece() -> None:
    machine = Machine()
    machine.passes(EACH_S / 2, 1.0)
    assert machine.pace.wait_s() == LEAST_S
    machine.passes(EACH_S / 2, 1.0)
    assert machine.pace.wait_s() > LEAST_S
