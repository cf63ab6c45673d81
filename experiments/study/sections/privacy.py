"""Facts that data-protection and ethics documents need and no other part of a study states."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from experiments.study.base_model import Slug, StrictModel

Text = Annotated[str, Field(min_length=1)]


class Operator(StrictModel):
    """The operator of a server, and its country."""

    operator: Text | None = None
    """The name of the company or institution that operates it."""
    country: Text | None = None
    """The country in which it processes the data."""
    safeguards: Text | None = None
    """For a country outside the European Economic Area: on what the transfer is based, such as an adequacy decision or
    standard contractual clauses (GDPR, Chapter V)."""
    retention: Text | None = None
    """The time for which it keeps received data, by its contract."""


class Recipient(Operator):
    """A further recipient of data, such as a transcription service or a data archive."""

    name: Text
    """The recipient."""
    receives: Text
    """The data it receives, and why."""


class PrivacyInfo(StrictModel):
    """Facts for the data-protection documents of `parley privacy`. All keys are optional: a missing one is called
    missing in the documents, and never guessed."""

    controller: Text | None = None
    """The controller, with contact details: who decides why and how the data are processed (GDPR Art. 30(1)(a))."""
    representative: Text | None = None
    """The controller's representative in the Union, or a joint controller, with contact details, if there is one."""
    data_protection_officer: Text | None = None
    """The data protection officer, with contact details, if there is one."""
    supervisory_authority: Text | None = None
    """The authority to which participants can complain (GDPR Art. 13(2)(d))."""
    purposes: tuple[Text, ...] = ()
    """The purposes of the processing (GDPR Art. 30(1)(b))."""
    legal_basis: Text | None = None
    """The legal basis, such as consent (GDPR Art. 6(1)(a), and 9(2)(a) for special categories of data)."""
    participants: Text | None = None
    """The people who take part: age, inclusion and exclusion criteria, vulnerable groups."""
    hosting: Operator | None = None
    """The operator of the machine on which Parley and its database run."""
    model_servers: dict[Slug, Operator] = {}
    """The operator of each model server, by the name under which the study refers to it, or of its backend."""
    recipients: tuple[Recipient, ...] = ()
    """Further recipients: the recruiter, model servers, and receivers of alerts are listed without it."""
    security: tuple[Text, ...] = ()
    """Organisational security measures, such as who has access to the console."""
    risks: tuple[Text, ...] = ()
    """Foreseeable risks and discomforts of participants, and what is done about them."""
    benefits: tuple[Text, ...] = ()
    """Expected benefits for participants or others."""
    deception: Text | None = None
    """The facts that participants are not told, or are told wrongly, before the end, and why; `none` if there is no
    deception."""
    debriefing: Text | None = None
    """The debriefing of participants, if not by the last page."""
