"""Import, then export, is the identity: whatever its authors wrote, in whichever order and portions it arrives."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st

from storage.datasets.exports.exporter import stream
from storage.datasets.exports.plan import ExportRequest
from storage.datasets.imports.importer import deviations, import_files
from storage.datasets.imports.records import CellDeviation
from storage.db.engine import Database
from storage.log.projections import differences, rebuild
from tests.fakes.databases import Mould, read_tables
from tests.fakes.examples import examples
from tests.fakes.released_rows import RELEASES, Release

# Shrinking takes minutes here; a release is small enough to be read as it was drawn.
PHASES = (Phase.explicit, Phase.reuse, Phase.generate)
SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)
EXAMPLES = examples(2, phases=PHASES, suppress_health_check=SLOW)
# Which rows of each file, in which order.
Picks = Sequence[Sequence[int]]


@contextmanager
def place(mould: Mould) -> Iterator[tuple[Database, Path]]:
    with TemporaryDirectory() as folder:
        yield mould.cast(), Path(folder)


def whole(release: Release) -> Picks:
    return [range(len(file.rows)) for file in release]


def written(release: Release, folder: Path, picks: Picks) -> list[Path]:
    return [file.write(folder, picked) for file, picked in zip(release, picks, strict=True)]


def gives_back(database: Database, schema: str, release: Release, picks: Picks) -> None:
    """The export is these rows of the release, and the tables made anew from the log are the same."""
    for file, picked in zip(release, picks, strict=True):
        out = BytesIO()
        assert stream(database, ExportRequest("s", schema), out, file.path) == len(picked)
        assert file.same(out.getvalue(), picked), file.path
    before = read_tables(database)
    assert list(differences(database)) == []
    rebuild(database)
    assert read_tables(database) == before


def halves(data: st.DataObject, release: Release) -> tuple[Picks, Picks]:
    first = [[n for n in range(len(file.rows)) if data.draw(st.booleans())] for file in release]
    return first, [[n for n in range(len(file.rows)) if n not in own] for file, own in zip(release, first, strict=True)]


def both(first: Picks, second: Picks) -> Picks:
    return [[*one, *other] for one, other in zip(first, second, strict=True)]


each_schema = pytest.mark.parametrize("schema", RELEASES)


@each_schema
@EXAMPLES
@given(data=st.data())
def test_a_release_comes_out_as_it_went_in_and_has_no_deviation(mould: Mould, schema: str, data: st.DataObject) -> None:
    release = data.draw(RELEASES[schema])
    with place(mould) as (database, folder):
        paths = written(release, folder, whole(release))
        assert [item for item in deviations(schema, paths) if isinstance(item, CellDeviation)] == []
        done = import_files(database, schema, paths, "s")
        assert sum(file.new for file in done) == sum(file.rows for file in done) == sum(map(len, whole(release)))
        gives_back(database, schema, release, whole(release))


@each_schema
@EXAMPLES
@given(data=st.data())
def test_a_shuffled_release_stays_shuffled_and_is_known_in_any_order(
    mould: Mould, schema: str, data: st.DataObject
) -> None:
    release = data.draw(RELEASES[schema])
    order = [data.draw(st.permutations(range(len(file.rows)))) for file in release]
    with place(mould) as (database, folder):
        import_files(database, schema, written(release, folder, order), "s")
        known = read_tables(database)
        again = import_files(database, schema, written(release, folder, whole(release)), "s")
        assert sum(file.new for file in again) == 0
        assert read_tables(database) == known
        gives_back(database, schema, release, order)


def in_two_commands(database: Database, schema: str, first: list[Path], second: list[Path]) -> None:
    import_files(database, schema, first, "s")
    import_files(database, schema, second, "s")


def in_one_command(database: Database, schema: str, first: list[Path], second: list[Path]) -> None:
    import_files(database, schema, [*first, *second], "s")


@each_schema
@EXAMPLES
@given(data=st.data())
def test_a_release_in_two_parts_is_one_also_where_they_overlap(mould: Mould, schema: str, data: st.DataObject) -> None:
    release = data.draw(RELEASES[schema])
    way = data.draw(st.sampled_from([in_two_commands, in_one_command]))
    first, second = halves(data, release)
    overlap = [data.draw(st.lists(st.sampled_from(own), unique=True)) if own else [] for own in first]
    with place(mould) as (database, folder):
        one = written(release, folder / "one", first)
        way(database, schema, one, written(release, folder / "two", both(overlap, second)))
        gives_back(database, schema, release, both(first, second))
