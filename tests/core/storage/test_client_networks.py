"""How often somebody may ask: never more than the burst and what has come back, for nobody less than that."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from storage.client_networks import FEWEST, AddressLimiter, GcraLimiter

TIMES = st.lists(st.floats(0, 100, allow_nan=False), min_size=1, max_size=60).map(sorted)


@given(st.floats(0.1, 50), st.integers(1, 40), TIMES)
def test_it_is_a_bucket(rate: float, burst: int, times: list[float]) -> None:
    allowance, left, at_s = GcraLimiter(rate, burst), float(burst), times[0]
    for now_s in times:
        left, at_s = min(burst, left + rate * (now_s - at_s)), now_s
        if abs(left - 1) < 1e-6:  # either is right
            return
        assert allowance.allow("somebody", now_s) == (left >= 1)
        left -= left >= 1


@given(st.integers(1, 30))
def test_nobody_takes_anything_from_another(burst: int) -> None:
    allowance = GcraLimiter(1.0, burst)
    assert [allowance.allow("one", 0.0) for _ in range(burst + 1)] == [True] * burst + [False]
    assert allowance.allow("another", 0.0)


# An address in each network of 56 bits of one of 48, and in each network of 64 bits of one of 56.
SMALL, WIDE = "2001:db8:1:{:x}00::1", "2001:db8:1:{:x}::1"


@given(st.integers(1, 9))
def test_the_networks_of_one_home_or_institution_take_no_more_than_a_few_addresses(burst: int) -> None:
    home, institution = AddressLimiter(0.001, burst), AddressLimiter(0.001, burst)
    assert sum(home.allow(WIDE.format(number % 256), 0.0) for number in range(20 * burst)) == 2 * burst
    assert sum(institution.allow(SMALL.format(number % 256), 0.0) for number in range(20 * burst)) == 4 * burst
    assert institution.allow("2001:db8:2::1", 0.0), "another institution"
    assert institution.allow("192.0.2.1", 0.0)


def test_who_may_take_everything_again_is_forgotten() -> None:
    allowance = GcraLimiter(1.0, 2)
    for number in range(10 * FEWEST):
        assert allowance.allow(str(number), float(number))
    assert len(allowance) <= 2 * FEWEST
    assert allowance.allow("0", 10.0 * FEWEST)
