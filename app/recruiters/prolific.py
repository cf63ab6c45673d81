"""Prolific's API v1: https://docs.prolific.com/api-reference, and github.com/prolific-oss/cli (4596a2f).

Rewards are cents and bonuses currency units. A request that changes something is repeated only where Prolific refused
it unread (429) or no connection came about; if its answer is lost, the error says so (`uncertain`), and the caller
looks before it asks again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Annotated, Any, Literal, Self, TypeVar
from urllib.parse import quote, urlsplit

import httpx2
from pydantic import (
    AfterValidator,
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from app.backends.wire.http_client import connection_to
from app.config.settings import Settings, env_name
from app.errors import RecruiterDenied, RecruiterError, RecruiterRejected, RecruiterUnavailable
from experiments.money import Money
from storage.payments.submissions import plain_status
from storage.registers.contacts import PROLIFIC

TIMEOUT = httpx2.Timeout(20.0, connect=10.0)
ATTEMPTS, FIRST_PAUSE_S, LONGEST_PAUSE_S = 3, 1.0, 60.0
# The most submissions of a request.
MOST_IDS = 200
PAGE, MOST_PAGES, MOST_CHARS = 200, 1_000, 500
# The path to which Prolific posts events, and the kind of them that is kept.
WEBHOOK, STATUS_CHANGE = "/hook/prolific", "submission.status.change"
# The fewest characters of a rejection's message.
SHORTEST_REJECTION = 100
REJECTION_CATEGORIES = (
    *("TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT"),
    *("MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER"),
)
StudyAction = Literal["PUBLISH", "PAUSE", "START", "STOP"]
Found = TypeVar("Found", bound="Answer")


Status = Annotated[str, AfterValidator(plain_status)]


class Answer(BaseModel):
    """A part of an answer of an API. What is not used of it is ignored, and null is as if it were not there."""

    model_config = ConfigDict(frozen=True, extra="ignore", coerce_numbers_to_str=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        return {key: part for key, part in value.items() if part is not None} if isinstance(value, dict) else value


class ProlificAccount(Answer):
    currency_code: str = ""


class Workspace(Answer):
    id: str
    title: str = ""


class Balance(Answer):
    currency_code: str
    available_balance: int

    @property
    def available(self) -> Money:
        return Money.of_cents(self.available_balance, self.currency_code)


class CompletionCode(Answer):
    """A code, and Prolific's action on those who enter it; `fixed_screen_out_reward` of an action is in cents."""

    code: str = ""
    code_type: str
    actions: tuple[Mapping[str, Any], ...] = ()


class StudyDraft(Answer):
    """A study as Prolific is asked to make it; `reward` in cents, times in minutes."""

    name: str
    internal_name: str = ""
    description: str = ""
    external_study_url: str = ""
    is_external_study_url_secure: bool | None = None
    prolific_id_option: str = "url_parameters"
    completion_codes: tuple[CompletionCode, ...] = ()
    total_available_places: int = 0
    estimated_completion_time: int = 0
    maximum_allowed_time: int | None = None
    reward: int = 0
    device_compatibility: tuple[str, ...] = ()
    peripheral_requirements: tuple[Any, ...] = ()
    filters: tuple[Mapping[str, Any], ...] = ()
    filter_set_id: str | None = None
    project: str | None = None


class ProlificStudy(StudyDraft):
    """A study at Prolific. `total_cost`: in cents, with Prolific's fees; None if the API does not give it."""

    id: str
    status: Status
    places_taken: int = 0
    total_cost: float | None = None
    currency: str = Field("", validation_alias=AliasChoices("presentment_currency_code", "currency_code"))


class Submission(Answer):
    """`status` is one of `storage.payments.prolific.STATUSES`."""

    id: str
    status: Status
    bonus_cents: tuple[float, ...] = Field((), validation_alias="bonus_payments")
    """The bonuses that were paid."""


class BonusRun(Answer):
    """Bonuses that were announced and are not paid before `pay_bonuses`; with fees, in the currency's cents."""

    id: str
    total_amount: float


class Page(Answer):
    results: tuple[Mapping[str, Any], ...]
    next: str | None = Field(None, validation_alias=AliasPath("_links", "next", "href"))


class HookSecret(Answer):
    value: str = Field(repr=False)


