"""Deposits at Zenodo, by its deposit API: https://developers.zenodo.org (Quickstart, Depositions, Deposition files,
Deposition actions).

Zenodo has no folders and at most 100 files, so an export is deposited as one zip file, beside its card for readers. A
deposition is a draft until it is published. Its DOI is reserved from the beginning (`prereserve_doi`) and registered
when it is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from functools import partial
from hashlib import file_digest
from pathlib import Path
from typing import Any
from urllib.parse import quote

from app.deposit.http import RepositoryClient
from app.deposit.repository import Advance, Place, Published, Upload
from app.errors import DepositError
from storage.datasets.deposits.export_folder import ExportFolder
from storage.datasets.describe.citation_files import CFF
from storage.datasets.describe.editable_files import README
from storage.datasets.describe.zip_file import zip_export

DEPOSITIONS = "/api/deposit/depositions"
BESIDE = (README, CFF)


class Zenodo:
    """Zenodo, or its sandbox."""

    name, embargoes = "zenodo", True

    def __init__(self, client: RepositoryClient, server: str) -> None:
        self._client, self.server = client, server

    def files(self, export: ExportFolder, folder: Path) -> Mapping[str, Path]:
        """The export as a zip file, and its card and citation beside it."""
        if export.zenodo is None:
            raise DepositError(
                "Zenodo needs the authors. Add `authors` to the `dataset` of the study file, record it with `parley "
                f"metadata {export.study} FILE`, and export again"
            )
        packed = zip_export(export.path, folder / f"{export.path.resolve().name}.zip")
        beside = {name: export.path / name for name in BESIDE if name in export.checksums}
        return {**beside, packed.name: packed}

    def create(self, export: ExportFolder, name: str) -> Place:
        """Create an empty deposition."""
        return _place(self._client.json("POST", DEPOSITIONS, {}, again=False))

    def find(self, id_: str) -> Place:
        """The deposition with this id."""
        return _place(self._client.json("GET", self._path(id_)))

    def describe(self, place: Place, export: ExportFolder, embargo_until: date | None) -> None:
        """Give it the metadata of `.zenodo.json`; a DOI of its own is left out there, because Zenodo adds it."""
        fields = dict(export.zenodo or {})
        if fields.get("doi") == place.reserved_doi:
            fields.pop("doi", None)
        if embargo_until is not None:
            fields |= {"access_right": "embargoed", "embargo_date": embargo_until.isoformat()}
        self._client.json("PUT", self._path(place.id), {"metadata": {"access_right": "open", **fields}})

    def upload(self, place: Place, upload: Upload, advance: Advance) -> str:
        """Send files to the deposition's bucket, and compare the MD5 that Zenodo computes of each."""
        deposition = self._client.json("GET", self._path(place.id))
        bucket, there = deposition["links"]["bucket"], self._there(place)
        for gone in {*upload.gone} & there.keys():
            self._client.send("DELETE", f"{self._path(place.id)}/files/{there[gone]['id']}")
        for name, file in upload.files.items():
            if name in there and _checksum(there[name]) == _md5(file):
                advance(name, file.stat().st_size)
            else:
                self._client.put(f"{bucket}/{quote(name)}", file, partial(advance, name))
        there = self._there(place)
        wrong = [name for name, file in upload.files.items() if _checksum(there.get(name, {})) != _md5(file)]
        if wrong:
            raise DepositError(
                f"Zenodo has other checksums for {', '.join(wrong)}: the upload was damaged on its way. Nothing was "
                "published. Run the same command again, which sends these files again"
            )
        return ""

    def publish(self, place: Place) -> Published:
        """Publish it, which registers the DOI."""
        return _published(self._client.json("POST", f"{self._path(place.id)}/actions/publish", again=False))

    def _path(self, id_: str) -> str:
        return f"{DEPOSITIONS}/{quote(id_, safe='')}"

    def _there(self, place: Place) -> dict[str, dict[str, Any]]:
        return {one["filename"]: one for one in self._client.json("GET", f"{self._path(place.id)}/files")}


def _place(deposition: Mapping[str, Any]) -> Place:
    public = _published(deposition) if deposition.get("submitted") else None
    return Place(str(deposition["id"]), str(deposition["links"]["html"]), _reserved(deposition), public)


def _published(deposition: Mapping[str, Any]) -> Published:
    doi = deposition.get("doi") or _reserved(deposition)
    return Published(str(deposition.get("record_url") or deposition["links"]["html"]), str(doi))


def _reserved(deposition: Mapping[str, Any]) -> str:
    reserved = deposition.get("metadata", {}).get("prereserve_doi")
    return str(reserved.get("doi", "")) if isinstance(reserved, dict) else ""


def _checksum(file: Mapping[str, Any]) -> str:
    """The MD5 that Zenodo gives of a file; its bucket writes `md5:` before it."""
    return str(file.get("checksum", "")).removeprefix("md5:")


def _md5(file: Path) -> str:
    with file.open("rb") as opened:
        return file_digest(opened, "md5").hexdigest()
