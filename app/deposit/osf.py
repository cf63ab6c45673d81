"""Deposits at the Open Science Framework, by its API v2 (https://developer.osf.io: Nodes, Identifiers, Errors) and, for
files, WaterButler (https://waterbutler.readthedocs.io/en/latest/api.html).

A project (node) is private until it is made public, and only a public one can be given a DOI. Folders stay folders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

import httpx2

from app.deposit.http import RepositoryClient
from app.deposit.repository import Advance, Place, Published, Upload
from app.errors import DepositError
from storage.datasets.deposits.export_folder import ExportFolder
from storage.db.checksums import sha256_of

NODES = "/v2/nodes/"
JSON_API = {"content-type": "application/vnd.api+json"}
Entity = Mapping[str, Any]


class Osf:
    """The Open Science Framework."""

    name, embargoes = "osf", False

    def __init__(self, client: RepositoryClient, server: str) -> None:
        self._client, self.server = client, server

    def files(self, export: ExportFolder, folder: Path) -> Mapping[str, Path]:
        """The files of the export, in its folders."""
        return {path: export.path / path for path in export.checksums}

    def create(self, export: ExportFolder, name: str) -> Place:
        """Create a private project."""
        attributes = {"title": name or export.title, "category": "data", "public": False}
        body = {"data": {"type": "nodes", "attributes": attributes}}
        return _place(self._client.json("POST", NODES, body, again=False, headers=JSON_API)["data"])

    def find(self, id_: str) -> Place:
        """The private project with this id."""
        found = self._client.json("GET", self._node(id_))["data"]
        place = _place(found)
        if not found["attributes"]["public"]:
            return place
        return replace(place, public=Published(place.url, next(self._dois(place), "")))

    def describe(self, place: Place, export: ExportFolder, embargo_until: date | None) -> None:
        """Give it the description and keywords of the export."""
        keywords = export.metadata.get("keywords") or []
        attributes = {"description": export.metadata["description"], "tags": list(keywords)}
        self._change(place, attributes)

    def upload(self, place: Place, upload: Upload, advance: Advance) -> str:
        """Send files to OSF Storage, and compare the SHA-256 that it computes of each."""
        root = self._client.json("GET", f"{self._node(place.id)}files/providers/osfstorage/")["data"]
        there, folders = self._there(place), {"/": root["links"]}
        for path, entity in there.items():
            if entity["attributes"]["kind"] == "folder":
                folders[path] = entity["links"]
            elif path.lstrip("/") in upload.gone:
                self._client.send("DELETE", entity["links"]["delete"])
        for path, file in upload.files.items():
            if f"/{path}" in there and _stored_sha256(there[f"/{path}"]) == sha256_of(file):
                advance(path, file.stat().st_size)
            elif f"/{path}" in there:
                url = there[f"/{path}"]["links"]["upload"]
                self._client.put(url, file, partial(advance, path), params={"kind": "file"})
            else:
                self._new(path, file, folders, advance)
        there = self._there(place)
        wrong = [
            name for name, file in upload.files.items() if _stored_sha256(there.get(f"/{name}", {})) != sha256_of(file)
        ]
        if wrong:
            raise DepositError(
                f"The OSF has other checksums for {', '.join(wrong)}: the upload was damaged on its way. Nothing was "
                "published. Run the same command again, which sends these files again"
            )
        return ""

    def publish(self, place: Place) -> Published:
        """Make the project public, and give it a DOI unless it has one."""
        self._change(place, {"public": True})
        doi = next(self._dois(place), "")
        if not doi:
            body = {"data": {"type": "identifiers", "attributes": {"category": "doi"}}}
            url = f"{self._node(place.id)}identifiers/"
            made = self._client.json("POST", url, body, again=False, headers=JSON_API)
            doi = str(made["data"]["attributes"]["value"])
        return Published(place.url, doi)

    def _dois(self, place: Place) -> Iterator[str]:
        for one in self._pages(f"{self._node(place.id)}identifiers/?filter%5Bcategory%5D=doi"):
            yield str(one["attributes"]["value"])

    def _change(self, place: Place, attributes: Mapping[str, Any]) -> None:
        body = {"data": {"type": "nodes", "id": place.id, "attributes": attributes}}
        self._client.json("PATCH", self._node(place.id), body, headers=JSON_API)

    def _new(self, path: str, file: Path, folders: dict[str, Entity], advance: Advance) -> None:
        """Send a file that is not there yet, in folders that are made where they are missing."""
        *above, name = PurePosixPath(path).parts
        folder = "/"
        for part in above:
            child = f"{folder}{part}/"
            if child not in folders:
                # `new_folder` has `?kind=folder` already, as the API documents it
                url = f"{folders[folder]['new_folder']}&name={quote(part, safe='')}"
                folders[child] = self._client.json("PUT", url, again=False)["data"]["links"]
            folder = child
        url, params = folders[folder]["upload"].partition("?")[0], {"kind": "file", "name": name}
        try:
            self._client.put(url, file, partial(advance, path), params=params)
        except DepositError as error:  # a try whose answer was lost had stored it; its checksum is compared later
            if error.status != httpx2.codes.CONFLICT:
                raise

    def _there(self, place: Place) -> dict[str, Entity]:
        """All files and folders, by their paths, which begin with `/`; those of folders end with one."""
        found: dict[str, Entity] = {}
        open_ = [f"{self._node(place.id)}files/osfstorage/"]
        while open_:
            for entity in self._pages(open_.pop()):
                found[entity["attributes"]["materialized_path"]] = entity
                if entity["attributes"]["kind"] == "folder":
                    open_.append(entity["relationships"]["files"]["links"]["related"]["href"])
        return found

    def _pages(self, url: str | None) -> Iterator[Entity]:
        while url:
            page = self._client.json("GET", url)
            yield from page["data"]
            url = page["links"].get("next")

    def _node(self, id_: str) -> str:
        return f"{NODES}{quote(id_, safe='')}/"


def _place(node: Entity) -> Place:
    return Place(str(node["id"]), str(node["links"]["html"]))


def _stored_sha256(entity: Entity) -> str:
    """The SHA-256 that the OSF gives of a file; empty if it gives none."""
    return str(entity.get("attributes", {}).get("extra", {}).get("hashes", {}).get("sha256", ""))
