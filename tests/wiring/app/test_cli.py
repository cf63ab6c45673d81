"""The command line as a newcomer meets it: what it prints, what it writes, and how it says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from app.cli import app
from app.extension import extensions
from app.studies.loader import STUDIES
from tests.fakes.commanding import Done, parley
from tests.fakes.forked import Forked, command


def process(*words: str, folder: Path, **settings: str) -> Done:
    """A command as a process of its own, as it ends there: what is caught last is caught in it."""
    env = {**settings, "COLUMNS": "200", "TERM": "dumb"}
    forked = Forked(command, *words, folder=folder, out=folder / "said.txt", env=env)
    return Done(forked.wait() or 0, said := forked.said(), said)


def test_a_missing_key_is_told_at_the_start_and_checking_asks_nobody(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(
        "study: mine\ntitle: t\nproblems: {questions: {source: chatbench}}\nmodels: {gpt: {backend: openai}}\n"
        "flow:\n  - {each: question, of: questions, take: 1, do: direct-to-AI}\n  - step: finish\n"
    )
    done = parley("check", "mine.yaml", "--bots", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    for words in (("serve",), ("simulate", "--models", "study", "--yes")):
        done = parley(words[0], "mine.yaml", *words[1:], folder=tmp_path, PARLEY_PORT="0", OPENAI_API_KEY="")
        assert done.returncode == 2
        assert "PARLEY_OPENAI_API_KEY" in done.stderr


def test_settings_lists_every_setting_and_hides_secrets(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PARLEY_OPENAI_API_KEY=sk-very-secret\nPARLEY_PROT=1\n")
    done = process("show", "settings", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "sqlite:///parley.db" in done.stdout
    assert "sk-very-secret" not in done.stdout + done.stderr
    assert "PARLEY_PROT is not a setting." in done.stderr


def test_a_database_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    for url, said in (
        ("sqlite:////nowhere/at/all/x.db", "/nowhere/at/all"),
        ("oops", "PARLEY_DATABASE_URL='oops'"),
        ("mysql://me:secret@host/name", "PARLEY_DATABASE_URL='mysql://me:***@host/name'"),
    ):
        done = parley("simulate", "demo", "-n", "1", folder=tmp_path, PARLEY_DATABASE_URL=url)
        assert (done.returncode, said in done.stderr, "secret" in done.stderr) == (2, True, False), done.stderr


JUDGED = """
annotators:
  tone: {prompt: "{{conversation}}", model: hasty, answer_schema: {type: object, properties: {calm: {type: boolean}}}}
