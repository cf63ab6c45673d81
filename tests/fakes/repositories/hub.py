"""The Hugging Face Hub, as far as its client uses it for a dataset or a file: repositories, commits, LFS, downloads.

Sources: https://huggingface.co/docs/hub/api, the client's own requests, and
https://github.com/git-lfs/git-lfs/blob/main/docs/api/batch.md for large files.
"""

from __future__ import annotations

import json
from base64 import b64decode
from dataclasses import dataclass, field
from hashlib import sha1, sha256
from typing import Any

from tests.fakes.http_server import Answer
from tests.fakes.repositories.server import RepositoryFake, Route, Routed

# Files that the Hub's default .gitattributes give to Git LFS, besides those above 10 MB.
LARGE = (".parquet", ".zip", ".gz", ".png", ".jpg")


@dataclass
class Repository:
    """A dataset repository; `large` are the paths whose content is in LFS."""

    id: str
    private: bool
    files: dict[str, bytes] = field(default_factory=lambda: {".gitattributes": b"*.parquet filter=lfs\n"})
    large: set[str] = field(default_factory=set)
    commits: int = 1

    @property
    def sha(self) -> str:
        return sha1(f"{self.id}{self.commits}".encode()).hexdigest()


class HubFake(RepositoryFake):
    """The Hub, with one user, `lab`."""

    open_paths = ("/lfs/",)  # signed addresses, as those of S3

    def __init__(self) -> None:
        super().__init__()
        self.repositories: dict[str, Repository] = {}
        self.stored: dict[str, bytes] = {}
        """The files uploaded to LFS, by SHA-256, committed or not."""
        self.large_from = 10_000_000

    @property
    def routes(self) -> list[Route]:
        one = r"/api/datasets/(?P<id>[\w.-]+/[\w.-]+)"
        return [
            ("GET", "/api/whoami-v2", lambda request: Answer(200, {"type": "user", "name": "lab", "orgs": []})),
            ("POST", "/api/repos/create", self._create),
            ("POST", "/api/validate-yaml", lambda request: Answer(200, {"errors": [], "warnings": []})),
            ("GET", f"{one}(?:/revision/[^/]+)?", lambda request: Answer(200, self._shown(self._found(request)))),
            ("GET", f"{one}/tree/[^/]+", self._tree),
            ("POST", f"{one}/preupload/main", self._modes),
            ("POST", f"{one}/commit/main", self._commit),
            ("PUT", f"{one}/settings", self._settings),
            ("POST", r"/datasets/(?P<id>[\w.-]+/[\w.-]+)\.git/info/lfs/objects/batch", self._batch),
            ("PUT", r"/lfs/(?P<oid>[0-9a-f]{64})", self._store),
            ("POST", r"/lfs/(?P<oid>[0-9a-f]{64})/verify", self._verify),
            ("HEAD", r"(?:/datasets)?/(?P<id>[\w.-]+/[\w.-]+)/resolve/[^/]+/(?P<path>.+)", self._resolve),
            ("GET", r"(?:/datasets)?/(?P<id>[\w.-]+/[\w.-]+)/resolve/[^/]+/(?P<path>.+)", self._resolve),
        ]

    def refusal(self, status: int, message: str) -> Answer:
        code = {"x-error-code": "RepoNotFound"} if status == 404 else {}
        return Answer(status, {"error": message}, {**code, "x-error-message": message})

    def _found(self, request: Routed) -> Repository:
        found = self.repositories.get(request["id"])
        if found is None:
            raise self.refuse(404, "Repository not found")
        return found

    def _create(self, request: Routed) -> Answer:
        asked = request.json
        id_ = f"{asked['organization'] or 'lab'}/{asked['name']}"
        if asked["type"] != "dataset":
            raise self.refuse(400, "Invalid repo type")
        if id_ in self.repositories:
            raise self.refuse(409, "You already created this dataset repo")
        self.repositories[id_] = Repository(id_, asked.get("visibility") == "private")
        return Answer(200, {"url": f"{self.url}/datasets/{id_}", "name": id_, "id": id_})

    def _tree(self, request: Routed) -> Answer:
        found = self._found(request)
        return Answer(200, [self._entry(path, content, path in found.large) for path, content in found.files.items()])

    def _entry(self, path: str, content: bytes, large: bool) -> dict[str, Any]:
        lfs = {"lfs": {"oid": sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}} if large else {}
        return {"type": "file", "path": path, "size": len(content), "oid": blob(content), **lfs}

    def _modes(self, request: Routed) -> Answer:
        found, files = self._found(request), []
        for one in request.json["files"]:
            large = one["path"].endswith(LARGE) or one["size"] >= self.large_from
            there = found.files.get(one["path"])
            known = None if there is None else sha256(there).hexdigest() if large else blob(there)
            mode = "lfs" if large else "regular"
            files.append({"path": one["path"], "uploadMode": mode, "shouldIgnore": False, "oid": known})
        return Answer(200, {"files": files})

    def _batch(self, request: Routed) -> Answer:
        self._found(request)
        return Answer(200, {"transfer": "basic", "objects": [self._object(one) for one in request.json["objects"]]})

    def _object(self, one: dict[str, Any]) -> dict[str, Any]:
        if one["oid"] in self.stored:
            return one
        href = f"{self.url}/lfs/{one['oid']}"
        return {**one, "actions": {"upload": {"href": href}, "verify": {"href": f"{href}/verify"}}}

    def _store(self, request: Routed) -> Answer:
        if "authorization" in request.headers:
            return Answer(400, b"Only one auth mechanism allowed")  # as S3 says
        if sha256(request.body).hexdigest() != request["oid"]:
            return Answer(400, b"XAmzContentSHA256Mismatch")
        self.stored[request["oid"]] = request.body
        return Answer(200, b"")

    def _verify(self, request: Routed) -> Answer:
        there = self.stored.get(request["oid"])
        same = there is not None and request.json == {"oid": request["oid"], "size": len(there)}
        return Answer(200, {}) if same else self.refusal(404, "Object not found")

    def _commit(self, request: Routed) -> Answer:
        found = self._found(request)
        files, large = dict(found.files), {*found.large}
        for line in map(json.loads, request.body.splitlines()):
            value = line["value"]
            match line["key"]:
                case "file":
                    files[value["path"]] = b64decode(value["content"])
                    large.discard(value["path"])
                case "lfsFile":
                    if value["oid"] not in self.stored:
                        raise self.refuse(400, "LFS pointer pointed to a file that does not exist")
                    files[value["path"]] = self.stored[value["oid"]]
                    large.add(value["path"])
                case "deletedFile":
                    del files[value["path"]]
                    large.discard(value["path"])
                case _:
                    pass  # the header
        found.files, found.large, found.commits = files, large, found.commits + 1
        url = f"{self.url}/datasets/{found.id}/commit/{found.sha}"
        return Answer(200, {"success": True, "commitOid": found.sha, "commitUrl": url, "hookOutput": ""})

    def _settings(self, request: Routed) -> Answer:
        asked = request.json
        self._found(request).private = asked.get("visibility", "") == "private" or asked.get("private", False)
        return Answer(200, {})

    def _resolve(self, request: Routed) -> Answer:
        found = self._found(request)
        content = found.files.get(request["path"])
        if content is None:
            return Answer(404, {"error": "Entry not found"}, {"x-error-code": "EntryNotFound"})
        etag = sha256(content).hexdigest() if request["path"] in found.large else blob(content)
        head = {"etag": f'"{etag}"', "x-repo-commit": found.sha, "content-length": str(len(content))}
        return Answer(200, content, head)

    def _shown(self, found: Repository) -> dict[str, Any]:
        files = [{"rfilename": path} for path in found.files]
        return {"_id": "1", "id": found.id, "sha": found.sha, "private": found.private, "tags": [], "siblings": files}


def blob(content: bytes) -> str:
    return sha1(b"blob %d\0" % len(content) + content).hexdigest()
