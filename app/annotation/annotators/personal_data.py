"""Find personal data in conversations before they are published."""

from __future__ import annotations

from app.annotation.annotators.base import Annotator, of_object, quoted, yes_or_no
from app.annotation.annotators.json_reply import Schema, Values
from app.annotation.annotators.registry import annotator
from storage.reports.conversations import Conversation

KINDS = (
    "name",
    "contact",
    "identification number",
    "location",
    "online identifier",
    "health",
    "money",
    "work or education",
    "family",
    "belief or origin",
    "other",
)
GUIDE = """\
Below is all that a participant of a study wrote to an AI chatbot, with its replies. Does it hold personal data of the \
participant or of another real person who is not a public figure? The General Data Protection Regulation (Article 4) \
defines:

'personal data' means any information relating to an identified or identifiable natural person ('data subject'); an \
identifiable natural person is one who can be identified, directly or indirectly, in particular by reference to an \
identifier such as a name, an identification number, location data, an online identifier or to one or more factors \
specific to the physical, physiological, genetic, mental, economic, cultural or social identity of that natural person.

Persons in the text of a problem are invented and do not count. Do not repeat any personal data in your reply."""


@annotator("personal_data")
class PersonalData(Annotator):
    """Personal data: whether a participant's conversations contain any, by the GDPR's definition, and of what kind.

    The annotation does not repeat the data; read the session to see them.
    """

    whole = True

    def prompt(self, conversation: Conversation) -> str:
        return f"{GUIDE}\n\n{quoted(conversation)}"

    def schema(self, conversation: Conversation) -> Schema:
        listed = {"type": "array", "items": {"type": "string", "enum": list(KINDS)}}
        return of_object(
            personal_data=yes_or_no("Do the conversations hold personal data?"),
            kinds={**listed, "description": "Of which kinds; empty if there is none."},
        )

    def contradiction(self, values: Values) -> str:
        if values["personal_data"] != bool(values["kinds"]):
            return "`personal_data` and the list of `kinds` contradict each other"
        return ""

    def guide(self) -> str:
        return GUIDE
