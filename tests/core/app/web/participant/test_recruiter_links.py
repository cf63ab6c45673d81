"""The links that a study shows for its recruiters are links that it accepts."""

from itertools import chain, combinations
from urllib.parse import parse_qsl, urlsplit

import pytest

from app.studies.link_ids import RECRUITERS, read_ids
from app.web.participant.recruiter_links import IdentityClaim, Proof, recruitment_links, refusal
from experiments.study.resolve import resolve

CHANNELS = ("open", "prolific", "connect", "sona", "panel", "lab")
SOME = list(chain.from_iterable(combinations(CHANNELS, count) for count in range(4)))
# By their labels: what a recruiter fills in, and adds by itself.
FILLED = {"Prolific": {"PROLIFIC_PID": "a1"}, "SONA": {RECRUITERS["sona"].id: "a1"}}
ADDED = {"CloudResearch Connect": {RECRUITERS["connect"].id: "a1"}}


@pytest.mark.parametrize("proof", ["optional", "required"])
def test_every_link_that_is_shown_is_accepted(proof: str) -> None:
    """Prolific signs its links; no other recruiter does."""
    shown = set()
    for channels in SOME:
        recruitment = {"channels": list(channels), "id_proof": proof}
        study = resolve({"study": "s", "title": "S", "recruitment": recruitment, "flow": [{"step": "finish"}]}, {}, {})
        for label, link in recruitment_links(study, "https://lab.example.org"):
            query = dict(parse_qsl(urlsplit(link).query)) | FILLED.get(label, {}) | ADDED.get(label, {})
            read = read_ids(query.items(), study.file.recruitment)
            by: Proof = "prolific token" if label == "Prolific" else "none"
            assert refusal(IdentityClaim(read.person, read.unreadable, by), study.file.recruitment) is None, link
            shown.add(label)
    assert shown == {"Anyone", "Prolific"} | ({"SONA", "CloudResearch Connect"} if proof == "optional" else set())
