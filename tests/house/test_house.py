"""The house keeps its own rules: sizes, imports, pins, and nothing that belongs to one machine."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.rules import PLANTED, RULES, Sources, imported_modules

ROOT = Path(__file__).parents[2]
ROOMS = ("app", "experiments", "storage", "problems")


def git(*command: str) -> list[str]:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    return [line for line in done.stdout.split("\0") if line]


@pytest.fixture(scope="module")
def sources() -> Sources:
    """Every file that is, or with the next commit would be, part of the repository."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return {
        name: (ROOT / name).read_text(encoding="utf-8", errors="replace") for name in names if (ROOT / name).is_file()
    }


# Not locked, as its forty packages would hold back two of ours; `make readers` installs it.
HEAVY = "inspect"


@pytest.mark.parametrize("rule", RULES)
def test_no_source_breaks_a_rule(rule: str, sources: Sources) -> None:
    assert RULES[rule](sources) == []


@pytest.mark.parametrize("rule", RULES)
def test_a_planted_violation_is_found(rule: str) -> None:
    assert RULES[rule](PLANTED[rule])


@pytest.fixture(scope="module")
def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture(scope="module")
def dependencies(project: dict) -> list[Requirement]:
    extras = [line for name, lines in project["optional-dependencies"].items() if name != HEAVY for line in lines]
    return [Requirement(line) for line in [*project["dependencies"], *extras]]


@pytest.fixture(scope="module")
def locked() -> dict[str, list[tuple[str, bool]]]:
    """For each name in the lock its pins: (version, does it have a hash)."""
    pins: dict[str, list[tuple[str, bool]]] = {}
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for entry in re.split(r"\n(?=[^\s])", text):
        if not entry.startswith("#"):
            name, version = re.match(r"([\w.-]+)(?:\[.*?\])?==(\S+)", entry).groups()
            pins.setdefault(canonicalize_name(name), []).append((version, "--hash=sha256:" in entry))
    return pins


def test_every_dependency_has_a_lower_bound(dependencies: list[Requirement]) -> None:
    assert [str(d) for d in dependencies if not any(s.operator in (">=", "==") for s in d.specifier)] == []


def test_every_dependency_is_locked_in_a_version_that_it_allows(
    dependencies: list[Requirement], locked: dict[str, list[tuple[str, bool]]]
) -> None:
    for dependency in dependencies:
        pins = locked.get(canonicalize_name(dependency.name), [])
        assert pins, f"{dependency} is not in requirements.lock: make lock"
        assert all(dependency.specifier.contains(version) for version, _ in pins), f"{dependency}: make lock"


def test_every_extra_but_the_heavy_one_is_locked(project: dict) -> None:
    (line,) = re.findall(r"^EXTRAS := (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert {*line.split(), HEAVY} == set(project["optional-dependencies"])


def test_every_pin_has_a_hash(locked: dict[str, list[tuple[str, bool]]]) -> None:
    assert [name for name, pins in locked.items() if not all(hashed for _, hashed in pins)] == []


def undeclared(sources: Sources, project: dict) -> set[str]:
    """Return the packages that the rooms import and the project does not declare."""
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name, some in extras.items() if name != "dev" for line in some)]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    declared |= {"starlette", "pydantic-core", "annotated-types"}  # FastAPI's and pydantic's own parts
    known = {*ROOMS, *sys.stdlib_module_names}
    ours = declared | {module for name in declared for module in modules_of(name)}
    return {
        f"{path} imports {module}"
        for path, module in imported_modules(sources, *ROOMS)
        if not {module, canonicalize_name(module)} & (known | ours)
    }


def test_the_rooms_import_only_what_the_project_declares(sources: Sources, project: dict) -> None:
    assert undeclared(sources, project) == set()
    assert undeclared({"app/a.py": "import hypothesis.strategies"}, project)


def modules_of(name: str) -> set[str]:
    """The modules that an installed distribution brings at the top."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return set()
    if listed := found.read_text("top_level.txt"):
        return {*listed.split()}
    return {file.parts[0].partition(".")[0] for file in found.files or ()}