fidelity: [{name: calm, must: judge, annotator: tone, value: calm}]
"""


def test_costs_are_estimated_told_and_bounded(tmp_path: Path) -> None:
    (tmp_path / "dear.yaml").write_text(
        (STUDIES / "arena.yaml")
        .read_text(encoding="utf-8")
        .replace("{backend: scripted", "{backend: scripted, price: {prompt: 1000, completion: 2000}")
        .replace("study: arena", f"study: dear\ncurrency: EUR\n{JUDGED}"),
        encoding="utf-8",
    )
    words = ("check", "dear.yaml", "--bots", "3", "--cost", "--participants", "200", "--json")
    told = json.loads(parley(*words, folder=tmp_path).stdout)
    assert (told["currency"], told["cost"]) == ("EUR", pytest.approx(200 * told["cost_per_participant"]))
    least = 2000 * 300 / 1e6
    assert told["cost_per_participant"] > least, "replies are taken as 300 tokens, and there is at least one"
    assert 0 < told["calls_per_participant"]["careful"] < told["calls_per_participant"]["hasty"], "which judges as well"
    parley("simulate", "dear.yaml", "-n", "2", folder=tmp_path)
    told = json.loads(parley("show", "costs", "dear", "--by", "participant", "--json", folder=tmp_path).stdout)
    assert set(told["groups"]) == {"1 (bot)", "2 (bot)"}
    for parts in (told["groups"], told["kinds"]):
        assert told["total"]["cost"] == pytest.approx(sum(part["cost"] for part in parts.values()))
    assert set(told["kinds"]) == {"simulated sessions", "judges of fidelity"}
    assert parley("recruit", "budget", "dear", "0.5", folder=tmp_path).returncode == 0
    assert parley("simulate", "dear.yaml", "-n", "4", folder=tmp_path).returncode == 0
    told = json.loads(parley("show", "costs", "dear", "--json", folder=tmp_path).stdout)
    assert (told["budget"], told["spent"]) == (0.5, 0), "simulated sessions use up no budget"
    assert parley("recruit", "budget", "dear", folder=tmp_path).returncode == 2, "a limit or --unlimited is needed"
    assert parley("recruit", "budget", "dear", "--unlimited", folder=tmp_path).returncode == 0
    assert parley("recruit", "pause", "dear", folder=tmp_path).returncode == 0
    told = json.loads(parley("show", "costs", "dear", "--json", folder=tmp_path).stdout)
    assert (told["budget"], told["paused"]) == (None, "paused")
    assert parley("recruit", "open", "dear", folder=tmp_path).returncode == 0


def test_an_export_and_payments_without_options_do_the_obvious(tmp_path: Path) -> None:
    parley("simulate", "demo", "-n", "2", folder=tmp_path)
    done = parley("export", "demo", folder=tmp_path)
    (made,) = tmp_path.glob("demo-????-??-??")
    assert {folder.name for folder in made.iterdir()} == {"chatbench", "mathconverse", "tidy"}
    assert all(
        (folder / "README.md").exists() and f"{made.name}/{folder.name}/" in done.stdout for folder in made.iterdir()
    )
    assert parley("export", "demo", "--schema", "tidy", "-o", "other", folder=tmp_path).returncode == 0
    for file in (tmp_path / "other").glob("*.csv"):
        assert file.read_bytes() == (made / "tidy" / file.name).read_bytes()
    parley("publish", "demo", folder=tmp_path)
    done = parley("payments", "demo", "--json", folder=tmp_path)
    (file,) = tmp_path.glob("demo-payments-????-??-??/payments-*.csv")
    assert [Path(one["path"]).name for one in json.loads(done.stdout)["files"].values()] == [file.name]


def test_attempts_are_shown_and_written(tmp_path: Path) -> None:
    parley("simulate", "arena", "-n", "1", folder=tmp_path)
    shown = json.loads(parley("show", "calls", "arena", "--last", "2", "--json", folder=tmp_path).stdout)
    assert len(shown) == 2
    lines = parley("show", "calls", "arena", "-o", "-", folder=tmp_path).stdout.splitlines()
    first = json.loads(lines[0])
    assert {"session", "model", "request", "text", "version", "first_token_us", "cost", "cause"} <= set(first)
    assert parley("show", "calls", "arena", "-o", "all.jsonl", folder=tmp_path).returncode == 0
    assert (tmp_path / "all.jsonl").read_text(encoding="utf-8").splitlines() == lines
    assert parley("show", "calls", "arena", "--failed", "-o", "-", folder=tmp_path).stdout == ""


READING = (
    "export demo --schema chatbench -o out",
    "recruit open demo",
    "accounts list",
)


@pytest.mark.parametrize("words", READING)
def test_a_command_in_a_folder_without_a_database_makes_none(words: str, tmp_path: Path) -> None:
    done = parley(*words.split(), folder=tmp_path)
    assert done.returncode == 2
    assert str(tmp_path / "parley.db") in done.stderr.replace("\n", "")
    assert list(tmp_path.iterdir()) == []


ITEMS = Path(__file__).parents[3] / "problems" / "data" / "items"
ALONE = ("demo", "--repeats", "1", "--max-problems", "1", "--method", "letter_only_zero_shot")
AS_JSON = {
    "accounts list": (),
    "ai-alone methods": (),
    "ai-alone run": ALONE,
    "ai-alone score": ("demo",),
    "ai-alone status": ("demo",),
    "alerts": (),
    "annotate agreement": None,  # in test_annotating.py, which has labels
    "annotate status": ("demo",),
    "check": ("demo", "--bots", "1"),
    "deposit": None,  # in test_deposit_command.py, which has an export
    "doctor": None,  # in test_doctor.py
    "models": ("demo",),
    "payments": ("demo", "-o", "out"),
    "person retention": ("demo", "--dry-run"),
    "rehearse": ("demo", "--remove"),
    "show blinding": ("demo",),
    "show calls": ("demo",),
    "show costs": ("demo",),
    "show deviations": ("demo",),
    "show diff": (str(STUDIES / "demo.yaml"),),
    "show draws": ("demo",),
    "show integrity": ("demo",),
    "show items": (str(ITEMS / "questions.csv"),),
    "show metadata": ("demo",),
    "show quotas": ("demo",),
    "show settings": (),
    "show status": ("demo", "--origin", "bot"),
    "show versions": ("demo",),
    "trial look": None,  # in test_looks.py
    "trial power": None,  # in test_trial_commands_uplift.py
}
OF_EXTENSIONS = {
    "publishing": ("deposit",),
    "trials": ("show deviations", "show integrity", "trial look", "trial power"),
}


def test_the_errors_of_a_study_are_json_too(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("study: x\ntitle: t\nflow:\n  - step: consnt\nmodells: {}\n")
    done = parley("check", "mine.yaml", "--json", folder=tmp_path)
    assert done.returncode == 2
    assert len(json.loads(done.stdout)["errors"]) > 1


def test_servers_of_tools_are_asked_and_what_they_lack_has_its_line(tmp_path: Path) -> None:
    text = (STUDIES / "service-desk.yaml").read_text(encoding="utf-8")
    names = {"find_customer: Look": "find_costumer: Look", "hidden-asked: {<<: *desk": "hidden-asked: {package: none"}
    for right, wrong in names.items():
        text = text.replace(right, wrong, 1)
    (tmp_path / "desk.yaml").write_text(text, encoding="utf-8")
    done = parley("check", "desk.yaml", "--bots", "0", "--json", folder=tmp_path)
    found = {issue["where"]: issue for issue in json.loads(done.stdout)["errors"]}
    wrong = "labels.find_costumer"
    assert {*found} == {f"tools.shown-{one}.{wrong}" for one in ("asked", "not-asked")} | {
        f"tools.hidden-not-asked.{wrong}",
        "tools.hidden-asked",
    }
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "find_costumer" in line)
    assert found[f"tools.shown-asked.{wrong}"]["place"] == f"line {line}"


def test_json_is_all_that_such_a_command_prints(tmp_path: Path) -> None:
    group: Any = typer.main.get_command(app)
    inner = [(f"{name} {part}", one) for name, top in group.commands.items() for part, one in _parts(top).items()]
    with_json = [name for name, one in (*group.commands.items(), *inner) if any("--json" in p.opts for p in one.params)]
    installed = {extension.name for extension in extensions()}
    missing = {name for whose, names in OF_EXTENSIONS.items() if whose not in installed for name in names}
    expected = {name: words for name, words in AS_JSON.items() if name not in missing}
    assert sorted(with_json) == sorted(expected)
    parley("simulate", "demo", "-n", "2", folder=tmp_path)
    parley("publish", "demo", folder=tmp_path)
    parley("accounts", "add", "ada", "--password-stdin", folder=tmp_path, typed="seven grey herons wade\n")
    empty = []
    for name, words in expected.items():
        if words is not None:
            done = parley(*name.split(), *words, "--json", folder=tmp_path)
            assert done.returncode == 0, f"{name}: {done.stderr}"
            empty += [] if json.loads(done.stdout) else [name]
    found_none = ["alerts", "annotate status", "show deviations", "show metadata", "show quotas"]
    assert empty == [name for name in found_none if name in expected]


def _parts(command: Any) -> dict[str, Any]:
    return getattr(command, "commands", {})
