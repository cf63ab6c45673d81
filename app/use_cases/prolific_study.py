"""A study at Prolific: its draft from the study file, compared with what is there, and what a person decides of it.

Each request is an event before it is sent and after its answer, so that one whose answer was lost is looked up before
anything is asked again: there are never two studies, and nothing is published twice. Money is committed in the
transaction of the event, below the study's limit.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import ceil
from typing import Any, Literal, cast

from app.clock import Clock
from app.config.settings import Settings, env_name
from app.errors import RecruiterError, RecruiterRejected
from app.recruiters.prolific import (
    STATUS_CHANGE,
    WEBHOOK,
    CompletionCode,
    Prolific,
    ProlificStudy,
    StudyAction,
    StudyDraft,
    prolific_client,
    workspaces_of,
)
from app.studies.link_ids import PLACEHOLDERS
from experiments.errors import NotPossible
from experiments.money import Money
from experiments.study.checks.lint import possible_codes
from experiments.study.sections.prolific import CODES, ProlificRecruitment
from experiments.study.study import Study
from storage.accounts.audit_log import AuditLog
from storage.db.engine import Database
from storage.log.seats import query_params
from storage.payments.recruiter_acts import (
    Act,
    ActEvent,
    Result,
    acts,
    add_acts,
    committed_cents,
    recruited_studies,
    settle,
)
from storage.registers.contacts import PROLIFIC
from storage.registers.origins import Origin
from storage.registers.study_status import operations_of
from storage.reports.monitoring.sessions import median_minutes

ProlificAct = Literal["show", "draft", "publish", "pause", "start", "stop", "places"]
SPENDING: tuple[ProlificAct, ...] = ("publish", "places")
# An act, and what is sent for it.
Asked = tuple[str, Mapping[str, Any]]
# What an action makes of a study that is in one of the states; a person's word for it has small letters.
MOVES: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "PUBLISH": (("UNPUBLISHED",), ("PUBLISHING", "SCHEDULED", "ACTIVE")),
    "PAUSE": (("ACTIVE",), ("PAUSED",)),
    "START": (("PAUSED",), ("ACTIVE",)),
    "STOP": (("ACTIVE", "PAUSED"), ("AWAITING REVIEW", "COMPLETED")),
}
NOT_FOUND, PLACES = 404, "total_available_places"
UNITS = {
    "reward": "cents",
    "completion_codes": "rewards in cents",
    "estimated_completion_time": "minutes",
    "maximum_allowed_time": "minutes",
}
RETURN_REASONS: Mapping[str, str] = {
    "no_consent": "You did not agree to take part.",
    "screened_out": "You are not eligible for this study.",
    "withdrawn": "You withdrew from the study.",
}


def subscribe_webhook(settings: Settings) -> str:
    """Have Prolific send changes of submissions to this server; the address. Raises RecruiterError."""
    address = f"{settings.address}{WEBHOOK}"
    with prolific_client(settings) as client:
        for workspace in workspaces_of(settings, client):
            if not client.hook_secrets(workspace):
                client.create_hook_secret(workspace)
            if all(one.target_url != address for one in client.subscriptions(workspace)):
                client.subscribe(STATUS_CHANGE, address, workspace)
    return address


@dataclass(frozen=True, slots=True)
class Change:
    """A field of the study at Prolific: its value there, None without a study, and the one it would have."""

    field: str
    now: Any
    wanted: Any

    @property
    def as_text(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        unit = f" ({UNITS[self.field]})" if self.field in UNITS else ""
        return f"{self.field.replace('_', ' ')}{unit}", _lines(self.now), _lines(self.wanted)


@dataclass(frozen=True, slots=True)
class ProlificView:
    """A study's draft, the study at Prolific, and the money. `due` is what publishing, or more places, commits now;
    `measured` says that the minutes are the median of complete sessions; `fee_percent` is the study's."""

    draft: StudyDraft
    there: ProlificStudy | None
    currency: str
    measured: bool
    due: Money
    committed: Money
    limit: Money
    fee_percent: Decimal | None
    acts: tuple[Act, ...]
    lacks: tuple[str, ...] = ()
    """The parts that the study needs before its draft can be saved."""

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(_changes(self.draft, self.there))

    @property
    def reward(self) -> Money:
        return Money.of_cents(self.draft.reward, self.currency)

    @property
    def hourly(self) -> Money:
        return Money(self.reward.amount * 60 / self.draft.estimated_completion_time, self.currency)

    @property
    def with_fees(self) -> Money | None:
        """The most that what is due can cost, by Prolific's cost or `fee_percent`; None if neither is known."""
        there = self.there
        rewards = there.reward * there.total_available_places if there else 0
        told = Decimal(there.total_cost or 0) / rewards if there and rewards else Decimal(1)
        share = max(told, 1 + (self.fee_percent or 0) / Decimal(100))
        return Money.of_cents(ceil(self.due.cents * share), self.currency) if share > 1 else None

    @property
    def status(self) -> str:
        return self.there.status if self.there else "nothing"

    @property
    def money(self) -> tuple[str, ...]:
        """Facts to know before money is spent, a sentence each."""
        minutes, told = self.draft.estimated_completion_time, "the median of sessions" if self.measured else "expected"
        known = self.with_fees
        fees = f"{known} with Prolific's fees" if known else "Prolific's fees come on top, and are not known yet"
        due = [f"To be spent now: {self.due} in rewards and screen-outs ({fees})."] if self.due.cents else []
        return (
            f"Reward: {self.reward} for {minutes} minutes ({told}), which is {self.hourly} an hour.",
            *due,
            f"Committed so far: {self.committed}; the limit is {self.limit}.",
        )

    @property
    def can_add_places(self) -> bool:
        there = self.there
        return bool(
            there and there.status != "UNPUBLISHED" and self.draft.total_available_places > there.total_available_places
        )


