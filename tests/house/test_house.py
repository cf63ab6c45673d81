"""The house keeps its own rules: sizes, imports, pins, and nothing that belongs to one machine."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from problems.errors import DISTRIBUTION

ROOT = Path(__file__).parents[2]
HEAVY = "bayes"
"""The extra that is in no environment of developers, and so not locked."""
ROOMS = ("app", "experiments", "storage", "problems")
MAX_BLANKET_EXCEPTS = 3
LEAST_TIMEOUT_S = 30

# A space after a dot or a dash is dropped, so that this file does not hold what it looks for.
INDEX_SIGNS = (
    r"pythonhosted\. org", r"pypi\. org", r"registry\.npmjs\. org", r"deb\.debian\. org",
    r"proxy\.golang\. org", r"\w://[^\s\"']*/ simple\b", r"-- (?:extra-)?index-url[=\s]",
    r"-- find-links[=\s]", r"\b(?:PIP|UV)_(?:EXTRA_|DEFAULT_)? INDEX",
)  # fmt: skip
INDEX = re.compile("|".join(INDEX_SIGNS).replace(" ", ""))


def git(*command: str) -> list[str]:
    done = subprocess.run(["git", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"not a git checkout: {done.stderr.strip()}")
    return [line for line in done.stdout.split("\0") if line]


@pytest.fixture(scope="module")
def files() -> list[Path]:
    """Every file that is, or with the next commit would be, part of the repository."""
    names = git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def sources(*folders: str) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def nodes(*folders: str) -> Iterator[tuple[str, ast.AST]]:
    for folder in folders:
        yield from _nodes(folder)


@cache
def _nodes(folder: str) -> list[tuple[str, ast.AST]]:
    return [(name, node) for name, source in sources(folder) for node in ast.walk(ast.parse(source, name))]


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


def test_no_file_names_a_package_index(files: list[Path]) -> None:
    found = []
    for path in files:
        text = path.read_bytes().decode("utf-8", errors="replace")
        found += [f"{path.relative_to(ROOT)}: {match.group()}" for match in INDEX.finditer(text)]
    assert not found


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


def imports(*folders: str) -> Iterator[tuple[str, str]]:
    """Give (file, top-level module that it imports)."""
    for name, node in nodes(*folders):
        match node:
            case ast.Import(names=aliases):
                yield from ((name, alias.name.partition(".")[0]) for alias in aliases)
            case ast.ImportFrom(module=str(module), level=0):
                yield name, module.partition(".")[0]


def test_the_rooms_import_only_what_the_project_declares(project: dict) -> None:
    extras = project["optional-dependencies"]
    lines = [*project["dependencies"], *(line for name, some in extras.items() if name != "dev" for line in some)]
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    declared |= {"starlette", "pydantic-core", "annotated-types"}  # FastAPI's and pydantic's own parts
    known = {*ROOMS, *sys.stdlib_module_names}
    ours = declared | {module for name in declared for module in modules_of(name)}
    strays = {
        f"{name} imports {module}"
        for name, module in imports(*ROOMS)
        if not {module, canonicalize_name(module)} & (known | ours)
    }
    assert strays == set()


def modules_of(name: str) -> set[str]:
    """The modules that an installed distribution brings at the top."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return set()
    if listed := found.read_text("top_level.txt"):
        return {*listed.split()}
    return {file.parts[0].partition(".")[0] for file in found.files or ()}


def test_blanket_excepts_stand_only_at_the_named_edges() -> None:
    blankets = [
        f"{name}:{node.lineno}"
        for name, node in nodes(*ROOMS)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")))
    ]
    assert len(blankets) <= MAX_BLANKET_EXCEPTS, blankets


def test_no_function_changes_a_global() -> None:
    assert [f"{name}:{node.lineno}" for name, node in nodes(*ROOMS) if isinstance(node, ast.Global)] == []


