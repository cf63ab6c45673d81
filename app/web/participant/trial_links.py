"""Links with which a study is tried without a recruiter: for a preview of one's own, and for a pilot with others.

Such a link is signed. Whoever has it can start sessions without an id, also while the study is paused or closed; all of
them are pilot sessions. A preview starts a new session each time; a pilot link leads back to the browser's session.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from itsdangerous import BadSignature, URLSafeTimedSerializer

Trial = Literal["preview", "pilot"]
DAY_S = 24 * 3600
LASTS_S: Mapping[Trial, int] = {"preview": DAY_S, "pilot": 30 * DAY_S}
LABELS: Mapping[Trial, str] = {
    "preview": "Preview, for you (1 day; starts anew each time)",
    "pilot": "Pilot, for colleagues (30 days)",
}


PARAMETERS: Mapping[Trial, str] = {"preview": "parley_preview", "pilot": "parley_pilot"}
"""The parameter of each link; a panel may call its own `pilot`."""


class TrialLinks:
    """Makes and reads these links with the deployment's secret. None is stored."""

    def __init__(self, secret: str) -> None:
        self._signers = {trial: URLSafeTimedSerializer(secret, salt=f"parley {trial} link") for trial in LASTS_S}

    def links(self, study: str, address: str) -> list[tuple[str, str]]:
        """The links of a study on a server, each with its label."""
        return [(LABELS[trial], self.link(trial, study, address)) for trial in LASTS_S]

    def link(self, trial: Trial, study: str, address: str) -> str:
        """A link that is valid from now on."""
        return f"{address}/s/{study}?{PARAMETERS[trial]}={self._signers[trial].dumps(study)}"

    def read(self, query: Mapping[str, str], study: str) -> tuple[Trial | None, bool]:
        """What a link to a study is for; and whether it has a token that is expired, of another study or forged."""
        for trial, signer in self._signers.items():
            if (token := query.get(PARAMETERS[trial])) is not None:
                try:
                    valid = signer.loads(token, max_age=LASTS_S[trial]) == study
                except BadSignature:
                    valid = False
                return (trial, False) if valid else (None, True)
        return None, False