@dataclass(frozen=True, slots=True)
class StudyAtProlific:
    """`who` decides. All methods raise RecruiterError and NotPossible. A `client` of None finds nothing there."""

    client: Prolific | None
    database: Database
    settings: Settings
    study: Study
    clock: Clock
    who: str

    def look(self) -> ProlificView:
        """Compare. Nothing is changed, at Prolific or here."""
        section, known = self._section(), tuple(acts(self.database, self.study.name).values())
        measured = self._measured_minutes()
        draft = draft_of(self.study, section, self.settings.address, self._places(), measured or section.minutes)
        there = self._there(known) if self.client else None
        here = self.study.file.currency
        currency = (there and there.currency) or (self.client.account().currency_code if self.client else here)
        limit = min(section.spend_limit, self.settings.prolific_spend_limit or section.spend_limit)
        return ProlificView(
            draft=draft,
            there=there,
            currency=currency,
            measured=measured is not None,
            due=self._due(draft, there, currency),
            committed=Money.of_cents(committed_cents(known), currency),
            limit=Money(limit, currency),
            fee_percent=section.fee_percent,
            acts=tuple(act for act in known if not act.sessions),
            lacks=tuple(_lacks(self.study, self.settings.address, draft.total_available_places)),
        )

    def act(self, word: ProlificAct, said: str = "") -> ProlificView:
        """Carry out what a person decided, unless it is so already; `said` is the sum that they typed for it."""
        if word == "show":
            return self.look()
        view = self._settled()
        match word:
            case "draft":
                asked = self._draft(view)
            case "places":
                asked = ("places", {PLACES: view.draft.total_available_places}) if view.can_add_places else None
            case _:
                asked = self._move(view, word)
        if asked is None:
            return view
        return self._ask(view, *asked, _agreed(view, said) if word in SPENDING else Money.of_cents(0, view.currency))

    def _draft(self, view: ProlificView) -> Asked | None:
        """The draft created, or what differs in it changed."""
        if view.lacks:
            raise NotPossible(f"{self.study.name} cannot be recruited at Prolific yet", *view.lacks)
        if view.there is None:
            return "create", view.draft.model_dump(mode="json")
        if view.status != "UNPUBLISHED":
            raise NotPossible(f"The study is {view.status} at Prolific, where a published study cannot be changed.")
        return ("update", {one.field: one.wanted for one in view.changes}) if view.changes else None

    def _move(self, view: ProlificView, word: str) -> Asked | None:
        there, name, action = view.there, self.study.name, word.upper()
        before, after = MOVES[action]
        if word == "publish" and (why := operations_of(self.database, name).closed_reason):
            raise NotPossible(f"{name} lets nobody start here ({why}). First: parley recruit open {name}")
        if word == "publish" and (there is None or (there.status in before and (view.changes or view.lacks))):
            raise NotPossible("The draft at Prolific is not as the study has it. Save the draft first, and look at it.")
        if there is not None and there.status in after:
            return None
        if there is None or there.status not in before:
            state = there.status if there else "not there"
            raise NotPossible(f"The study is {state} at Prolific; {action} needs one that is {' or '.join(before)}.")
        return action, {"study": there.id}

    def _send(self, view: ProlificView, act: str, request: Mapping[str, Any]) -> ProlificStudy:
        assert self.client is not None  # noqa: S101
        if view.there is None:
            return self.client.create_study(view.draft)
        if act in ("update", "places"):
            return self.client.update_study(view.there.id, request)
        return self.client.transition_study(view.there.id, cast(StudyAction, act))

    def _ask(self, view: ProlificView, act: str, request: Mapping[str, Any], money: Money) -> ProlificView:
        """Ask between two events. What may have been carried out although its answer was lost is left open."""
        id_ = f"{act}-{secrets.token_hex(8)}"
        wanted = {"what": act, "who": self.who, "hash": self.study.hash, "cents": money.cents, "request": dict(request)}
        name, audit, now_us = self.study.name, AuditLog(self.database, self.clock.now_us), self.clock.now_us()
        done = (self.who, f"asked Prolific for {act}", f"{name}, {money}")

        def fits(known: Collection[Act]) -> bool:
            found = tuple(one for one in known if not one.sessions)
            for one in found:
                if one.in_progress(now_us):
                    raise NotPossible(f"{one.who} is asking the recruiter for `{one.what}`. Look again in 3 minutes.")
            if found != view.acts:
                raise NotPossible(f"{found[-1].who} was first, by `{found[-1].what}`. Look again, and decide again.")
            return True

        asked = ActEvent("asked", {"act": id_, **wanted}, now_us, "researcher")
        events = [asked, ActEvent("sent", {"act": id_, "attempt": 1}, now_us)]
        add_acts(self.database, name, events, fits, view.limit, lambda connection: audit.forward(connection, *done))
        try:
            study = self._send(view, act, request)
        except RecruiterError as error:
            self._end(id_, "lost" if error.uncertain else "refused", str(error))
            raise
        self._end(id_, "done", study=study.id, status=study.status)
        return self.look()

    def _settled(self) -> ProlificView:
        """Compare, and record of requests whose answers were lost whether they were carried out."""
        view = self.look()
        left = [act for act in view.acts if act.is_open and not act.in_progress(self.clock.now_us())]
        for act in left:
            there = view.there
            if there is not None and _carried_out(act, there):
                self._end(act.id, "done", study=there.id, status=there.status)
            else:
                self._end(act.id, "refused", "not carried out")
        return self.look() if left else view

    def _end(self, act: str, result: Result, detail: str = "", **answer: str) -> None:
        settle(self.database, self.study.name, (act, 1), result, detail, self.clock.now_us(), answer)

    def _there(self, acts: tuple[Act, ...]) -> ProlificStudy | None:
        """The study that was made last, unless it is over and of another version; else one of our internal name."""
        assert self.client is not None  # noqa: S101
        for id_ in recruited_studies(acts)[:1]:
            try:
                found = self.client.study(id_)
            except RecruiterRejected as error:
                if error.status != NOT_FOUND:
                    raise
            else:
                if found.status != "COMPLETED" or found.internal_name == internal_name(self.study):
                    return found
        known = self.client.studies(self._section().project or None)
        ours = (one.id for one in known if one.internal_name == internal_name(self.study))
        return next(map(self.client.study, ours), None)

    def _due(self, draft: StudyDraft, there: ProlificStudy | None, currency: str) -> Money:
        new = draft.total_available_places
        if there is not None and there.status != "UNPUBLISHED":
            return Money.of_cents(there.reward * max(new - there.total_available_places, 0), currency)
        out = self._section().screen_out
        screened = Money(out.reward * out.places if out else Decimal(0), currency)
        return Money.of_cents(draft.reward * new, currency) + screened

    def _section(self) -> ProlificRecruitment:
        if self.study.file.prolific is None:
            raise NotPossible(f"{self.study.name} has no section `prolific`. Add it, and publish the study.")
        return self.study.file.prolific

    def _places(self) -> int:
        """The quota of all participants, or the sum of those of cells by the same factors; 0 without."""
        quotas = operations_of(self.database, self.study.name).quotas_of(self.study.file.quotas)
        whole = [quota.max for quota in quotas if not quota.where]
        cells = [quota for quota in quotas if quota.where]
        same = len({frozenset(quota.where) for quota in cells}) == 1
        return whole[0] if whole else sum(quota.max for quota in cells) if same else 0

    def _measured_minutes(self) -> int | None:
        with self.database.connect() as connection:
            for origin in (Origin.PERSON, Origin.PILOT):
                known = query_params(self.study.name, origin, self.clock.now_us(), 0)
                if (minutes := median_minutes(connection, known)) is not None:
                    return max(ceil(minutes), 1)
        return None


