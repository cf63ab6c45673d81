"""Proofs of participants: signed links of ours, and Prolific's keys and tokens, as Prolific makes them."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from sqlalchemy import create_engine, select

from app.studies.link_ids import RECRUITERS, SIGNATURE
from app.web.participant.recruiter_links import TOKEN
from storage import tables
from storage.registers.participants import Participants
from tests.fakes import studies
from tests.fakes.served import SECRET, Served

WORKSPACE = "63519c1d5b139662f8cde482"
ISSUER = "https://www.prolific.com"


def study(folder: Path, **keys: Any) -> Path:
    raw: dict[str, Any] = {
        "study": "small",
        "title": "Small",
        "flow": [
            {"step": "consent", "text": "Do you agree?"},
            {"step": "survey", "questions": [{"type": "long_text", "name": "remark", "text": "What do you think?"}]},
            {"step": "survey", "id": "more", "questions": [{"type": "long_text", "name": "more", "text": "And more?"}]},
            {"step": "finish", "code": "DONE"},
        ],
    }
    return studies.write(folder, raw | keys)


def sessions(served: Served) -> list[str]:
    with served.database.connect() as connection:
        return list(connection.execute(select(tables.sessions.c.stream).order_by(tables.sessions.c.ordinal)).scalars())


def signed(study: str, recruiter: str, id_: str, **more: str) -> str:
    """Return the query of a signed link to a study; `more` are other parameters."""
    name = RECRUITERS[recruiter].id if recruiter in RECRUITERS else "pid"
    made = Participants(create_engine("sqlite://"), SECRET).signature(study, recruiter, id_)
    return "?" + "&".join(f"{name}={value}" for name, value in {name: id_, SIGNATURE: made, **more}.items())


class Prolific:
    """Signs tokens, and publishes its keys in a file."""

    def __init__(self, file: Path, address: str) -> None:
        self.file = file
        self._address = address
        self._keys: dict[str, RSAPrivateKey] = {}
        self.rotate("one")

    def rotate(self, kid: str) -> None:
        self._keys[kid] = generate_private_key(65_537, 2_048)
        algorithm = jwt.get_algorithm_by_name("RS256")
        keys = [
            {**algorithm.to_jwk(key.public_key(), as_dict=True), "kid": name, "alg": "RS256", "use": "sig"}
            for name, key in self._keys.items()
        ]
        self.file.write_text(json.dumps({"keys": keys}), encoding="utf-8")

    def token(self, study: str, id_: str, submission: str = "se1", *, kid: str = "", **forged: Any) -> str:
        ids = {"PROLIFIC_PID": id_, "STUDY_ID": "st1", "SESSION_ID": submission, "workspace_id": WORKSPACE}
        now = int(time.time())
        claims = {
            "iss": ISSUER,
            "aud": f"{self._address}/s/{study}?PROLIFIC_PID={id_}&STUDY_ID=st1&SESSION_ID={submission}",
            "sub": submission,
            "iat": now,
            "exp": now + 3600,
            **forged,
            "prolific": ids | forged.get("prolific", {}),
        }
        claims = {name: value for name, value in claims.items() if value is not None}
        kid = kid or list(self._keys)[-1]
        return jwt.encode(claims, self._keys[kid], "RS256", {"kid": kid})

    def link(self, study: str, id_: str, submission: str = "se1", **forged: Any) -> str:
        token = self.token(study, id_, submission, **forged)
        return f"?PROLIFIC_PID={id_}&STUDY_ID=st1&SESSION_ID={submission}&{TOKEN}={token}"
