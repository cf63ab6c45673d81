"""Models' real names as the values of a factor: they reach the assignment, the prompts and the released files."""

from __future__ import annotations

import asyncio
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from app.analysis.results import results
from app.studies.loader import STUDIES, read_yaml
from experiments.study.cells import cells, parse_cell
from storage.db.engine import Database
from storage.schemas.registry import released
from tests.fakes import studies
from tests.fakes.databases import export, fill, rows

NAMES = ("llama-3.1-8b", "gpt-4.1", "org/model-name", "qwen2.5:7b")


def study_of(folder: Path, names: tuple[str, ...] = NAMES) -> Path:
    """ChatBench's study in which participants meet these models, with one question in each phase."""
    raw = read_yaml(STUDIES / "chatbench.yaml")
    raw["models"] = {name: {"backend": "scripted", "options": {"first_ms": 0, "pace_ms": 0}} for name in names}
    raw["factors"] |= {"condition": ["direct-to-AI"], "model": list(names)}
    raw["quotas"] = [{"where": {"model": names[0]}, "max": 1}]
    raw["ai_alone"] = {"examples": "dev", "extractor": names[-1]}
    for phase in (raw["flow"][3], raw["flow"][7]):
        phase["flow"][0] |= {"take": 1}
    raw["flow"][7]["flow"][0]["do"]["pick"] = {"direct-to-AI": "direct-to-AI@1"}
    return studies.write(folder, raw)


def test_the_released_model_is_a_value_of_the_released_design(tmp_path: Path, database: Database) -> None:
    path = study_of(tmp_path)
    asyncio.run(fill(database, [str(path)], 8, "1"))
    found = rows(database, released("conversations").table())
    assert {row["model"] for row in found} == set(NAMES), "each was drawn, and its value is the model's name"
    assert all(row["chat_history"] for row in found)
    figures = {one.name for finding in results(database, "chatbench", "bot").findings for one in finding.estimates}
    assert {"llama-3_1-8b", "gpt-4_1", "org/model-name", "qwen2_5:7b"} <= {
        part for name in figures for part in name.split(".")
    }
    manifest = export(database, "chatbench", "chatbench", tmp_path / "out", "bot")
    text = (manifest.folder / "full_study/user_answers.csv").read_text(encoding="utf-8")
    assert {line.split(",")[1] for line in text.splitlines()[1:]} == set(NAMES)


@given(st.from_regex(r"[!-~]([ -~]{0,60}[!-~])?", fullmatch=True))
@example("qwen2.5:7b")
@example("a=b, c: d")
def test_any_line_can_be_a_value_and_names_its_cell(value: str) -> None:
    factors = {"model": (value, f"{value}2")}
    assert parse_cell([f"model={value}"], factors, {}) == {"model": value}
    assert {cell.values["model"] for cell in cells(factors, {})} == set(factors["model"])