def internal_name(study: Study) -> str:
    """By which a draft is found again whose creation was not answered."""
    return f"{study.name} {study.hash[:16]}"


def draft_of(study: Study, section: ProlificRecruitment, address: str, places: int, minutes: int) -> StudyDraft:
    codes = [(outcome, code) for outcome, found in possible_codes(study).items() for code in found if code]
    return StudyDraft(
        name=study.file.title,
        internal_name=internal_name(study),
        description=section.description,
        external_study_url=f"{address}/s/{study.name}{PLACEHOLDERS[PROLIFIC][1]}",
        is_external_study_url_secure=study.file.recruitment.id_proof == "required" or None,
        completion_codes=tuple(_code(section, *one) for one in sorted(codes)),
        total_available_places=places,
        estimated_completion_time=minutes,
        maximum_allowed_time=section.max_minutes,
        reward=int(section.reward * 100),
        device_compatibility=section.devices,
        peripheral_requirements=section.peripherals,
        filters=section.filters,
        filter_set_id=section.filter_set or None,
        project=section.project or None,
    )


def _lacks(study: Study, address: str, places: int) -> Iterator[str]:
    for outcome, codes in sorted(possible_codes(study).items()):
        if "" in codes:
            yield f"outcomes.{outcome}: has no code"
    if PROLIFIC not in study.file.recruitment.channels:
        yield "recruitment.channels: has no `prolific`"
    if not address.startswith("https://"):
        yield f"{env_name('public_url')}: participants need an https address, and it is {address}"
    if not places:
        yield f"quotas: there is none, which is the number of places: `parley recruit quota {study.name} N`"


