"""The documentation's site: it builds strictly, its search finds what people look for, and it asks no other host."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.studies.loader import shipped
from app.studies.yaml_loader import parse_yaml
from docs import site, studies

pytestmark = pytest.mark.nightly

LISTED = "decisions/"  # the pages of decisions are named by their own index
TAGS = re.compile(r"<(?:script|img|iframe|link|source|video|audio)\b[^>]*\b(?:src|href)=\"?(?:https?:)?//[^>]*>")
LOADS = re.compile(r"@import[^;]*//|url\([\"']?(?:https?:)?//")
POLICY = "default-src 'self' 'unsafe-inline' data: blob:"
PAGES = [(path, place) for path, place in site.sources() if place.suffix == ".md"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as `make docs` does it: with an exit code for a link or an anchor that leads nowhere."""
    folder = tmp_path_factory.mktemp("built")
    assert site.build(folder) == 0
    return folder / "site"


def named(nav: object) -> Iterator[str]:
    """The pages of a navigation."""
    match nav:
        case str():
            yield nav
        case list():
            for part in nav:
                yield from named(part)
        case dict():
            for part in nav.values():
                yield from named(part)


def navigation() -> list[str]:
    return [*named(parse_yaml(site.CONFIG.read_text(encoding="utf-8")).value["nav"])]


def test_the_navigation_names_every_page():
    pages = {place.as_posix() for _, place in PAGES}
    wanted = {page for page in pages if not page.startswith(LISTED)} | {f"{LISTED}index.md"}
    missing, unknown = sorted(wanted - {*navigation()}), sorted({*navigation()} - pages)
    assert missing == [], f"add them to `nav` in mkdocs.yml: {missing}"
    assert unknown == [], f"`nav` in mkdocs.yml names pages that do not exist: {unknown}"
    assert len(navigation()) == len({*navigation()})


def test_every_shipped_study_is_in_the_gallery_with_its_picture():
    assert [*shipped()] == sorted(entry["study"] for entry in studies.entries())
    for entry in studies.entries():
        assert (site.DOCS / "images" / f"gallery-{entry['study']}.png").is_file(), "make screenshots"


def test_every_page_is_built_and_python_is_not(built: Path):
    for page in navigation():
        assert (built / page).with_suffix(".html").is_file()
    assert [*built.rglob("*.py"), *built.rglob("*.yaml")] == []


def test_no_page_and_no_style_loads_anything_from_another_host(built: Path):
    for path in [*built.rglob("*.html"), *built.rglob("*.css")]:
        text = path.read_text(encoding="utf-8")
        assert TAGS.findall(text) + LOADS.findall(text) == [], path
        assert path.suffix != ".html" or POLICY in text, path
