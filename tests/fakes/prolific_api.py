"""Prolific's API as it is documented (field3.md B4, prolific-oss/cli 4596a2f), on a free port of the loopback.

What the documentation does not say is refused here rather than allowed: a transition from a state that does not
know it, a field that nobody has seen. `reserve`, `join`, `submit`, `give_back` and `time_out` are what
participants do. Events of hooks wait in `outbox` until a test delivers them, as late, as often and in which order it
likes.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from threading import RLock
from typing import Any

import httpx2

from tests.fakes.http_server import Answer, HttpFake, Request, serve

TOKEN = "prolific-token-that-nobody-may-see"
WORKSPACE, PROJECT, OWNER = "63519c1d5b139662f8cde482", "6351a0000000000000000001", "6351b0000000000000000001"
CURRENCY, FEE = "GBP", Decimal("0.33")
EVENTS = (*("submission.status.change", "study.status.change", "study.progress.change", "study.has_high_return_rate"),)
STUDY_FIELDS = {
    *("name", "internal_name", "description", "external_study_url", "prolific_id_option", "completion_codes"),
    *("total_available_places", "estimated_completion_time", "maximum_allowed_time", "reward", "device_compatibility"),
    *("peripheral_requirements", "filters", "filter_set_id", "project", "is_external_study_url_secure"),
}
NEEDED = {
    *("name", "description", "external_study_url", "prolific_id_option", "completion_codes"),
    *("total_available_places", "estimated_completion_time", "reward"),
}
# What can be changed of a published study.
CHANGEABLE = {"total_available_places", "internal_name"}
CODE_TYPES = {
    *("COMPLETED", "FAILED_ATTENTION_CHECK", "FOLLOW_UP_STUDY", "GIVE_BONUS", "INCOMPATIBLE_DEVICE", "NO_CONSENT"),
    *("OTHER", "FIXED_SCREENOUT"),
}
# The keys that each action must have beside `action`.
ACTIONS: Mapping[str, set[str]] = {
    "AUTOMATICALLY_APPROVE": set(),
    "MANUALLY_REVIEW": set(),
    "REQUEST_RETURN": {"return_reason"},
    "ADD_TO_PARTICIPANT_GROUP": {"participant_group"},
    "REMOVE_FROM_PARTICIPANT_GROUP": {"participant_group"},
    "FIXED_SCREEN_OUT_PAYMENT": {"fixed_screen_out_reward", "slots"},
}
TRANSITIONS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "PUBLISH": (("UNPUBLISHED",), "ACTIVE"),
    "PAUSE": (("ACTIVE",), "PAUSED"),
    "START": (("PAUSED",), "ACTIVE"),
    "STOP": (("ACTIVE", "PAUSED"), "AWAITING REVIEW"),
}
CATEGORIES = {
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
}
GIVEN_UP = ("RETURNED", "TIMED-OUT")


class Refused(Exception):
    def __init__(self, status: int, detail: object) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


@dataclass
class Delivery:
    """An event of a hook, as it is posted: the same bytes and headers however often."""

    url: str
    headers: Mapping[str, str]
    body: bytes


class FakeProlific(HttpFake):
    """The state of Prolific; all methods are for tests, and may be called while it serves. `requests` has method, path
    with its query, and body of each request that was carried out or refused."""

    base = "/api/v1/"
    clock_s: Callable[[], float] = staticmethod(time.time)
    available = 1_000_000  # the balance in cents
    tells_cost = True
    publishes_at_once = True  # without it a study stays PUBLISHING until `open_published`
    secret = ""
    page = 20  # the most results of one page

    def __init__(self) -> None:
        super().__init__()
        self.studies: dict[str, dict[str, Any]] = {}
        self.submissions: dict[str, dict[str, Any]] = {}
        self.bonus_runs: dict[str, dict[str, Any]] = {}
        self.messages: list[dict[str, Any]] = []
        self.hooks: dict[str, dict[str, Any]] = {}
        self.outbox: list[Delivery] = []
        self.witness: Callable[[str, bool], None] = lambda _, __: None
        """Called before each request is carried out, with `POST /studies/`, and once more before it is answered, with
        true. If it raises GoneAway, the request goes no further."""
        self.lock, self._count = RLock(), 0

    @property
    def changes(self) -> list[tuple[str, str]]:
        """Method and path of each request that would change something."""
        return [(method, path) for method, path, _ in self.requests if method != "GET"]

    # What participants do

    def join(self, study: str, participant: str = "") -> str:
        """A participant takes a place and begins; the id of the submission."""
        with self.lock:
            id_ = self.reserve(study, participant)
            self._to(self.submissions[id_], "ACTIVE")
            return id_

    def reserve(self, study: str, participant: str = "") -> str:
        """A participant takes a place, and has not begun; the id of the submission."""
        with self.lock:
            found = self.studies[study]
            assert found["status"] == "ACTIVE", f"the study is {found['status']}"
            assert found["places_taken"] < found["total_available_places"], "the study has no free place"
            found["places_taken"] += 1
            id_ = self._id()
            self.submissions[id_] = {
                **{"id": id_, "participant_id": participant or self._id(), "study": study, "status": "RESERVED"},
                **{"started_at": self._now(), "completed_at": None, "study_code": None, "reward": found["reward"]},
                **{"bonus_payments": [], "return_requested": None, "is_complete": False, "time_taken": None},
            }
            self._changed(id_, "RESERVED")
            return id_

    def submit(self, submission: str, code: str) -> None:
        """A participant enters a code; what its actions say happens. A code that is none awaits review."""
        with self.lock:
            found = self.submissions[submission]
            assert found["status"] == "ACTIVE", found["status"]
            found["study_code"], found["completed_at"], found["is_complete"] = code, self._now(), True
            codes = self.studies[found["study"]]["completion_codes"]
            known = [one for one in codes if one["code"] == code]
            self._act(found, known[0]["actions"] if known else [])

    def give_back(self, submission: str) -> None:
        self._leave(submission, "RETURNED")

    def time_out(self, submission: str) -> None:
        self._leave(submission, "TIMED-OUT")

    def _leave(self, submission: str, status: str) -> None:
        with self.lock:
            found = self.submissions[submission]
            assert found["status"] in ("RESERVED", "ACTIVE", "AWAITING REVIEW"), found["status"]
            self._end(found, status)

    def open_published(self, study: str) -> None:
        """Prolific ends the publishing of a study."""
        with self.lock:
            assert self.studies[study]["status"] == "PUBLISHING"
            self._study_to(self.studies[study], "ACTIVE")

    def _end(self, submission: dict[str, Any], status: str) -> None:
        study = self.studies[submission["study"]]
        if status in (*GIVEN_UP, "SCREENED OUT", "REJECTED"):
            study["places_taken"] -= 1
        self._to(submission, status)
        full = study["places_taken"] >= study["total_available_places"]
        if full and study["status"] == "ACTIVE" and not self._of(study["id"], "RESERVED", "ACTIVE"):
            self._study_to(study, "AWAITING REVIEW")

    def _to(self, submission: dict[str, Any], status: str) -> None:
        submission["status"] = status
        self._changed(submission["id"], status)

    def _act(self, submission: dict[str, Any], actions: Sequence[Mapping[str, Any]]) -> None:
        status, study, slots = "AWAITING REVIEW", self.studies[submission["study"]], 0
        for action in actions:
            match action["action"]:
                case "AUTOMATICALLY_APPROVE":
                    status = "APPROVED"
                case "REQUEST_RETURN":
                    submission["return_requested"] = self._now()
                case "FIXED_SCREEN_OUT_PAYMENT":
                    status, submission["reward"] = "SCREENED OUT", action["fixed_screen_out_reward"]
                    slots = action["slots"]
                case _:
                    pass
        self._end(submission, status)
        if slots and len(self._of(study["id"], "SCREENED OUT")) >= slots and study["status"] == "ACTIVE":
            self._study_to(study, "PAUSED")

    def _of(self, study: str, *statuses: str) -> list[dict[str, Any]]:
        return [one for one in self.submissions.values() if one["study"] == study and one["status"] in statuses]

    def _study_to(self, study: dict[str, Any], status: str) -> None:
        study["status"] = status
        self._event("study.status.change", study["id"], status)

    def _changed(self, submission: str, status: str) -> None:
        self._event("submission.status.change", submission, status)

    def _event(self, kind: str, resource: str, status: str) -> None:
        body = {"event_type": kind, "resource_id": resource, "status": status}
        if kind.startswith("submission"):
            found = self.submissions[resource]
            body |= {"participant_id": found["participant_id"]}
        content, stamp = json.dumps(body).encode(), f"{self.clock_s():.3f}"
        signed = base64.b64encode(hmac.digest(self.secret.encode(), stamp.encode() + content, hashlib.sha256)).decode()
        headers = {"content-type": "application/json", "x-prolific-request-timestamp": stamp, "x-timestamp": stamp}
        headers |= {"x-prolific-request-signature": signed, "x-event-id": self._id()}
        hooks = [one for one in self.hooks.values() if one["is_enabled"] and one["event_type"] == kind]
        self.outbox += [Delivery(hook["target_url"], headers, content) for hook in hooks]

    def _id(self) -> str:
        self._count += 1
        return f"{self._count:024x}"

    def _now(self) -> str:
        return datetime.fromtimestamp(self.clock_s(), UTC).isoformat()

    # What researchers ask for

    def answer(self, request: Request) -> Answer:
        self.witness(str(request), False)
        with self.lock:
            self.requests.append((request.method, request.path, request.json))
            answer = self._carried_out(request)
        self.witness(str(request), True)
        return answer

    def refusal(self, status: int, message: object) -> Answer:
        error = {"status": status, "error_code": 140000, "title": "Refused", "detail": message}
        return Answer(status, {"error": {**error, "additional_information": "/help/"}})

    def _carried_out(self, request: Request) -> Answer:
        if request.headers.get("authorization") != f"Token {TOKEN}":
            return self.refusal(401, f"Invalid token {request.headers.get('authorization')}.")
        given = {"query": request.query} if request.method == "GET" else {"body": request.json or {}}
        for pattern, (act, *known) in ROUTES.items():
            if found := re.fullmatch(pattern.replace("*", "([^/]+)"), str(request)):
                try:
                    if unknown := {*(given.get("body") or request.query)} - {*known}:
                        raise Refused(400, {name: ["Unknown field."] for name in unknown})
                    answer = act(self, *found.groups(), **given)
                except Refused as refused:
                    return self.refusal(refused.status, refused.detail)
                return Answer(*answer) if isinstance(answer, tuple) else Answer(200, answer)
        return self.refusal(404, "Not found.")

    def me(self, query: Any) -> Any:
        return {"id": OWNER, "currency_code": CURRENCY, "email": "lab@example.org", "balance": self.available}

    def list_workspaces(self, query: Any) -> Any:
        return self._paged([{"id": WORKSPACE, "title": "Lab"}], "workspaces/", query)

    def balance(self, workspace: str, query: Any) -> Any:
        self._own(workspace)
        return {"currency_code": CURRENCY, "total_balance": self.available, "available_balance": self.available}

    def list_studies(self, *project: str, query: Any) -> Any:
        found = [one for one in self.studies.values() if not project or one["project"] == project[0]]
        # the list is short: no codes, no description
        told = ("id", "name", "internal_name", "status", "total_available_places", "places_taken", "reward", "project")
        at = f"projects/{project[0]}/studies/" if project else "studies/"
        return self._paged([{name: one[name] for name in told} for one in found], at, query)

    def get_study(self, study: str, query: Any = None) -> Any:
        found = self._found(self.studies, study)
        rewards = found["reward"] * found["total_available_places"]
        cost = {"total_cost": float(rewards * (1 + FEE))} if self.tells_cost else {"total_cost": None}
        return {**found, **cost, "presentment_currency_code": CURRENCY, "average_reward_per_hour": 0}

    def create_study(self, body: Any) -> Any:
        wrong = {name: ["This field is required."] for name in NEEDED - body.keys()}
        if wrong or (wrong := self._wrong_study(body)):
            raise Refused(400, wrong)
        empty: dict[str, Any] = {
            "internal_name": "",
            "filters": [],
            "peripheral_requirements": [],
            "maximum_allowed_time": None,
        }
        empty |= {"device_compatibility": ["desktop", "tablet", "mobile"], "filter_set_id": None}
        id_ = self._id()
        self.studies[id_] = {"project": PROJECT, **empty, **body, "id": id_, "status": "UNPUBLISHED", "places_taken": 0}
        return 201, self.get_study(id_)

    def update_study(self, study: str, body: Any) -> Any:
        found = self._found(self.studies, study)
        fixed = {} if found["status"] == "UNPUBLISHED" else {name: ["Read-only."] for name in body.keys() - CHANGEABLE}
        if fixed or (fixed := self._wrong_study({**found, **body})):
            raise Refused(400, fixed)
        places = body.get("total_available_places", found["total_available_places"])
        if found["status"] != "UNPUBLISHED":
            if places < found["total_available_places"]:
                raise Refused(400, {"total_available_places": ["Places can only be increased."]})
            self._reserve((places - found["total_available_places"]) * found["reward"])
        found.update(body)
        if found["status"] == "AWAITING REVIEW" and found["places_taken"] < places:
            self._study_to(found, "ACTIVE")
        return self.get_study(study)

    def move_study(self, study: str, body: Any) -> Any:
        found = self._found(self.studies, study)
        if body.get("action") not in TRANSITIONS:
            raise Refused(400, {"action": [f"{body.get('action')} is not a valid choice."]})
        from_, to = TRANSITIONS[body["action"]]
        if found["status"] not in from_:
            raise Refused(400, f"Cannot {body['action']} a study that is {found['status']}.")
        if body["action"] == "PUBLISH":
            self._reserve(found["reward"] * found["total_available_places"])
            to = to if self.publishes_at_once else "PUBLISHING"
        self._study_to(found, to)
        return self.get_study(study)

    def list_submissions(self, study: str, query: Any) -> Any:
        self._found(self.studies, study)
        found = [one for one in self.submissions.values() if one["study"] == study]
        return self._paged([{**one, "study": None} for one in found], f"studies/{study}/submissions/", query)

    def get_submission(self, submission: str, query: Any = None) -> Any:
        """As a single one: with `participant`, `study_id` and `entered_code`, and null for no bonus."""
        found = dict(self._found(self.submissions, submission))
        found["bonus_payments"] = [float(cents) for cents in found["bonus_payments"]] or None
        names = {"participant_id": "participant", "study": "study_id", "study_code": "entered_code"}
        return {names.get(name, name): value for name, value in found.items()}

    def move_submission(self, submission: str, body: Any) -> Any:
        found = self._found(self.submissions, submission)
        match body.get("action"):
            case "REJECT":
                if len(body.get("message", "")) < 100:
                    raise Refused(400, {"message": ["Ensure this field has at least 100 characters."]})
                if body.get("rejection_category") not in CATEGORIES:
                    raise Refused(400, {"rejection_category": ["Not a valid choice."]})
                self._settle(found, "REJECTED")
            case action:
                raise Refused(400, {"action": [f"{action} is not a valid choice."]})
        return self.get_submission(submission)

    def _settle(self, submission: dict[str, Any], status: str) -> None:
        """Approve or reject what awaits review; the same once more changes nothing."""
        if submission["status"] not in ("AWAITING REVIEW", status):
            raise Refused(400, f"A submission that is {submission['status']} cannot be {status}.")
        if submission["status"] != status:
            self._end(submission, status)

    def approve(self, body: Any) -> Any:
        for id_ in body["submission_ids"]:
            if self._found(self.submissions, id_)["status"] == "AWAITING REVIEW":
                self._settle(self.submissions[id_], "APPROVED")
        return "The request to bulk approve has been made successfully."

    def request_return(self, submission: str, body: Any) -> Any:
        found = self._found(self.submissions, submission)
        if not body.get("request_return_reasons") or found["status"] not in ("ACTIVE", "AWAITING REVIEW"):
            raise Refused(400, f"No return can be requested of a submission that is {found['status']}.")
        found["return_requested"] = found["return_requested"] or self._now()
        return self.get_submission(submission)

    def announce_bonuses(self, body: Any) -> Any:
        study, lines = body.get("study_id", ""), str(body.get("csv_bonuses", "")).split("\n")
        bonuses: dict[str, int] = {}
        for line in filter(None, lines):
            id_, _, amount = line.partition(",")
            theirs = [
                one["id"]
                for one in self.submissions.values()
                if one["study"] == study and id_ in (one["id"], one["participant_id"])
            ]
            if not theirs or not re.fullmatch(r"\d+(\.\d{1,2})?", amount) or Decimal(amount) <= 0:
                raise Refused(400, f"Invalid bonus: {line}")
            bonuses[theirs[-1]] = bonuses.get(theirs[-1], 0) + int(Decimal(amount) * 100)
        if not bonuses:
            raise Refused(400, "No bonuses.")
        id_, amount_ = self._id(), sum(bonuses.values())
        self.bonus_runs[id_] = {"bonuses": bonuses}
        total = amount_ + float(amount_ * FEE)
        return 201, {"id": id_, "study": study, "amount": None, "fees": None, "total_amount": total}

    def pay_bonuses(self, run: str, body: Any) -> Any:
        """As documented, not idempotent: a run that is asked for twice is paid twice."""
        found = self._found(self.bonus_runs, run)
        self._reserve(sum(found["bonuses"].values()))
        for id_, cents in found["bonuses"].items():
            self.submissions[id_]["bonus_payments"].append(cents)
        return 202, None

    def send_messages(self, body: Any) -> Any:
        if not (body.get("ids") and body.get("body") and body.get("study_id") in self.studies):
            raise Refused(400, "A message needs ids, body and study_id.")
        known = {one["participant_id"] for one in self.submissions.values() if one["study"] == body["study_id"]}
        if not known.issuperset(body["ids"]):
            raise Refused(400, "Somebody did not take part in this study.")
        self.messages += [{"to": id_, "body": body["body"], "study": body["study_id"]} for id_ in body["ids"]]
        return 204, None

    def list_secrets(self, query: Any) -> Any:
        self._own(query.get("workspace_id", ""))
        return {"results": [{"id": "1", "value": self.secret, "workspace_id": WORKSPACE}] if self.secret else []}

    def create_secret(self, body: Any) -> Any:
        self._own(body.get("workspace_id", ""))
        self.secret = f"secret-{self._id()}"
        return 201, {"id": self._id(), "value": self.secret, "workspace_id": WORKSPACE}

    def list_hooks(self, query: Any) -> Any:
        self._own(query.get("workspace_id", ""))
        enabled = query.get("is_enabled", "true") == "true"
        found = [one for one in self.hooks.values() if one["is_enabled"] == enabled]
        return self._paged([{**one, "secret": None} for one in found], "hooks/subscriptions/", query)

    def subscribe(self, body: Any) -> Any:
        self._own(body.get("workspace_id", ""))
        if not str(body.get("target_url", "")).startswith(("https://", "http://127.0.0.1")):
            raise Refused(400, {"target_url": ["Enter a valid https address."]})
        if body.get("event_type") not in EVENTS:
            raise Refused(400, {"event_type": ["Not a valid choice."]})
        if not self.secret:
            raise Refused(400, "Create a secret for the workspace first.")
        id_ = self._id()
        self.hooks[id_] = {"id": id_, **body, "is_enabled": False, "secret": f"confirm-{id_}"}
        return 201, {**self.hooks[id_], "secret": None}, {"X-Hook-Secret": f"confirm-{id_}"}

    def confirm(self, hook: str, body: Any) -> Any:
        found = self._found(self.hooks, hook)
        if body.get("secret") != found["secret"]:
            raise Refused(400, {"secret": ["Wrong secret."]})
        found["is_enabled"] = True
        return {**found, "secret": None}

    def _wrong_study(self, body: Mapping[str, Any]) -> dict[str, list[str]]:
        wrong: dict[str, list[str]] = {}
        for name in ("total_available_places", "estimated_completion_time", "reward"):
            if not isinstance(body[name], int) or body[name] < 1:
                wrong[name] = ["A valid integer is required."]
        wrong |= self._wrong_codes(body["completion_codes"], body["reward"])
        if body.get("filters") and body.get("filter_set_id"):
            wrong["filters"] = ["Use filters or filter_set_id."]
        if not {*body.get("device_compatibility", ())} <= {"desktop", "tablet", "mobile"}:
            wrong["device_compatibility"] = ["Not a valid choice."]
        return wrong

    def _wrong_codes(self, codes: Sequence[Any], reward: Any) -> dict[str, list[str]]:
        wrong = [] if codes else ["There must be one."]
        if len({one["code"] for one in codes}) < len(codes):
            wrong.append("Codes must be unique.")
        wrong += [one["code"] for one in codes if one["code_type"] not in CODE_TYPES or not one["actions"]]
        actions = [action for one in codes for action in one["actions"]]
        wrong += [str(one) for one in actions if ACTIONS.get(one["action"]) != one.keys() - {"action"}]
        wrong += [str(one) for one in actions if one.get("fixed_screen_out_reward", 0) >= reward]
        return {"completion_codes": wrong} if wrong else {}

    def _reserve(self, cents: int) -> None:
        due = int(cents * (1 + FEE))
        if due > self.available:
            raise Refused(400, "You do not have sufficient funds.")
        self.available -= due

    def _own(self, workspace: str) -> None:
        if workspace != WORKSPACE:
            raise Refused(403, "You do not have permission to perform this action.")

    def _found(self, known: dict[str, dict[str, Any]], id_: str) -> dict[str, Any]:
        if id_ not in known:
            raise Refused(404, "Not found.")
        return known[id_]

    def _paged(self, found: Sequence[Any], path: str, query: Mapping[str, str]) -> Any:
        limit, offset = min(int(query.get("limit", self.page)), self.page), int(query.get("offset", 0))
        rest = {name: value for name, value in query.items() if name not in ("limit", "offset")}
        more: dict[str, str | int] = {**rest, "limit": limit, "offset": offset + limit}
        following = f"{self.url}/api/v1/{path}?{httpx2.QueryParams(more)}" if offset + limit < len(found) else None
        links = {"self": {"href": f"{self.url}/api/v1/{path}"}, "next": {"href": following}}
        return {"results": found[offset : offset + limit], "_links": links, "meta": {"count": len(found)}}


# What each method and path is answered by, and the keys that its body or query may have.
PAGES = ("limit", "offset")
ROUTES: Mapping[str, Sequence[Any]] = {
    "GET users/me/": (FakeProlific.me,),
    "GET workspaces/": (FakeProlific.list_workspaces, *PAGES),
    "GET workspaces/*/balance/": (FakeProlific.balance,),
    "GET studies/": (FakeProlific.list_studies, *PAGES),
    "GET projects/*/studies/": (FakeProlific.list_studies, *PAGES),
    "POST studies/": (FakeProlific.create_study, *STUDY_FIELDS),
    "GET studies/*/": (FakeProlific.get_study,),
    "PATCH studies/*/": (FakeProlific.update_study, *STUDY_FIELDS),
    "POST studies/*/transition/": (FakeProlific.move_study, "action"),
    "GET studies/*/submissions/": (FakeProlific.list_submissions, *PAGES),
    "POST submissions/bulk-approve/": (FakeProlific.approve, "submission_ids"),
    "POST submissions/bonus-payments/": (FakeProlific.announce_bonuses, "study_id", "csv_bonuses"),
    "GET submissions/*/": (FakeProlific.get_submission,),
    "POST submissions/*/transition/": (FakeProlific.move_submission, "action", "message", "rejection_category"),
    "POST submissions/*/request-return/": (FakeProlific.request_return, "request_return_reasons"),
    "POST bulk-bonus-payments/*/pay/": (FakeProlific.pay_bonuses,),
    "POST messages/bulk/": (FakeProlific.send_messages, "ids", "body", "study_id"),
    "GET hooks/secrets/": (FakeProlific.list_secrets, "workspace_id"),
    "POST hooks/secrets/": (FakeProlific.create_secret, "workspace_id"),
    "GET hooks/subscriptions/": (FakeProlific.list_hooks, *PAGES, "workspace_id", "is_enabled"),
    "POST hooks/subscriptions/": (FakeProlific.subscribe, "event_type", "target_url", "workspace_id"),
    "POST hooks/subscriptions/*/": (FakeProlific.confirm, "secret"),
}


@contextmanager
def prolific_api(**given: Any) -> Iterator[FakeProlific]:
    """Serve until the block ends; `given` are fields of the state."""
    fake = FakeProlific()
    vars(fake).update(given)
    with serve(fake):
        yield fake