class Subscription(Answer):
    """To a kind of event; Prolific sends none before it is confirmed."""

    id: str
    event_type: str
    target_url: str
    is_enabled: bool = False


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Compute the `X-Prolific-Request-Signature` of the bytes that came and `X-Prolific-Request-Timestamp`."""
    return base64.b64encode(hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()).decode()


class Prolific:
    """A client; close it after use. `sleep` waits between attempts."""

    def __init__(
        self, url: str, token: str, *, timeout: httpx2.Timeout = TIMEOUT, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self.url, self._token, self._sleep = url.rstrip("/"), token, sleep
        headers = {"authorization": f"Token {token}", "user-agent": "parley"}
        self._client = httpx2.Client(headers=headers, timeout=timeout, **connection_to(url))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def account(self) -> ProlificAccount:
        return self._one(ProlificAccount, "GET", "users/me/")

    def workspaces(self) -> tuple[Workspace, ...]:
        return self._all(Workspace, "workspaces/")

    def balance(self, workspace: str) -> Balance:
        return self._one(Balance, "GET", f"workspaces/{_part(workspace)}/balance/")

    def studies(self, project: str | None = None) -> tuple[ProlificStudy, ...]:
        """All studies, or those of a project; the list may leave out parts of each."""
        return self._all(ProlificStudy, f"projects/{_part(project)}/studies/" if project else "studies/")

    def study(self, study: str) -> ProlificStudy:
        return self._one(ProlificStudy, "GET", f"studies/{_part(study)}/")

    def create_study(self, draft: StudyDraft) -> ProlificStudy:
        return self._one(ProlificStudy, "POST", "studies/", draft.model_dump(exclude_none=True))

    def update_study(self, study: str, changes: Mapping[str, Any]) -> ProlificStudy:
        """Change a draft; of a published study only the places, upwards."""
        return self._one(ProlificStudy, "PATCH", f"studies/{_part(study)}/", changes)

    def transition_study(self, study: str, action: StudyAction) -> ProlificStudy:
        return self._one(ProlificStudy, "POST", f"studies/{_part(study)}/transition/", {"action": action})

    def submissions(self, study: str) -> tuple[Submission, ...]:
        return self._all(Submission, f"studies/{_part(study)}/submissions/", limit=PAGE)

    def submission(self, submission: str) -> Submission:
        return self._one(Submission, "GET", f"submissions/{_part(submission)}/")

    def approve(self, submissions: Collection[str]) -> None:
        self._send("POST", "submissions/bulk-approve/", {"submission_ids": [*dict.fromkeys(submissions)]})

    def reject(self, submission: str, message: str, category: str) -> Submission:
        body = {"action": "REJECT", "message": message, "rejection_category": category}
        return self._one(Submission, "POST", f"submissions/{_part(submission)}/transition/", body)

    def request_return(self, submission: str, reasons: Sequence[str]) -> None:
        body = {"request_return_reasons": list(reasons)}
        self._send("POST", f"submissions/{_part(submission)}/request-return/", body)

    def announce_bonuses(self, study: str, bonuses: Mapping[str, Money]) -> BonusRun:
        lines = "".join(f"{id_},{bonus.amount}\n" for id_, bonus in bonuses.items())
        return self._one(BonusRun, "POST", "submissions/bonus-payments/", {"study_id": study, "csv_bonuses": lines})

    def pay_bonuses(self, run: str) -> None:
        self._send("POST", f"bulk-bonus-payments/{_part(run)}/pay/")

    def send_message(self, participants: Collection[str], body: str, study: str) -> None:
        self._send("POST", "messages/bulk/", {"ids": [*dict.fromkeys(participants)], "body": body, "study_id": study})

    def hook_secrets(self, workspace: str) -> tuple[HookSecret, ...]:
        return self._all(HookSecret, "hooks/secrets/", workspace_id=workspace)

    def create_hook_secret(self, workspace: str) -> HookSecret:
        """The secret that signs a workspace's events from now on; it replaces an earlier one."""
        return self._one(HookSecret, "POST", "hooks/secrets/", {"workspace_id": workspace})

    def subscriptions(self, workspace: str) -> tuple[Subscription, ...]:
        """The enabled ones to changes of submissions."""
        found = self._all(Subscription, "hooks/subscriptions/", workspace_id=workspace, is_enabled="true", limit=PAGE)
        return tuple(one for one in found if one.event_type == STATUS_CHANGE)

    def subscribe(self, event_type: str, target_url: str, workspace: str) -> Subscription:
        body = {"event_type": event_type, "target_url": target_url, "workspace_id": workspace}
        answer = self._send("POST", "hooks/subscriptions/", body)
        made, secret = _read(Subscription, answer), answer.headers.get("x-hook-secret", "")
        return self._one(Subscription, "POST", f"hooks/subscriptions/{_part(made.id)}/", {"secret": secret})

    def _one(self, kind: type[Found], method: str, path: str, body: Mapping[str, Any] | None = None) -> Found:
        return _read(kind, self._send(method, path, body))

    def _all(self, kind: type[Found], path: str, **query: str | int) -> tuple[Found, ...]:
        """All pages of a list. Only path and query of the next page's address are used, as the token goes there."""
        found: list[Found] = []
        following = f"{path}?{httpx2.QueryParams(query)}" if query else path
        for _ in range(MOST_PAGES):
            answer = self._send("GET", following)
            page = _read(Page, answer)
            found += (_read(kind, answer, one) for one in page.results)
            if not page.next or not page.results:
                break
            parts = urlsplit(page.next)
            following = f"{parts.path.removeprefix('/api/v1/')}?{parts.query}"
        return tuple(found)

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx2.Response:
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._send_once(method, path, body)
            except RecruiterUnavailable as error:
                pause = error.retry_after_s or FIRST_PAUSE_S * 2 ** (attempt - 1)
                if error.uncertain or attempt == ATTEMPTS or pause > LONGEST_PAUSE_S:
                    raise
                self._sleep(pause)
        raise AssertionError  # the last attempt returns or raises

    def _send_once(self, method: str, path: str, body: Mapping[str, Any] | None) -> httpx2.Response:
        try:
            answer = self._client.request(method, f"{self.url}/api/v1/{path}", json=body)
        except (httpx2.HTTPError, OSError) as error:
            sent = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.ProxyError)
            what = f"Prolific did not answer {method} {path} ({type(error).__name__}). Try again."
            raise RecruiterUnavailable(what, uncertain=sent and method != "GET") from None
        if not answer.is_success:
            raise self._refusal(answer, f"Prolific answered {answer.status_code} to {method} {path}")
        return answer

    def _refusal(self, answer: httpx2.Response, what: str) -> RecruiterError:
        what = f"{what}: {_detail(answer)}".replace(self._token, "********")
        status = answer.status_code
        if status == httpx2.codes.TOO_MANY_REQUESTS:
            seconds = answer.headers.get("retry-after", "").strip()
            return RecruiterUnavailable(what, retry_after_s=float(seconds) if seconds.isdecimal() else None)
        if httpx2.codes.is_server_error(status):
            return RecruiterUnavailable(what, uncertain=answer.request.method != "GET")
        if status in (httpx2.codes.UNAUTHORIZED, httpx2.codes.FORBIDDEN):
            where = f"{env_name('prolific_token')}, or Model servers in the console"
            return RecruiterDenied(f"{what}. Check the token ({where}), and what its account may do.")
        return RecruiterRejected(what, status=status)


