"""What the pages say is true: their studies can be used, their commands exist, their links lead somewhere."""

import asyncio
import random
import re
import textwrap
from collections.abc import Iterable
from pathlib import Path

import pytest
import typer

from app.bots.dry_run import estimate_by_simulation
from app.cli import app as command_line
from app.config.settings import Settings, env_name
from app.studies.loader import find, load_study
from app.studies.yaml_loader import parse_yaml
from experiments.study.study import Study
from storage.yaml_text import yaml_text
from tests.docs.pages import PAGES, REFERENCE, ROOT, Block, blocks, parley, python, save_files

README = ROOT / "README.md"
RESEARCHERS = "researchers/"
FIRST = ROOT / "docs" / "researchers" / "first-study.md"
MODELS = ROOT / "docs" / "models.md"
DESIGNS = ROOT / "docs" / "designs.md"
TUTORIAL = ROOT / "docs" / "tutorial.md"
TRIALS = ROOT / "docs" / "trials.md"
ANALYST = ROOT / "docs" / "analyst.md"
COOKBOOK = "cookbook/"
TEMPLATE = re.compile(r"--template (\S+)")
BY_NEED = ("extending.md",)  # its studies need what the page adds: test_extending.py
FINISH = {"step": "finish"}
LINES = 20
SOME = 4
# Commands that do what another of the page does, in another form.
SAME = ("report demo", "report demo -o report.csv")

SNIPPETS = [b for page in PAGES if page.name not in BY_NEED for b in blocks(page, "yaml") if not b.file]


def whole(block: Block) -> dict:
    """The study that a block is, or is a part of: a part replaces that part of the researcher's first study; of the
    study `uplift` on the page about trials; or, in the cookbook, of the page's template."""
    raw = parse_yaml(block.text).value
    if "study" in raw:
        return raw
    if block.page.startswith(COOKBOOK):
        found = TEMPLATE.search((ROOT / "docs" / block.page).read_text(encoding="utf-8"))
        assert found is not None, f"{block} is no whole study, and its page has no template"
        return {**parse_yaml(find(found[1]).read_text(encoding="utf-8")).value, **raw}
    part_of_first = block.page.startswith(RESEARCHERS) or block.page in (MODELS.name, DESIGNS.name)
    assert part_of_first or block.page == TRIALS.name, f"{block} is no whole study"
    if block.page == TRIALS.name:
        return {**parse_yaml(find("uplift").read_text(encoding="utf-8")).value, **raw}
    first = parse_yaml(next(blocks(FIRST, "yaml")).text).value
    if "flow" in raw and raw["flow"][-1].get("step") != "finish":
        raw["flow"] = [*raw["flow"], FINISH]
    return {**first, **raw}


def saved(block: Block, folder: Path) -> Study:
    """The study that a block is, beside the files of its page."""
    save_files(ROOT / "docs" / block.page if block.page != README.name else README, folder)
    file = folder / "study.yaml"
    file.write_text(yaml_text(whole(block)), encoding="utf-8")
    return load_study(str(file))


@pytest.mark.parametrize("block", SNIPPETS, ids=str)
def test_a_study_of_the_pages_is_sound(block: Block, tmp_path: Path):
    assert saved(block, tmp_path).file.flow


def test_a_study_of_the_pages_can_be_finished(tmp_path: Path, seed: int, soak: bool):
    """All of them in a soak, else a few by the run's seed."""
    for block in SNIPPETS if soak else random.Random(seed).sample(SNIPPETS, SOME):
        (folder := tmp_path / str(block)).mkdir(parents=True)
        study = saved(block, folder)
        scripted = all(model.backend == "scripted" for model in study.file.models.values())
        if scripted and not any(one.command for one in (study.file.tools or {}).values()):  # a program of the reader's
            assert asyncio.run(estimate_by_simulation(study, 4 if soak else 1, 300)).typical_minutes >= 0, block


def short(lines: Iterable[str], soak: bool) -> list[str]:
    """The commands of a page, with fewer simulated participants than there, and of its reports one."""
    lines = [*lines]
    return (
        lines
        if soak
        else [
            re.sub(r"(-n) \d+", r"\1 4", line) + (" --bots 2" if line.startswith("check") else "")
            for line in lines
            if line not in SAME
        ]
    )