def test_no_class_name_means_two_things() -> None:
    found: dict[str, list[str]] = {}
    for name, node in nodes(*ROOMS):
        if isinstance(node, ast.ClassDef):
            found.setdefault(node.name, []).append(f"{name}:{node.lineno}")
    assert len(found) > 500
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_sessions_change_by_one_door() -> None:
    """Only app/session asks the log to append (the log of the metrics passes it on), and the events' table has one
    insert (who may use it: the contract `append` in pyproject.toml)."""
    asks = {
        name
        for name, node in nodes(*ROOMS)
        if isinstance(node, ast.ImportFrom) and node.module == "storage.log.write_requests"
        if {"Append", "Counted"} & {alias.name for alias in node.names}
        if not name.startswith(("app/session/", "storage/log/"))
    }
    inserts = {name for name, node in nodes(*ROOMS) if _is_insert_of_events(node)}
    assert (asks, inserts) == ({"app/web/metrics.py"}, {"storage/db/append_events.py"})


def _is_insert_of_events(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node) == "insert(tables.events)"


def test_no_client_of_the_tests_waits_less_than_a_busy_machine_needs() -> None:
    """Half a minute. httpx's own time-out is 5 s; what is asked of an application in the same process needs none. What
    is below a second is no time-out, but how long a test looks on."""
    calls = [
        (f"{path.relative_to(ROOT)}:{node.lineno}", node)
        for path in (ROOT / "tests").rglob("*.py")
        if not path.is_relative_to(ROOT / "tests/bench")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]
    hasty = [
        place
        for place, node in calls
        if any(1 <= number < LEAST_TIMEOUT_S for number in _timeouts(node))
        or (_is_client(node) and not {"timeout", "transport"} & {keyword.arg for keyword in node.keywords})
    ]
    assert hasty == []


def _is_client(call: ast.Call) -> bool:
    match call.func:
        case ast.Attribute(value=ast.Name(id="httpx2"), attr="AsyncClient" | "Client"):
            return True
    return False


def _timeouts(call: ast.Call) -> list[float]:
    """The numbers that stand in a call as its time-out, in seconds."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    given = [one.value for one in call.keywords if one.arg == "timeout" and _is_client(call)]
    given += call.args[:1] if name in ("join", "wait", "result") else call.args[1:2] if name == "wait_for" else []
    numbers = [one.value for one in given if isinstance(one, ast.Constant)]
    return [number for number in numbers if isinstance(number, int | float)]


def test_nobody_is_told_to_install_what_is_somebody_elses(files: list[Path]) -> None:
    """`parley` on PyPI is not ours."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["name"] == DISTRIBUTION != "parley"
    installs = "pip install|uv add|uvx|uv tool (?:install|run)|pipx (?:install|run)|--from|--with"
    wrong = re.compile(rf"(?:{installs})[ =](?:-\S+ +)*['\"]?parley(?![\w-])|(?<![\w-])parley\[[a-z]")
    assert wrong.search("uvx parley demo")
    assert wrong.search("pip install -U 'parley[word]'")
    kinds = (".md", ".py", ".j2", ".toml", ".json", ".yaml", ".js", ".html", ".txt", "")
    texts = {path: path.read_text(encoding="utf-8") for path in files if path.suffix in kinds}
    texts.pop(Path(__file__))
    found = {path.name: hit[0] for path, text in texts.items() if (hit := wrong.search(text))}
    assert not found


def test_pages_refer_to_each_other_by_relative_addresses(files: list[Path]) -> None:
    """Below a path of a host name an absolute one leads elsewhere."""
    absolute = re.compile(r"""(?:href|src|action)=["']/|(?:fetch|post|send|import)\(\s*[`"']/|from ["']/""")
    web = [path for path in files if path.is_relative_to(ROOT / "app/web") and path.suffix in (".j2", ".js", ".css")]
    assert len(web) > 50
    ours = [path for path in web if "codemirror" not in path.parts and path.name != "codemirror.js"]
    found = {path.name: hit[0] for path in ours if (hit := absolute.search(path.read_text(encoding="utf-8")))}
    assert not found
