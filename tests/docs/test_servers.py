"""What the operator's page says of model servers can be written so: into a .env file, and into a study."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

from app.backends import registry
from app.backends.providers import BACKEND, PROVIDERS
from app.config.settings import Settings
from app.studies.yaml_loader import parse_yaml
from experiments.study.sections.model_spec import ModelSpec
from tests.docs.pages import ROOT

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