@pytest.mark.slow
def test_the_readmes_study_has_twenty_lines_and_its_commands_lead_to_data(tmp_path: Path, soak: bool):
    (block,) = blocks(README, "yaml")
    assert len(block.text.splitlines()) <= LINES
    (tmp_path / "first.yaml").write_text(block.text, encoding="utf-8")
    lines = re.findall(r"^    parley (.+?)(?:  +#.*)?$", README.read_text(encoding="utf-8"), re.M)
    assert [line.split()[0] for line in lines] == ["check", "simulate", "serve", "export", "console"]
    parley(tmp_path, *short((line for line in lines if not line.startswith(("serve", "console"))), soak))
    rows = (tmp_path / "data" / "full_study" / "user_answers.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] in README.read_text(encoding="utf-8")
    assert len(rows) > 1 + 4 * 3


@pytest.mark.nightly
@pytest.mark.slow
def test_the_analysts_code_runs_on_the_demos_data(tmp_path: Path, soak: bool):
    lines = re.findall(r"^    parley (.+)$", ANALYST.read_text(encoding="utf-8"), re.M)
    assert {line.split()[0] for line in lines} == {"simulate", "export", "evals", "report", "import", "show"}
    parley(tmp_path, *short(lines, soak))
    code = "\n".join(block.text for block in blocks(ANALYST, "python"))
    printed = python(tmp_path, code)
    assert "answer-first" in printed
    assert "messages" in printed


@pytest.mark.slow
def test_the_tutorials_code_runs_on_data_of_a_study_of_its_name(tmp_path: Path):
    parley(tmp_path, "new pens --template demo", "simulate pens/study.yaml -n 4")
    text = TUTORIAL.read_text(encoding="utf-8")
    (code,) = (part for part in re.findall(r"(?:^    .*\n|^\n)+", text, re.M) if "from parley_studies.analysis" in part)
    assert {"careful", "hasty"} & {*python(tmp_path, textwrap.dedent(code)).split()}


@pytest.mark.slow
def test_the_researchers_models_answer_alone(tmp_path: Path, soak: bool):
    (block,) = (block for block in blocks(MODELS, "yaml") if "\nai_alone:" in block.text)
    (tmp_path / "sums.yaml").write_text(yaml_text(whole(block)), encoding="utf-8")
    after = MODELS.read_text(encoding="utf-8").split(block.text)[1]
    lines = re.findall(r"^    parley (.+)$", after.split("\n## ")[0], re.M)
    assert [line.split()[0] for line in lines] == ["ai-alone", "ai-alone", "ai-alone", "export"]
    some = [line if soak else re.sub(r"--repeats 3", "--repeats 1", line) for line in lines]
    parley(tmp_path, *some, "import chatbench --check data/ai_alone_answers.csv")
    assert len((tmp_path / "data" / "ai_alone_answers.csv").read_text(encoding="utf-8").splitlines()) == 1 + 60


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_imports_parley_by_its_one_name(page: Path):
    """Its packages have general names, which a file beside a notebook may have too."""
    assert not re.findall(r"^ *(?:from|import) (?:app|experiments|storage|problems)\b.*", page.read_text("utf-8"), re.M)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_names_only_commands_and_settings_that_exist(page: Path):
    text = page.read_text(encoding="utf-8")
    commands = set(re.findall(r"(?:^    (?:PARLEY_\S+ )?|`)parley ([a-z][a-z-]*)", text, re.M))
    assert commands <= set(typer.main.get_command(command_line).commands)
    variables = set(re.findall(r"\bPARLEY_[A-Z_]+\b", text))
    assert variables <= {env_name(name) for name in Settings.model_fields}


@pytest.mark.parametrize("page", [*PAGES, *REFERENCE], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path):
    text = re.sub(r"^```[\s\S]*?^```|`[^`\n]+`", "", page.read_text(encoding="utf-8"), flags=re.M)  # code is no link
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if target.startswith("https://"):
            continue
        path, _, heading = target.partition("#")
        file = page.parent / path if path else page
        assert file.exists(), target
        assert not heading or heading in headings(file), target


def headings(page: Path) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}
