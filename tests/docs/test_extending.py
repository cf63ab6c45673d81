"""The tutorials for extending Parley run: their files become a package, and its parts are used in studies."""

import csv
import json
import re
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import pytest

from app.studies.yaml_loader import parse_yaml
from tests.docs.pages import ROOT, blocks, parley_with, save_files

pytestmark = [pytest.mark.slow, pytest.mark.nightly]

PAGE = ROOT / "docs" / "extending.md"
LINES, PEOPLE = 20, 2
STUDIES = {parse_yaml(block.text).value["study"]: block.text for block in blocks(PAGE, "yaml")}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that is installed as the page says: its package, and its entry points as an installer writes them."""
    folder = tmp_path_factory.mktemp("lab")
    save_files(PAGE, folder)
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items()) for group, names in groups]
    (told / "entry_points.txt").write_text("".join(lines))
    for name, text in STUDIES.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def used(lab: Path) -> str:
    """What is printed where simulated participants finish each study, whose data are exported, and models answer."""
    schemas = {"estimates": "chatbench", "mirrored": "chatbench", "rivers": "mathconverse"}
    assert schemas.keys() == STUDIES.keys()
    commands = [
        command
        for study, schema in schemas.items()
        for command in (f"check {study}.yaml --bots 1", f"simulate {study}.yaml -n {PEOPLE}",
                        f"export {study} --schema {schema} -o {study}")
    ]  # fmt: skip
    lines = re.findall(r"^    parley (ai-alone .+)$", PAGE.read_text(encoding="utf-8"), re.M)
    assert len(lines) == 2
    (lab / "rivers-2.txt").write_text("Which river flows through Cairo?\n")
    (lab / "wrong.yaml").write_text(STUDIES["rivers"].replace("rivers.txt", "rivers-2.txt"))
    return parley_with(lab, *commands, *lines, "!check wrong.yaml", "show schema")


@pytest.mark.parametrize("block", [b for b in blocks(PAGE, "python") if b.file], ids=lambda block: block.file)
def test_a_tutorials_file_has_at_most_twenty_lines_of_code(block):
    assert len([line for line in block.text.splitlines() if line.strip()]) <= LINES


def asked(lab: Path, query: str) -> list[tuple]:
    with closing(sqlite3.connect(lab / "parley.db")) as database:
        return database.execute(query).fetchall()


def test_a_new_kind_of_step_is_asked_recorded_and_referred_to(lab: Path, used: str):
    printed, _, schema = used.partition("\n{\n")
    assert "estimate" in printed
    assert "estimate" in schema
    rows = asked(lab, "SELECT data FROM event WHERE path LIKE '%/estimate' AND kind = 'submitted'")
    minutes = [json.loads(data)["minutes"] for (data,) in rows]
    assert len(minutes) == PEOPLE * 2
    assert all(1 <= number <= 30 for number in minutes)


def test_a_new_backend_replies(lab: Path, used: str):
    file = lab / "mirrored" / "full_study" / "conversations.json"
    conversations = json.loads(file.read_text(encoding="utf-8"))
    replies = [m["content"] for c in conversations for m in c["chat_history"] if m["role"] == "Bot"]
    assert len(conversations) == PEOPLE
    assert all(reply.startswith("What makes you say: ") for reply in replies)


def test_a_new_source_of_problems_is_read(lab: Path, used: str):
    file = lab / "rivers" / "mathconverse_parsed_interactions.csv"
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
    assert {row["problem_name"] for row in rows} == {"card-1", "card-2"}
    assert len(rows) == PEOPLE * 2


def test_a_new_method_asks_models_and_its_outcomes_are_told(lab: Path, used: str):
    assert "letter_anywhere" in used
    outcomes = asked(lab, "SELECT outcome, count(*) FROM ai_answer GROUP BY outcome")
    assert outcomes == [("answered", 5 * 2)]


def test_a_fault_in_a_file_of_the_new_source_is_told_with_its_line(used: str):
    assert "line 1 is no `question :: answer`" in used
