"""What a repository for research data can do for a deposit, and what a deposit asks of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Protocol

from storage.datasets.deposits.export_folder import ExportFolder

Advance = Callable[[str, int], None]
"""Called with a file and the number of bytes of it that were sent or need not be."""


@dataclass(frozen=True, slots=True)
class Published:
    """A deposit that is public: its address, its DOI, if the repository gives one, and what to do that is left."""

    url: str
    doi: str = ""
    next: str = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a deposit is: its id in the repository, its address for people, a DOI that is reserved for it, and what it
    is if it is public."""

    id: str
    url: str
    reserved_doi: str = ""
    public: Published | None = None


@dataclass(frozen=True, slots=True)
class Upload:
    """What is to be in a deposit: local files by their path there, and paths of earlier uploads that are no longer."""

    files: Mapping[str, Path]
    gone: Collection[str] = ()


class Repository(Protocol):
    """A repository. Every method raises DepositError, with what to do next."""

    name: str
    server: str
    embargoes: bool
    """Whether the repository itself keeps files closed until a day; otherwise they are published on that day."""

    def files(self, export: ExportFolder, folder: Path) -> Mapping[str, Path]:
        """The files to upload, by their paths in the deposit; `folder` is empty and for files that are made for it.
        Raises DepositError if the export lacks what the repository requires."""
        ...

    def create(self, export: ExportFolder, name: str) -> Place:
        """Create a deposit that nobody else sees. `name` is what to call it, where a repository has names."""
        ...

    def find(self, id_: str) -> Place:
        """The deposit with this id."""
        ...

    def describe(self, place: Place, export: ExportFolder, embargo_until: date | None) -> None:
        """Give the deposit the metadata of the export."""
        ...

    def upload(self, place: Place, upload: Upload, advance: Advance) -> str:
        """Send what is missing there or different, and check the checksums of all files; returns the version, where
        the repository has one. Can be repeated after an interruption."""
        ...

    def publish(self, place: Place) -> Published:
        """Make it public, which cannot be undone."""
        ...
