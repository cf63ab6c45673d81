"""The data-protection documents say what the study and the settings say, and call missing what neither says."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.config.model_servers import Server
from app.config.settings import Settings
from app.documents.block import DocumentBlock, Heading
from app.documents.markdown import markdown
from app.privacy.consent_form import consent_check
from app.privacy.data import MEASURES, stored_data
from app.privacy.data_protection_summary import data_protection_summary, flows
from app.privacy.facts import NOT_STATED, PrivacyFacts, gather
from app.privacy.irb_annex import irb_annex, unwrapped
from app.privacy.processing_record import processing_record
from app.studies.loader import load_study, shipped
from experiments.session.disclosures import HIDDEN_DISCLOSED, HONEYPOT_DISCLOSED
from experiments.study.resolve import resolve
from experiments.study.sections.privacy import PrivacyInfo
from experiments.study.study import Study
from storage.reports.person_readme import PARTS
from tests.fakes.consent import form

ROOT = Path(__file__).parents[2]
KEY = "sk-not-to-be-written-anywhere"
LONG = {"type": "long_text", "name": "why", "text": "Why?"}
AT_US = 1_790_000_000_000_000
PRIVACY: dict[str, Any] = {
    "controller": "Example University, Data Street 1",
    "representative": "Example Institute, Joint Street 2",
    "data_protection_officer": "Dr. Officer, dpo@example.org",
    "supervisory_authority": "Authority of Examplia",
    "purposes": ["to learn how tutors help"],
    "legal_basis": "consent, Art. 6(1)(a)",
    "participants": "adults who read English",
    "hosting": {"operator": "Example Hosting", "country": "Portugal", "safeguards": "none, in the Union"},
    "model_servers": {
        "lab": {
            "operator": "Example Cloud",
            "country": "Canada",
            "safeguards": "an adequacy decision",
            "retention": "30 days by contract",
        }
    },
    "recipients": [
        {
            "name": "Example Archive",
            "receives": "the published data",
            "operator": "Archive Ltd",
            "country": "Norway",
            "safeguards": "none needed",
        }
    ],
    "security": ["two researchers have accounts"],
    "risks": ["boredom"],
    "benefits": ["a better tutor"],
    "deception": "none",
    "debriefing": "by mail",
}


def study_of(**keys: Any) -> Study:
    raw = {
        "study": "small",
        "title": "Small",
        "models": {
            "tutor": {"backend": "openai", "server": "lab", "model": "big-1", "system": "Be kind to {{arm}}."},
            "local": {"backend": "scripted", "options": {"wrong": 0.5}},
        },
        "factors": {"arm": ["a", "b"]},
        "flow": [
            {"step": "consent", "text": form()},
            {
                "step": "survey",
                "id": "about",
                "questions": [{"type": "short_text", "name": "job", "text": "Your **job**?"}, LONG],
            },
            {"step": "compare", "models": ["tutor", "local"]},
            {"step": "finish", "text": "It was about tutors."},
        ],
        **keys,
    }
    return resolve(raw, {}, {})


def facts_of(study: Study, **settings: Any) -> PrivacyFacts:
    server = Server.model_validate({"url": "https://models.example.org/v1", "key": KEY})
    known = Settings(_env_file=None, database_url="sqlite:///x.db", model_servers={"lab": server}, **settings)
    return gather(study, known, 12.4, AT_US, "9.9")


def written(facts: PrivacyFacts) -> dict[str, str]:
    return {
        "consent": markdown(consent_check(facts)),
        "record": markdown(processing_record(facts)),
        "summary": markdown(data_protection_summary(facts)),
        "annex": markdown(irb_annex(facts, (), {})),
    }


def plain(text: str) -> str:
    """Markdown without its backslashes."""
    return text.replace("\\", "")


def leaves(value: Any) -> Iterable[str]:
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return [value] if parts is None else [leaf for part in parts for leaf in leaves(part)]


@pytest.mark.parametrize("key", sorted(PrivacyInfo.model_fields))
def test_what_the_study_says_is_written_and_nothing_else_changes(key: str) -> None:
    without, with_it = (
        plain("".join(written(facts_of(study_of(privacy=said))).values())) for said in ({}, {key: PRIVACY[key]})
    )
    assert f"privacy.{key}" in without or key == "recipients"  # of which there need not be any
    for leaf in leaves(PRIVACY[key]):
        assert leaf in with_it
    assert with_it.count(NOT_STATED) < without.count(NOT_STATED) or key == "recipients"
    if key not in ("hosting", "model_servers", "recipients"):
        assert f"(privacy.{key})" not in with_it


def test_a_study_that_says_all_has_nothing_left_to_write_but_what_parley_cannot_know() -> None:
    about = {"ethics_approval": "yes", "pay": "5 EUR"}
    keys: dict[str, Any] = {
        "keep_ids_for": "90 days",
        "keep_for": "10 years",
        "contact": "me",
        "quotas": [{"max": 9}],
        "recruitment": {"channels": ["lab"]},
    }
    found = written(facts_of(study_of(privacy=PRIVACY, dataset=about, **keys)))
    for name, text in found.items():
        assert not re.findall(rf"{NOT_STATED}: write it here, or into", plain(text)), name
    assert "90 days after the last activity" in found["record"]
    assert "10 years after the last activity" in found["record"]


def test_what_is_said_for_the_documents_is_no_part_of_the_version() -> None:
    assert study_of().hash == study_of(privacy=PRIVACY).hash


def test_every_document_names_the_study_its_version_hash_and_date() -> None:
    study = study_of(version=7)
    for text in written(facts_of(study)).values():
        for fact in ("Study: small, version 7", study.hash, "2026-09-21", "Parley 9.9", "no legal advice"):
            assert fact in text


def headings(blocks: Iterable[DocumentBlock]) -> list[str]:
    return [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]


def test_the_record_has_the_fields_of_article_30() -> None:
    assert [text[:3] for text in headings(processing_record(facts_of(study_of())))] == [f"({c})" for c in "abcdefg"]


def test_all_that_is_stored_of_a_person_is_a_category() -> None:
    study = study_of(telemetry=False)
    found = dict(stored_data(study))
    assert [*found] == [name.replace("_", " ") for name in PARTS]
    assert found["page records"].startswith("nothing")
    assert not found["messages"].startswith("nothing")
    quiet = study_of(flow=[{"step": "finish"}])
    assert dict(stored_data(quiet))["messages"].startswith("nothing")


def test_every_measure_is_one_that_tests_hold() -> None:
    items = yaml.safe_load((ROOT / "docs" / "asvs.yaml").read_text(encoding="utf-8"))
    held = {item["asvs"] for item in items if item.get("tests")}
    assert [measure.asvs for measure in MEASURES if measure.asvs not in held] == []


def test_model_servers_are_recipients_and_scripted_models_are_not() -> None:
    facts = facts_of(study_of(privacy=PRIVACY))
    (server,) = facts.servers
    assert (server.name, server.host, server.models) == ("lab", "models.example.org", ("tutor",))
    record = written(facts)["record"]
    assert re.search(r"model server lab \(models\.example\.org\).*Example Cloud.*Canada", record)
    assert "local" not in flows(facts)
    assert "nothing leaves Parley" in written(facts_of(load_study("demo")))["summary"]


def test_a_server_of_annotators_is_a_recipient_too() -> None:
    schema = {"type": "object", "properties": {"rude": {"type": "boolean"}}, "required": ["rude"]}
    rude = {"model": "openai:judge-1@other", "prompt": "Is it rude? {{conversation}}", "answer_schema": schema}
    servers = {"lab": Server(url="https://a.example"), "other": Server(url="http://127.0.0.1:9")}
    facts = gather(
        study_of(annotators={"rude": rude, "kind": {**rude, "model": "tutor"}}),
        Settings(_env_file=None, model_servers=servers),
        None,
        AT_US,
        "9.9",
    )
    assert [(one.name, one.host, one.models, one.annotators) for one in facts.servers] == [
        ("lab", "a.example", ("tutor",), ("kind",)),
        ("other", "this machine", (), ("rude",)),
    ]
    assert "Not known: no simulated participants" in markdown(irb_annex(facts, (), {}))


def test_no_key_of_a_server_and_no_webhook_secret_is_written() -> None:
    hook = "https://hooks.example.com/T000/secret-part"
    facts = facts_of(study_of(), alert_webhook_url=hook, alert_mail_to="team@example.org", smtp_host="mail.example")
    found = "".join(written(facts).values())
    assert "hooks.example.com" in found
    assert "team@example.org" in found
    assert KEY not in found
    assert "secret-part" not in found


def test_recruiters_are_recipients_and_in_the_diagram() -> None:
    facts = facts_of(study_of(recruitment={"channels": ["prolific", "lab"]}))
    assert "recruiter prolific" in written(facts)["record"]
    assert 'prolific["Recruiter prolific"]' in flows(facts)
    assert "recruiter lab" not in written(facts)["record"]


def test_a_recipient_named_as_a_recruiter_describes_it() -> None:
    prolific = {"name": "Prolific", "receives": "completions", "operator": "Prolific Ltd", "country": "United Kingdom"}
    study = study_of(recruitment={"channels": ["prolific"]}, privacy={"recipients": [prolific]})
    record = written(facts_of(study))["record"]
    assert re.search(r"recruiter prolific \| .*Prolific Ltd.*United Kingdom", record)
    assert "| Prolific |" not in record


def test_the_page_around_an_embedded_study_is_a_recipient() -> None:
    origin = "https://survey.example.org"
    embed = {"origins": [origin], "send": ["outcome", "about.job"]}
    record = written(facts_of(study_of(embed=embed)))["record"]
    row = next(line for line in record.splitlines() if f"the page of {origin}" in line)
    assert "outcome, about.job" in plain(row)
    assert f"the page of {origin}" not in written(facts_of(study_of()))["record"]


def test_what_a_prompt_contains_of_a_participant_is_named() -> None:
    assert "with the values of arm" in written(facts_of(study_of()))["summary"]


def test_what_is_hidden_from_participants_is_disclosed_to_the_board() -> None:
    annex = plain(written(facts_of(study_of(integrity={"hidden_instruction": "hazelnut", "honeypot": True})))["annex"])
    assert "hazelnut" in annex
    assert HIDDEN_DISCLOSED in annex
    assert HONEYPOT_DISCLOSED in annex
    assert "give wrong answers on purpose, as often as the study says: local." in annex
    assert "Be kind to {{arm}}." in annex
    assert "no hidden instruction" in plain(written(facts_of(study_of()))["annex"])


@pytest.mark.parametrize("name", shipped())
def test_the_annex_has_every_step_with_its_wording(name: str) -> None:
    study = load_study(name)
    annex = plain(markdown(irb_annex(facts_of(study), (), {}))).replace("> ", "")
    for path, step in study.steps:
        assert path in annex
        for line in unwrapped(step.instructions()).splitlines():
            assert line.replace("&", "&amp;").replace("<", "&lt;").replace("\\", "") in annex


def test_the_check_of_the_form_says_what_is_missing() -> None:
    study = study_of(flow=[{"step": "consent", "text": form(without=["storage_period"])}, {"step": "finish"}])
    text = written(facts_of(study))["consent"]
    assert "| how long the data are stored | GDPR Art. 13(2)(a) | MISSING |" in plain(text)
    assert text.count("MISSING") == 1
    assert "no step consent" in plain(written(facts_of(study_of(flow=[{"step": "finish"}])))["consent"]).replace(
        "`", ""
    )
