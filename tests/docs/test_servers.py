"""What the pages say of servers of models and of tools works so: in a .env file, in a study, and as a program."""

import re
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from app.backends import registry
from app.backends.providers import BACKEND, PROVIDERS
from app.config.settings import Settings
from app.session.replies.tools import asked
from app.studies.yaml_loader import parse_yaml
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.tools import ToolSet
from tests.docs.pages import ROOT, save_files

PAGE = (ROOT / "docs" / "operator.md").read_text(encoding="utf-8")
SECTION = PAGE.split("\n## Model servers\n")[1].split("\n## ")[0]
SERVERS = re.findall(r"PARLEY_MODEL_SERVERS='.*?'", SECTION, re.S)
VARIABLES = re.sub(r" +#.*", "", "\n".join(re.findall(r"^    (PARLEY_(?!SERVERS)\w+=.+)$", SECTION, re.M)))
MODELS = re.findall(
    r"(?:^ {8}(?! ).*\n|^ {9,}\S.*\n)+", re.sub(r" *PARLEY_MODEL_SERVERS='.*?'\n", "", SECTION, flags=re.S), re.M
)


@pytest.mark.parametrize("line", [*SERVERS, VARIABLES])
def test_the_settings_can_be_put_into_a_file(line: str, tmp_path: Path):
    (tmp_path / ".env").write_text(dedent(line), encoding="utf-8")
    loaded = Settings(_env_file=tmp_path / ".env")
    assert loaded.model_servers or loaded.openai_api_key


@pytest.mark.parametrize("text", MODELS)
def test_the_models_can_be_put_into_a_study(text: str):
    model = ModelSpec.model_validate(parse_yaml(dedent(text)).value)
    assert registry.check_options(model.backend, model.options) == []
    assert registry.check_server(model.backend, model.server) == []


@pytest.mark.parametrize("name", PROVIDERS)
def test_each_server_of_the_table_can_be_set_and_reached(name: str, tmp_path: Path):
    provider = PROVIDERS[name]
    (tmp_path / ".env").write_text(provider.setting(name), encoding="utf-8")
    loaded = Settings(_env_file=tmp_path / ".env").server(name)
    assert (loaded.url, loaded.key is not None) == (provider.url, provider.needs_key)
    assert ModelSpec(backend=BACKEND, server=name, model=provider.model, options=dict(provider.options))
    assert registry.check_options(BACKEND, provider.options) == []


@pytest.mark.anyio
async def test_the_server_of_tools_offers_its_functions(tmp_path: Path):
    save_files(ROOT / "docs" / "designs.md", tmp_path)
    tools = ToolSet(command=(sys.executable, str(tmp_path / "shop.py")), writes=("order",), timeout_s=60)
    specs = await asked(Settings(), tools)
    assert {spec.name: [*spec.schema["properties"]] for spec in specs} == {"search": ["words"], "order": ["item"]}
