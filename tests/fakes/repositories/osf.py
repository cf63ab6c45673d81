"""The OSF: nodes and identifiers of its API v2 (https://developer.osf.io), and files by WaterButler
(https://waterbutler.readthedocs.io/en/latest/api.html), on one host."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import md5, sha256
from typing import Any

from tests.fakes.repositories.server import Answer, RepositoryFake, Request

PER_PAGE = 10
CATEGORIES = ("project", "data", "analysis", "methods and measures", "software", "other", "")


@dataclass
class Entry:
    """A file or a folder of OSF Storage, in the folder with the id `parent` (empty: the root)."""

    id: str
    kind: str
    name: str
    parent: str
    content: bytes = b""


@dataclass
class Node:
    """A project."""

    id: str
    attributes: dict[str, Any]
    entries: dict[str, Entry] = field(default_factory=dict)
    doi: str = ""


class OsfFake(RepositoryFake):
    """The OSF."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: dict[str, Node] = {}
        self.files_url = ""
        """Where WaterButler is said to be, if not here."""

    @property
    def routes(self) -> list[tuple[str, str, Callable[[Request], Answer]]]:
        """The documented routes."""
        node, storage = r"/v2/nodes/(?P<id>\w+)/", r"/v1/resources/(?P<id>\w+)/providers/osfstorage/"
        return [
            ("POST", r"/v2/nodes/", self._create),
            ("GET", node, lambda request: Answer(200, {"data": self._shown(self._found(request))})),
            ("PATCH", node, self._change),
            ("GET", f"{node}identifiers/", self._identifiers),
            ("POST", f"{node}identifiers/", self._mint),
            ("GET", f"{node}files/providers/osfstorage/", self._provider),
            ("GET", f"{node}files/osfstorage/(?:(?P<folder>\\w+)/)?", self._list),
            ("PUT", rf"{storage}(?:(?P<folder>\w+)/)?", self._new),
            ("PUT", rf"{storage}(?P<entry>\w+)", self._update),
            ("GET", rf"{storage}(?P<entry>\w+)", self._download),
            ("DELETE", rf"{storage}(?P<entry>\w+)", self._delete),
        ]

    def refusal(self, status: int, message: str) -> Answer:
        """An error of JSON:API."""
        return Answer(status, {"errors": [{"detail": message}]})

    def _found(self, request: Request) -> Node:
        found = self.nodes.get(request["id"])
        if found is None:
            raise self.refuse(404, "Not found.")
        return found

    def _create(self, request: Request) -> Answer:
        data = self._data(request, "nodes")
        given = data["attributes"]
        if not given.get("title") or given.get("category") not in CATEGORIES:
            raise self.refuse(400, "This field is required.")
        id_ = f"n{len(self.nodes):04d}"
        self.nodes[id_] = Node(id_, {"description": "", "tags": [], "public": False, **given})
        return Answer(201, {"data": self._shown(self.nodes[id_])})

    def _data(self, request: Request, type_: str) -> Any:
        if request.headers.get("content-type") not in ("application/json", "application/vnd.api+json"):
            raise self.refuse(415, "Unsupported media type")
        data = request.json["data"]
        if data["type"] != type_:
            raise self.refuse(409, f"This resource has a type of {type_!r}")
        return data

    def _change(self, request: Request) -> Answer:
        found, data = self._found(request), self._data(request, "nodes")
        if data.get("id") != found.id:
            raise self.refuse(409, "The id used in the URL and the payload differ")
        found.attributes |= data["attributes"]
        return Answer(200, {"data": self._shown(found)})

    def _identifiers(self, request: Request) -> Answer:
        found = self._found(request)
        return Answer(200, {"data": [self._doi(found)] if found.doi else [], "links": {"next": None}})

    def _mint(self, request: Request) -> Answer:
        found, data = self._found(request), self._data(request, "identifiers")
        if not found.attributes["public"] or data["attributes"] != {"category": "doi"}:
            raise self.refuse(403, "You do not have permission to perform this action.")
        if found.doi:
            raise self.refuse(400, "A DOI already exists for this resource.")
        found.doi = f"10.17605/OSF.IO/{found.id.upper()}"
        return Answer(201, {"data": self._doi(found)})

    def _doi(self, found: Node) -> dict[str, Any]:
        return {"type": "identifiers", "id": "1", "attributes": {"category": "doi", "value": found.doi}}

    def _provider(self, request: Request) -> Answer:
        root = self._storage(self._found(request))
        links = {"upload": root, "new_folder": f"{root}?kind=folder"}
        attributes = {"kind": "folder", "path": "/", "provider": "osfstorage", "name": "osfstorage"}
        return Answer(200, {"data": {"type": "files", "attributes": attributes, "links": links}})

    def _list(self, request: Request) -> Answer:
        """A page of the files in a folder."""
        found, match = self._found(request), request.match
        folder = (match and match["folder"]) or ""
        entries = [one for one in found.entries.values() if one.parent == folder]
        page = int(request.query.get("page", "1"))
        some = entries[(page - 1) * PER_PAGE : page * PER_PAGE]
        more = f"{self.url}{request.path}?page={page + 1}" if len(entries) > page * PER_PAGE else None
        return Answer(200, {"data": [self._entity(found, one) for one in some], "links": {"next": more}})

    def _new(self, request: Request) -> Answer:
        found, match = self._found(request), request.match
        folder, kind = (match and match["folder"]) or "", request.query["kind"]
        if folder and folder not in found.entries:
            raise self.refuse(404, "Could not retrieve folder")
        name = request.query["name"]
        if any((one.parent, one.name) == (folder, name) for one in found.entries.values()):
            raise self.refuse(409, f"Cannot complete action: file or folder {name!r} already exists in this location")
        made = Entry(f"e{len(found.entries):04d}", kind, name, folder, request.body)
        found.entries[made.id] = made
        return Answer(201, {"data": self._entity(found, made)})

    def _update(self, request: Request) -> Answer:
        found = self._found(request)
        entry = self._entry(request)
        entry.content = request.body
        return Answer(200, {"data": self._entity(found, entry)})

    def _entry(self, request: Request) -> Entry:
        entry = self._found(request).entries.get(request["entry"])
        if entry is None or entry.kind != "file":
            raise self.refuse(404, "Could not retrieve file")
        return entry

    def _download(self, request: Request) -> Answer:
        return Answer(200, self._entry(request).content)

    def _delete(self, request: Request) -> Answer:
        del self._found(request).entries[self._entry(request).id]
        return Answer(204)

    def _storage(self, found: Node) -> str:
        return f"{self.files_url or self.url}/v1/resources/{found.id}/providers/osfstorage/"

    def path(self, found: Node, entry: Entry) -> str:
        """The path of a file or folder, which ends with a slash."""
        above = self.path(found, found.entries[entry.parent]) if entry.parent else "/"
        return f"{above}{entry.name}{'/' if entry.kind == 'folder' else ''}"

    def _entity(self, found: Node, entry: Entry) -> dict[str, Any]:
        own = f"{self._storage(found)}{entry.id}"
        inside = f"{self.url}/v2/nodes/{found.id}/files/osfstorage/{entry.id}/"
        folder = entry.kind == "folder"
        hashes = {"sha256": sha256(entry.content).hexdigest(), "md5": md5(entry.content).hexdigest()}
        links = {"upload": f"{own}/" if folder else own, "delete": own}
        more = {"new_folder": f"{own}/?kind=folder"} if folder else {"download": own}
        return {
            "id": entry.id,
            "type": "files",
            "attributes": {
                "kind": entry.kind,
                "name": entry.name,
                "materialized_path": self.path(found, entry),
                "size": None if folder else len(entry.content),
                "extra": {} if folder else {"hashes": hashes},
            },
            "relationships": {"files": {"links": {"related": {"href": inside}}}} if folder else {},
            "links": {**links, **more},
        }

    def _shown(self, found: Node) -> dict[str, Any]:
        links = {"self": f"{self.url}/v2/nodes/{found.id}/", "html": f"https://osf.io/{found.id}/"}
        return {"id": found.id, "type": "nodes", "attributes": found.attributes, "links": links}
