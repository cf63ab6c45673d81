"""The data-protection document says what the study and the settings say, and calls the rest not stated."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import SecretStr

from app.config.settings import Settings
from app.extensions.publishing.document import HERE, data_protection_document
from experiments.study.resolve import resolve
from experiments.study.study import Study

OPERATOR = {"operator": "Zq Operator", "country": "Zq Country", "safeguards": "Zq Safeguards"}
PRIVACY: dict[str, Any] = {
    "controller": "zq1", "representative": "zq2", "data_protection_officer": "zq3", "supervisory_authority": "zq4",
    "purposes": ["zq5"], "legal_basis": "zq6", "participants": "zq7", "hosting": OPERATOR, "security": ["zq8"],
    "risks": ["zq9"], "benefits": ["zq10"], "deception": "zq11", "debriefing": "zq12",
    "model_servers": {"lab": OPERATOR | {"retention": "zq13"}},
    "recipients": [{"name": name, "receives": "zq14", **OPERATOR} for name in ("prolific", "archive")],
}  # fmt: skip


def study_of(privacy: dict[str, Any] | None = None, **keys: Any) -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "models": {"tutor": {"backend": "openai", "server": "lab", "system": "Be kind to {{arm}}."}},
        "factors": {"arm": ["near", "far"]},
        "recruitment": {"channels": ["prolific"]},
        "annotators": {"tone": {"model": "anthropic:big", "prompt": "How warm is it? {{transcript}}"}},
        "flow": [
            {"step": "consent", "text": "Please | agree."},
            {"step": "compare", "models": ["tutor", "tutor"], "when": {"arm": "far"}},
            {"step": "finish"},
        ],
        **keys,
    }
    return resolve(raw | ({"privacy": privacy} if privacy else {}), {}, {})


def document(study: Study, **settings: Any) -> str:
    return data_protection_document(
        study, Settings(_env_file=None, **settings), minutes=7.2, made_us=1_790_000_000_000_000
    )


def test_a_model_on_this_computer_is_said_to_be_here() -> None:
    models = {"tutor": {"backend": "llama", "model": "smollm2"}}
    assert HERE in document(study_of(models=models, annotators={}))


def test_what_the_study_says_is_written() -> None:
    keys = {"contact": "zq20", "keep_for": "10 years", "keep_ids_for": "90 days"}
    dataset = {"ethics_approval": "zq21", "pay": "zq22"}
    text = document(study_of(PRIVACY, dataset=dataset, **keys), alert_webhook_url=None)
    said = [f"zq{number}" for number in (*range(1, 15), 20, 21, 22)]
    assert [one for one in said if one not in text] == []
    assert text.count("Zq Country") == 4
    assert "10 years" in text
    asked = [line for line in text.splitlines() if "Not stated: write it here" in line]
    assert [line for line in asked if "anthropic" not in line] == [], "all but the annotators' server is stated"


@pytest.mark.parametrize("key", sorted(PRIVACY.keys() - {"hosting", "model_servers", "recipients", "participants"}))
def test_what_it_does_not_say_is_called_not_stated_with_its_key(key: str) -> None:
    text = document(study_of({name: value for name, value in PRIVACY.items() if name != key}))
    assert f"(privacy.{key})" in text


def test_no_secret_of_the_settings_is_written() -> None:
    secret = SecretStr("https://hooks.example.org/services/zqsecret")
    text = document(study_of(), alert_webhook_url=secret, database_url="postgresql://u:zqpassword@db.example.org/p")
    assert "hooks.example.org" in text
    assert "db.example.org" in text
    assert not {"zqsecret", "zqpassword"} & {*text.replace("/", " ").replace(":", " ").replace("@", " ").split()}