def _code(section: ProlificRecruitment, outcome: Any, code: str) -> CompletionCode:
    kind, action = CODES[outcome][0], section.action(outcome)
    if kind == "FIXED_SCREENOUT" and action != "screen_out":
        kind = "OTHER"
    out, acts = section.screen_out, list[Mapping[str, Any]]()
    if action == "screen_out" and out is not None:
        cents = int(out.reward * 100)
        acts.append({"action": "FIXED_SCREEN_OUT_PAYMENT", "fixed_screen_out_reward": cents, "slots": out.places})
    elif action == "return":
        acts.append({"action": "REQUEST_RETURN", "return_reason": RETURN_REASONS.get(outcome, "It ended early.")})
    else:
        acts.append({"action": "AUTOMATICALLY_APPROVE" if action == "approve" else "MANUALLY_REVIEW"})
    if outcome == "complete" and section.add_to_group:
        acts.append({"action": "ADD_TO_PARTICIPANT_GROUP", "participant_group": section.add_to_group})
    return CompletionCode(code=code, code_type=kind, actions=tuple(acts))


def _changes(draft: StudyDraft, there: ProlificStudy | None) -> Iterator[Change]:
    """The differences in all that the draft sets, but for the internal name, which stays as it was made."""
    now = there.model_dump(mode="json") if there else {}
    for field, wanted in draft.model_dump(mode="json", exclude_none=True).items():
        kept = field == "internal_name" if there else wanted == []
        if not kept and not _is_in(wanted, now.get(field)):
            yield Change(field, now.get(field), wanted)


def _is_in(wanted: Any, now: Any) -> bool:
    """Return True if the value is there: lists can be in any order, and parts may have more keys."""
    if isinstance(wanted, Mapping) and isinstance(now, Mapping):
        return all(_is_in(part, now.get(name)) for name, part in wanted.items())
    if isinstance(wanted, list) and isinstance(now, list):
        return len(wanted) == len(now) and all(any(_is_in(part, one) for one in now) for part in wanted)
    return bool(wanted == now)


def _lines(value: Any) -> tuple[str, ...]:
    parts = value if isinstance(value, list) else [] if value is None else [value]
    return tuple(", ".join(_words(part)) for part in parts)


def _words(value: Any) -> Iterator[str]:
    """The values in a value of Prolific's, such as `DONE1, COMPLETED, MANUALLY_REVIEW`; numbers with their names."""
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from [f"{name.replace('_', ' ')} {part}"] if isinstance(part, int) else _words(part)
    elif isinstance(value, list):
        for part in value:
            yield from _words(part)
    else:
        yield str(value)


def _agreed(view: ProlificView, said: str) -> Money:
    if said.strip() != str(view.due.amount):
        typed = f"{said!r} was typed" if said else "nothing was typed"
        raise NotPossible(f"This spends {view.due}, and {typed}. Type {view.due.amount} to agree.")
    if view.with_fees is None:
        raise NotPossible(
            f"Prolific does not tell what the study costs with its fees, so that the limit of {view.limit} cannot be "
            "kept. Add `prolific.fee_percent`, the most that fees and tax add to rewards, and publish the study here."
        )
    return view.with_fees


def _carried_out(act: Act, there: ProlificStudy) -> bool:
    if act.what in MOVES:
        return there.status in MOVES[act.what][1]
    wanted = act.data["request"].get(PLACES, 0)
    return act.what == "create" or (act.what == "places" and there.total_available_places >= wanted)
