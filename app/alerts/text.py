"""What the console and the messages say about an alert: what happened, what to do, and where it is shown.

Texts are made of names that researchers chose, numbers, and codes of errors. They have no text that a participant or a
model wrote, no recruiter's ID and no address or key of a model server.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from app.alerts.lifecycle import Notice
from storage.registers.alerts import Alert
from storage.registers.origins import Origin

STATES = {"opened": "Alert", "reminder": "Still", "closed": "Over", "test": "Test"}
"""What a message begins with, by what has become of the alert."""
TABS = dict.fromkeys(("models", "stuck", "budget", "links", "quota"), "monitoring")
"""The tab of the console that shows what an alert is about."""
MOST_SESSIONS = 10


def subject(notice: Notice) -> str:
    """A message's first line."""
    return f"{STATES[notice.state]}: {what_happened(notice.alert)}"


def what_happened(alert: Alert) -> str:
    """The condition, in one line."""
    key, data = alert.key, alert.data
    whose = f" ({key.origin} sessions)" if key.origin and key.origin != Origin.PERSON else ""
    match key.kind:
        case "models":
            calls = f"{data['failed']} of {data['calls']} recent calls"
            return f"{key.study}: {calls} of the model {key.subject} failed{whose}"
        case "stuck":
            return f"{key.study}: {_sessions(data)} inactive for up to {data['longest_s'] / 60:.0f} minutes{whose}"
        case "budget":
            part = f" for {key.subject}" if key.subject else ""
            amounts = f"{data['committed']:,.2f} of {data['budget']:,.2f} {data['currency']}"
            return f"{key.study}: {amounts} of the budget{part} are spent or reserved"
        case "links":
            refused = f"{data['refused']} links to the study were refused"
            without = f"{data['started']} of {data['sessions']} sessions started without the ID of their link"
            return f"{key.study}: {refused}, and {without}"
        case "quota":
            return f"{key.study}: the participant quota is reached"
        case "disk":
            free = f"{data['free'] / 1e9:.1f} of {data['size'] / 1e9:,.0f} GB are free"
            return f"The disk of {key.subject} is nearly full: {free}"
        case "database":
            return "The database cannot be written: participants cannot go on"
        case _:
            return "This is a test of Parley's alerts"


def what_to_do(alert: Alert) -> str:
    """The next step."""
    key, data = alert.key, alert.data
    match key.kind:
        case "models":
            reasons = ", ".join(f"{name} ({number})" for name, number in data["reasons"].items())
            return f"Errors: {reasons}. Details: `parley show calls {key.study} --failed`. Test it: `parley models`."
        case "stuck":
            return "Look at these sessions. Participants who left without ending count too, until their place is freed."
        case "budget":
            spent = "Nobody new can start" if data["committed"] >= data["budget"] else "At 100 % nobody new can start"
            return f"{spent}; sessions in progress continue. Raise it: `parley recruit budget {key.study} AMOUNT`."
        case "links":
            return (
                f"Compare the link at the recruiter with that of `parley recruit links {key.study}`. Reasons: "
                f"Monitoring, or `parley show status {key.study}`."
            )
        case "quota":
            return (
                f"Nobody new can start. Close the study, or raise the quota: `parley recruit quota {key.study} NUMBER`."
            )
        case "disk":
            return "When it is full, nothing can be saved. Delete files or use a larger disk."
        case "database":
            return "See the server's log. Nothing that was saved is lost; participants' pages try again by themselves."
        case _:
            return "There is nothing to do."


def link(alert: Alert, console: str) -> str:
    """Where the console shows it, below the console's address."""
    if alert.key.kind not in TABS:
        return f"{console}/"
    return f"{console}/?{urlencode({'study': alert.key.study, 'tab': TABS[alert.key.kind]})}"


def since(alert: Alert) -> str:
    """When an alert opened."""
    return f"{datetime.fromtimestamp(alert.opened_us / 1e6, UTC):%Y-%m-%d %H:%M} UTC"


def body(notice: Notice, console: str) -> str:
    """A message as plain text."""
    alert = notice.alert
    lines = [subject(notice), f"Since {since(alert)}."]
    if notice.state == "closed":
        lines.append("This no longer holds.")
    else:
        lines.append(what_to_do(alert))
    return "\n".join([*lines, link(alert, console)])


def as_json(notice: Notice, console: str) -> dict[str, Any]:
    """A message as a JSON object; `text` is what chat servers show."""
    alert = notice.alert
    return {"text": body(notice, console), "state": notice.state, "alert": alert_json(alert, console)}


def alert_json(alert: Alert, console: str) -> dict[str, Any]:
    """An alert as a JSON object. Times are ISO 8601 in UTC; null for what has not happened."""
    return {
        "id": alert.id,
        **alert.key._asdict(),
        "what": what_happened(alert),
        "to_do": what_to_do(alert),
        "data": dict(alert.data),
        "opened": _iso(alert.opened_us),
        "last": _iso(alert.last_us),
        "closed": _iso(alert.closed_us),
        "seen_by": alert.seen_by,
        "undelivered": dict(alert.undelivered),
        "link": link(alert, console),
    }


def _sessions(data: Mapping[str, Any]) -> str:
    numbers = ", ".join(map(str, data["sessions"]))
    if len(data["sessions"]) == 1:
        return f"session {numbers} is"
    return f"sessions {numbers}{' and perhaps more' if len(data['sessions']) >= MOST_SESSIONS else ''} are"


def _iso(us: int | None) -> str | None:
    return None if us is None else datetime.fromtimestamp(us / 1e6, UTC).isoformat(timespec="seconds")
