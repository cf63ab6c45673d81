"""The bicycle shop of the sample tasks: its database, and the effects of its service desk's tools.

As in tau-bench, a tool does what it is asked to if that is possible at all: only the model knows the shop's policy
(data/tau2/bicycle-shop/policy.md), and can break it. Nothing here depends on time or chance, so that the same calls
always lead to the same database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from problems.errors import ProblemError

FOLDER = Path(__file__).parent / "data" / "tau2" / "bicycle-shop"


class Impossible(ProblemError):
    """A tool's error: it cannot do what it was asked for; the message is for the model."""


class BicycleShop:
    """A shop in its state before a conversation."""

    def __init__(self) -> None:
        self.database: dict[str, Any] = json.loads((FOLDER / "db.json").read_text(encoding="utf-8"))

    @property
    def tools(self) -> Mapping[str, Callable[..., str]]:
        reads = (self.find_customer, self.get_order, self.search_stock, self.free_days)
        writes = (self.cancel_order, self.return_item, self.exchange_item, self.book_repair, self.cancel_repair)
        return {tool.__name__: tool for tool in (*reads, *writes, self.hand_over)}

    def find_customer(self, email: str) -> str:
        """Find a customer by email address, with their orders and repairs."""
        key = self._customer(email)
        owned = {what: self._owned(what, key) for what in ("orders", "repairs")}
        return _said({**self.database["customers"][key], **owned})

    def get_order(self, order: str) -> str:
        """Get an order by its number: whose it is, its status, its items with their prices."""
        return self._order_said(order)

    def search_stock(self, kind: str) -> str:
        """List the items of a kind that the shop sells, with their prices and how many are left."""
        found = {key: one for key, one in self.database["stock"].items() if one["kind"] == kind}
        return _said({key: f"{one['name']}, {one['price']} euros, {one['left']} left" for key, one in found.items()})

    def free_days(self) -> str:
        """List how many places the workshop has left, by day."""
        return _said(self.database["days"])

    def cancel_order(self, order: str) -> str:
        """Cancel an order and refund all of it."""
        found = self._order(order)
        found.update(status="cancelled", refunded=sum(found["items"].values()))
        return self._order_said(order)

    def return_item(self, order: str, item: str, refund_to: Literal["card", "transfer", "voucher"]) -> str:
        """Take an item of an order back and refund its price."""
        found = self._order(order)
        price = self._take(found, item)
        found["refunded"] += price
        if refund_to == "voucher":
            self.database["customers"][found["customer"]]["vouchers"] += price
        return self._order_said(order, refund=price, refund_to=refund_to)

    def exchange_item(self, order: str, item: str, new_item: str) -> str:
        """Exchange an item of an order for another of the stock. The difference is what the customer pays."""
        found, new = self._order(order), self.database["stock"].get(new_item)
        if new is None or not new["left"]:
            raise Impossible(f"There is no {new_item} left in stock.")
        price = self._take(found, item)
        new["left"] -= 1
        found["items"][new_item] = new["price"]
        return self._order_said(order, difference=new["price"] - price)

    def book_repair(self, customer: str, service: Literal["small", "big"], day: str) -> str:
        """Book a repair for a customer, by their email address, on a day (YYYY-MM-DD)."""
        key = self._customer(customer)
        if not self.database["days"].get(day):
            raise Impossible(f"There is no place left on {day}.")
        self.database["days"][day] -= 1
        repair = f"r{1 + len(self.database['repairs'])}"
        self.database["repairs"][repair] = {"customer": key, "service": service, "day": day}
        return _said({"repair": repair, "customer": customer, "service": service, "day": day})

    def cancel_repair(self, repair: str) -> str:
        """Cancel a booked repair by its key."""
        found = self.database["repairs"].get(repair)
        if found is None or found["service"] == "cancelled":
            raise Impossible(f"There is no repair {repair}.")
        self.database["days"][found["day"]] += 1
        found["service"] = "cancelled"
        return _said({"repair": repair, "service": found["service"], "day": found["day"]})

    def hand_over(self, summary: str) -> str:
        """Hand the customer over to a colleague, with a summary of what they want."""
        return "A colleague will take over."

    def _customer(self, email: str) -> str:
        for key, customer in self.database["customers"].items():
            if customer["email"] == email.strip().lower():
                return str(key)
        raise Impossible(f"There is no customer with the email address {email}.")

    def _owned(self, what: str, customer: str) -> list[str]:
        return [key for key, one in self.database[what].items() if one["customer"] == customer]

    def _order(self, order: str) -> dict[str, Any]:
        found: dict[str, Any] | None = self.database["orders"].get(order)
        if found is None:
            raise Impossible(f"There is no order {order}.")
        return found

    def _order_said(self, order: str, **more: str | int) -> str:
        found = self._order(order)
        customer = self.database["customers"][found["customer"]]["name"]
        return _said({"order": order, **found, "customer": customer, **more})

    def _take(self, order: dict[str, Any], item: str) -> int:
        if item not in order["items"]:
            raise Impossible(f"The order has no {item}; it has {', '.join(order['items'])}.")
        price: int = order["items"].pop(item)
        return price


def _said(value: Mapping[str, Any]) -> str:
    """Lines that a person can read, too: the participant may see them."""
    return "\n".join(f"{name.replace('_', ' ')}: {_listed(one)}" for name, one in value.items()) or "none"


def _listed(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items()) or "none"
    return (", ".join(value) if isinstance(value, list) else str(value)) or "none"