def _read(kind: type[Found], answer: httpx2.Response, part: Mapping[str, Any] | None = None) -> Found:
    """A whole answer, or a part of it, as a value; an error does not quote it."""
    try:
        return kind.model_validate_json(answer.content) if part is None else kind.model_validate(part)
    except ValidationError as error:
        request, first = answer.request, error.errors(include_input=False)[0]
        wrong = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        what = f"Prolific's answer to {request.method} {request.url.path} cannot be read ({wrong})."
        raise RecruiterUnavailable(what, uncertain=request.method != "GET") from None


def _detail(answer: httpx2.Response) -> str:
    """The text of an error: `{"error": {"detail": ...}}`, `{"message": ..., "detail": ...}`, or something else."""
    try:
        found = answer.json()
    except ValueError:
        found = answer.text
    error = found.get("error", found) if isinstance(found, dict) else found
    if isinstance(error, dict):
        error = error.get("detail") or error.get("message") or error.get("title") or error
    return " ".join(str(error).split())[:MOST_CHARS]


def _part(id_: str) -> str:
    return quote(id_, safe="")


def access_of(settings: Settings) -> tuple[str, str] | None:
    """Prolific's address and the token of the settings, or else the one that an owner entered in the console."""
    if settings.prolific_token is not None:
        return settings.prolific_url, settings.prolific_token.get_secret_value()
    saved = settings.find_server(PROLIFIC)
    return None if saved is None or saved.key is None else (saved.url, saved.key.get_secret_value())


def prolific_client(settings: Settings, sleep: Callable[[float], None] = time.sleep) -> Prolific:
    """Raises RecruiterDenied without a token."""
    access = access_of(settings)
    if access is None:
        variable = env_name("prolific_token")
        raise RecruiterDenied(
            f"There is no token of Prolific. Set {variable}, or enter it in the console, under Model servers."
        )
    return Prolific(*access, sleep=sleep)


def workspaces_of(settings: Settings, client: Prolific) -> tuple[str, ...]:
    """The workspaces of the settings, or else all of the account."""
    named = tuple(filter(None, map(str.strip, settings.prolific_workspaces.split(","))))
    return named or tuple(one.id for one in client.workspaces())


def hook_secrets(settings: Settings) -> frozenset[str]:
    """The secrets by which Prolific signs requests to webhooks. Raises RecruiterError."""
    with prolific_client(settings) as client:
        found = [client.hook_secrets(workspace) for workspace in workspaces_of(settings, client)]
    return frozenset(one.value for some in found for one in some if one.value)
