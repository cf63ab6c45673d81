"""The sdist and the wheel, and the wheel in an environment of its own, far from the repository."""

import os
import re
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.metadata import Metadata

from tests.docs.pages import blocks
from tests.house import distributions
from tests.house.distributions import link_packages, page_of, site_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300), pytest.mark.nightly]

ROOT = Path(__file__).parents[2]
PACKAGES = {"app", "experiments", "storage", "problems", "parley_studies"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NOTEBOOK = "from parley_studies.analysis import load; print(len(load('first').sessions))"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    try:
        return distributions.build(tmp_path_factory.mktemp("dist"))
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"not a git checkout: {error}")


@pytest.fixture(scope="module")
def environment(built: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel, installed by pip, and of this one only the packages that Parley runs on."""
    folder = tmp_path_factory.mktemp("empty")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    run, _, _ = (ROOT / "requirements.lock").read_text(encoding="utf-8").partition("\n# dev:")
    (folder / "run.lock").write_text(run, encoding="utf-8")
    link_packages(folder / "run.lock", site_of(folder))
    subprocess.run(
        [folder / "bin/pip", "install", "-q", "--no-compile", "--no-index", "--no-deps", built[1]], check=True
    )
    return folder


@pytest.fixture(scope="module")
def away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A researcher's folder: the README's study, and files with the names of Parley's packages."""
    folder = tmp_path_factory.mktemp("away")
    (study,) = blocks(ROOT / "README.md", "yaml")
    (folder / "first.yaml").write_text(study.text, encoding="utf-8")
    for name in PACKAGES - {"parley_studies"}:
        (folder / f"{name}.py").write_text("raise SystemExit('imported a file of the folder')\n")
    return folder


def ran(environment: Path, folder: Path, program: str, *words: str) -> str:
    """Return the output of a program of the environment, without anything of the repository on its paths."""
    env = {"PATH": f"{environment}/bin:/usr/bin:/bin", "HOME": str(folder), "COLUMNS": "200"}
    command = [environment / "bin" / program, *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, f"{program} {words}: {done.stdout}\n{done.stderr}"
    return done.stdout


def test_both_have_every_file_of_the_packages_and_nothing_else(built: tuple[Path, Path]) -> None:
    sdist, wheel = built
    files = {name for name in distributions.listed() if name.partition("/")[0] in PACKAGES}
    with tarfile.open(sdist) as archive:
        source = {one.name.partition("/")[2] for one in archive.getmembers() if one.isfile()}
    with ZipFile(wheel) as packed:
        names = {name for name in packed.namelist() if ".dist-info/" not in name}
    assert len(files) > 500
    assert files <= source
    made = {name for name in source - files if not name.startswith("parley_studies.egg-info/")}
    assert made == {"LICENSE", "README.md", "pyproject.toml", "PKG-INFO", "setup.cfg"}
    assert names == {
        name.removeprefix("app/") if "/parley_studies/" in name else name for name in files
    }  # a package by itself
    assert {name.partition("/")[0] for name in names} == PACKAGES
    assert {name for name in names if name.endswith("/py.typed")} == {f"{package}/py.typed" for package in PACKAGES}


def test_the_metadata_are_complete_and_valid(built: tuple[Path, Path]) -> None:
    with ZipFile(built[1]) as packed:
        (name,) = (name for name in packed.namelist() if name.endswith(".dist-info/METADATA"))
        found = Metadata.from_email(packed.read(name), validate=True)
        licences = {name.partition("/licenses/")[2] for name in packed.namelist() if "/licenses/" in name}
    assert (found.name, str(found.version)) == (PROJECT["name"], PROJECT["version"])
    assert found.description == (ROOT / "README.md").read_text(encoding="utf-8")
    assert found.description_content_type == "text/markdown"
    assert all((found.author, found.keywords, found.requires_python))
    shipped = {name for name in distributions.listed() if Path(name).name.startswith("LICENSE")}
    assert licences == shipped == {*(found.license_files or ())}
    assert len(shipped) == len(re.split(" AND ", str(found.license_expression)))


def test_the_changelog_has_notes_of_this_version() -> None:
    notes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", notes, re.M)


def test_its_commands_work_in_a_folder_of_ones_own(environment: Path, away: Path) -> None:
    for program in PROJECT["scripts"]:
        assert ran(environment, away, program, "--version") == f"Parley {PROJECT['version']}\n"
    ran(environment, away, "parley", "simulate", "first.yaml", "-n", "2")
    ran(environment, away, "parley", "export", "first", "--schema", "chatbench", "-o", "data")
    assert (away / "data" / "README.md").is_file()
    assert ran(environment, away, "python", "-c", NOTEBOOK) == "2\n"


@pytest.mark.parametrize(("words", "page", "title"), [
    pytest.param(("demo", "--no-browser"), "s/demo", "Parley", id="demo"),
    pytest.param(("serve", "first.yaml"), "s/first", "Questions with a chatbot", id="own", marks=pytest.mark.soak),
])  # fmt: skip
def test_it_serves(
    environment: Path, away: Path, tmp_path: Path, words: tuple[str, ...], page: str, title: str
) -> None:
    assert title in page_of(environment, away, f"sqlite:///{tmp_path}/parley.db", words, page)


def test_nothing_of_the_repository_was_used(environment: Path, away: Path) -> None:
    code = "import parley_studies, app, sys; print(parley_studies.__file__, app.__file__, *sys.path, sep='\\n')"
    parley, app, *paths = ran(environment, away, "python", "-c", code).split()
    assert Path(parley).is_relative_to(environment)
    assert Path(app).is_relative_to(environment)
    assert not any(Path(path).is_relative_to(ROOT) for path in paths)
    assert os.fspath(ROOT) not in ran(environment, away, "pip", "list", "-v")
