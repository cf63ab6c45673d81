"""The generated pages are those of this code, and leave nothing out."""

import json
import re
from importlib.metadata import version

import pytest

from docs import generate
from experiments.study.field_docstrings import field_docstrings
from experiments.study.fields import Field
from experiments.study.schema import ProtocolFile, StudyFile
from experiments.study.step import kinds
from tests.docs.pages import ROOT, parley

DOCS = ROOT / "docs"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
OTHERS = [name for name in ("pydantic", "fastapi", "typer") if f"\n{name}=={version(name)} " not in LOCK]
FOR_THE_LOCK = pytest.mark.skipif(
    bool(OTHERS), reason=f"not the versions of requirements.lock, and schemas may be worded otherwise: {OTHERS}"
)


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


MODELS = [StudyFile, ProtocolFile, Field, *generate.QUESTION_KINDS, *kinds().values()]


@pytest.mark.parametrize("model", MODELS)
def test_every_key_of_a_study_file_has_a_meaning(model):
    texts = field_docstrings(model)
    bare = [
        key
        for key, info in model.model_fields.items()
        if key not in ("type", "step") and not (texts.get(key) or info.description)
    ]
    assert bare == [], f"{model.__name__}: write a docstring under {', '.join(bare)}"


def test_every_part_of_a_study_file_has_a_section_with_its_keys():
    schema = StudyFile.model_json_schema()
    refs = re.findall(r"#/\$defs/(\w+)", json.dumps({**schema["properties"], "flow": None}))
    parts = {name for name in refs if schema["$defs"][name].get("type") == "object"}
    assert len(parts) > 15
    assert parts - {model.__name__ for _, model in generate.STUDY_PARTS} == set()
