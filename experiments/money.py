"""Money, exactly: Prolific writes rewards in cents and bonuses in currency units, and both are this type here."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from experiments.errors import NotPossible

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Money:
    """An amount in units of a currency, in whole cents; `currency` is its ISO code."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "amount", self.amount.quantize(CENT))

    @classmethod
    def of_cents(cls, cents: int, currency: str) -> Self:
        return cls(Decimal(cents) / 100, currency)

    @property
    def cents(self) -> int:
        return int(self.amount * 100)

    def __add__(self, other: Money) -> Money:
        return Money(self.amount + self._alike(other), self.currency)

    def __lt__(self, other: Money) -> bool:
        return self.amount < self._alike(other)

    def __str__(self) -> str:
        return f"{self.amount:,.2f} {self.currency}"

    def _alike(self, other: Money) -> Decimal:
        if other.currency != self.currency:
            raise NotPossible(f"{self} and {other} are in two currencies, and Parley has no rate of exchange.")
        return other.amount
