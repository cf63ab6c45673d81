"""The generated pages are those of this code, and leave nothing out."""

import json
import re
from importlib.metadata import version

import pytest
import typer

from app.cli import app as command_line
from app.config.settings import Settings, env_name
from docs import generate
from experiments.study.fields import Field
from experiments.study.schema import models
from experiments.study.step import kinds
from storage.schemas.registry import schemas
from tests.docs.pages import ROOT, parley

DOCS = ROOT / "docs"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
OTHERS = [name for name in ("pydantic", "fastapi", "typer") if f"\n{name}=={version(name)} " not in LOCK]
FOR_THE_LOCK = pytest.mark.skipif(
    bool(OTHERS), reason=f"not the versions of requirements.lock, and schemas may be worded otherwise: {OTHERS}"
)


def page(name: str) -> str:
    return (DOCS / "reference" / name).read_text(encoding="utf-8")


def commands() -> dict:
    return typer.main.get_command(command_line).commands


@FOR_THE_LOCK
def test_generated_files_are_up_to_date():
    assert generate.stale() == [], "python -m docs.generate"


@FOR_THE_LOCK
def test_the_published_schemas_are_what_the_command_prints(tmp_path):
    printed = parley(tmp_path, "show schema", "show schema --protocol")
    published = [
        (DOCS / "schema" / f"{kind}.schema.json").read_text(encoding="utf-8") for kind in ("study", "protocol")
    ]
    assert printed == "".join(published)


def test_every_setting_is_documented_with_what_it_is_for():
    text = page("settings.md")
    for name, info in Settings.model_fields.items():
        assert f"`{env_name(name)}`" in text
        assert info.description in text


def test_every_command_and_each_of_its_options_is_documented_and_has_help():
    text = page("commands.md")
    for name, command in commands().items():
        assert re.search(rf"^### {name}( |$)", text, re.M)
        for item in command.params:
            assert item.help, f"parley {name}: {item.name} has no help"
            assert all(re.search(f"`{word}[` ]", text) for word in item.opts if word.startswith("-"))


def test_every_kind_of_step_is_documented_and_each_of_its_keys_has_a_meaning():
    text = page("steps.md")
    for name, kind in kinds().items():
        assert f"\n## {name}\n" in text
        bare = [key for key, info in kind.model_fields.items() if key != "step" and not info.description]
        assert bare == [], f"{name}: write a docstring under {', '.join(bare)}"


@pytest.mark.parametrize("model", [models()["study"], models()["protocol"], Field, *generate.QUESTION_KINDS])
def test_every_key_of_a_study_file_has_a_meaning(model):
    bare = [key for key, info in model.model_fields.items() if key != "type" and not info.description]
    assert bare == [], f"{model.__name__}: write a docstring under {', '.join(bare)}"


def test_every_column_is_documented_with_its_meaning():
    for name, schema in schemas().items():
        text = page(f"columns/{name}.md")
        for released in schema.tables:
            assert f"\n## {released.name}\n" in text
            assert all(column.meaning for column in released.columns)
            assert all(f"`{column.name}`" in text for column in released.columns if column.name)


def test_the_participant_api_is_described_and_nothing_else():
    described = json.loads((DOCS / "api" / "openapi.json").read_text(encoding="utf-8"))
    asked = ("look", "act", "draft", "preview", "telemetry", "reply")
    assert set(described["paths"]) == {f"/api/{name}" for name in asked}
    assert re.fullmatch(r"\d+\.\d+\.\d+", described["info"]["version"])
