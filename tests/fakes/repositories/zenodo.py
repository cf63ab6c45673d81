"""Zenodo's deposit API, as https://developers.zenodo.org documents it: depositions, files in buckets, publication."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import md5
from typing import Any

from tests.fakes.http_server import Answer
from tests.fakes.repositories.server import RepositoryFake, Route, Routed

REQUIRED = ("upload_type", "title", "creators", "description", "access_right")
# The fields of a deposition of the type dataset.
FIELDS = {
    *REQUIRED, "license", "embargo_date", "access_conditions", "doi", "prereserve_doi", "keywords", "notes",
    "publication_date", "version", "language", "related_identifiers", "contributors", "references", "communities",
    "grants", "subjects", "locations", "dates", "method",
}  # fmt: skip
RIGHTS = ("open", "embargoed", "restricted", "closed")
MOST_FILES = 100


@dataclass
class Deposition:
    """A deposition with the files of its bucket."""

    id: int
    metadata: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    submitted: bool = False


class ZenodoFake(RepositoryFake):
    """Zenodo."""

    def __init__(self) -> None:
        super().__init__()
        self.depositions: dict[int, Deposition] = {}

    @property
    def routes(self) -> list[Route]:
        one = r"/api/deposit/depositions/(?P<id>\d+)"
        return [
            ("POST", r"/api/deposit/depositions", self._create),
            ("GET", one, lambda request: Answer(200, self._shown(self._found(request)))),
            ("PUT", one, self._describe),
            ("GET", f"{one}/files", lambda request: Answer(200, self._files(self._found(request)))),
            ("DELETE", f"{one}/files/(?P<file>.+)", self._delete),
            ("POST", f"{one}/actions/publish", self._publish),
            ("PUT", r"/api/files/bucket-(?P<id>\d+)/(?P<name>[^/]+)", self._put),
            ("GET", r"/api/files/bucket-(?P<id>\d+)/(?P<name>[^/]+)", self._download),
        ]

    def refusal(self, status: int, message: str) -> Answer:
        """An error with `message` and `status`; a 500 has none."""
        return Answer(status, None if status == 500 else {"message": message, "status": status})

    def _found(self, request: Routed) -> Deposition:
        found = self.depositions.get(int(request["id"]))
        if found is None:
            raise self.refuse(404, "Deposition not found")
        return found

    def _json(self, request: Routed) -> Any:
        if request.headers.get("content-type") != "application/json":
            raise self.refuse(415, "Invalid 'Content-Type' header. Expected one of: application/json")
        return request.json

    def _create(self, request: Routed) -> Answer:
        self._json(request)
        made = Deposition(1001 + len(self.depositions))
        self.depositions[made.id] = made
        return Answer(201, self._shown(made))

    def _describe(self, request: Routed) -> Answer:
        found, fields = self._found(request), self._json(request)["metadata"]
        if found.submitted:
            raise self.refuse(403, "Deposition is published")
        faults = [*self._faults(fields)]
        if faults:
            return Answer(400, {"message": "Validation error", "status": 400, "errors": faults})
        found.metadata = fields
        return Answer(200, self._shown(found))

    def _faults(self, fields: dict[str, Any]) -> list[dict[str, str]]:
        wrong = [(f"metadata.{name}", "Unknown field name.") for name in fields.keys() - FIELDS]
        wrong += [(f"metadata.{name}", "Missing data for required field.") for name in REQUIRED if not fields.get(name)]
        if fields.get("access_right") not in RIGHTS:
            wrong.append(("metadata.access_right", "Not a valid choice"))
        if fields.get("access_right") == "embargoed" and not fields.get("embargo_date"):
            wrong.append(("metadata.embargo_date", "Missing data for required field."))
        return [{"field": field, "message": message} for field, message in wrong]

    def _put(self, request: Routed) -> Answer:
        found = self._found(request)
        if found.submitted:
            raise self.refuse(403, "Bucket is locked for modification.")
        if len({*found.files, request["name"]}) > MOST_FILES:
            raise self.refuse(400, "Too many files")
        found.files[request["name"]] = request.body
        checksum = f"md5:{md5(request.body).hexdigest()}"
        return Answer(201, {"key": request["name"], "checksum": checksum, "size": len(request.body), "is_head": True})

    def _download(self, request: Routed) -> Answer:
        content = self._found(request).files.get(request["name"])
        return self.refusal(404, "Object does not exist.") if content is None else Answer(200, content)

    def _delete(self, request: Routed) -> Answer:
        found, name = self._found(request), request["file"].removeprefix("file-")
        if found.submitted:
            raise self.refuse(403, "Deposition is published")
        if found.files.pop(name, None) is None:
            raise self.refuse(404, "Deposition file does not exist")
        return Answer(204)

    def _publish(self, request: Routed) -> Answer:
        found = self._found(request)
        if found.submitted:
            raise self.refuse(403, "Deposition is published")
        if not found.files or not found.metadata:
            raise self.refuse(400, "Validation error: files and metadata are required")
        found.submitted = True
        return Answer(202, self._shown(found))

    def _files(self, found: Deposition) -> list[dict[str, Any]]:
        return [
            {
                "id": f"file-{name}",
                "filename": name,
                "filesize": len(content),
                "checksum": md5(content).hexdigest(),
                "links": {"download": f"{self.url}/api/files/bucket-{found.id}/{name}"},
            }
            for name, content in found.files.items()
        ]

    def _shown(self, found: Deposition) -> dict[str, Any]:
        one, doi = f"{self.url}/api/deposit/depositions/{found.id}", f"10.5072/zenodo.{found.id}"
        done = {"doi": found.metadata.get("doi", doi), "record_url": f"{self.url}/records/{found.id}"}
        return {
            "id": found.id,
            "title": found.metadata.get("title", ""),
            "state": "done" if found.submitted else "unsubmitted",
            "submitted": found.submitted,
            "metadata": {**found.metadata, "prereserve_doi": {"doi": doi, "recid": found.id}},
            "files": self._files(found),
            "links": {
                "self": one,
                "html": f"{self.url}/deposit/{found.id}",
                "files": f"{one}/files",
                "publish": f"{one}/actions/publish",
                "bucket": f"{self.url}/api/files/bucket-{found.id}",
            },
            **(done if found.submitted else {}),
        }
