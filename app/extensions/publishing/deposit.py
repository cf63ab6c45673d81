"""Deposits of exports at the Hugging Face Hub and at Zenodo, behind the gate: a draft, and its publication.

What was done is recorded beside the export after each step, so that the same command continues after an interruption.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote, urlsplit

import httpx2

from app.backends.wire.http_client import connection_to, trusted
from app.config.settings import env_name
from app.errors import DepositError
from app.extensions.publishing.export_folders import Deposit, ExportFolder, GateReport, read_record, write_record
from storage.datasets.describe.export_folder import README
from storage.datasets.describe.metadata_files import CFF, ZENODO
from storage.datasets.describe.zip_file import zip_export

TIMEOUT = httpx2.Timeout(60.0, connect=10.0)
CONTINUE = "Run the same command again: it continues where it stopped"
DATASET = "dataset"
DEPOSITIONS = "/api/deposit/depositions"


def _client(server: str, **more: Any) -> httpx2.Client:
    """A client with the deployment's proxy and certificate authorities."""
    way = {**connection_to(server), "verify": trusted()}  # it may lead on to https
    return httpx2.Client(timeout=TIMEOUT, **way, **more)


class HuggingFace:
    """A private dataset repository on the Hub, by its own client; the metadata are at the top of README.md."""

    name = "huggingface"

    def __init__(self, server: str, token: str) -> None:
        import huggingface_hub
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns that open files are not sent by Xet
        huggingface_hub.set_client_factory(lambda: _client(server, follow_redirects=True))
        self.server, self._token = server, token
        self._api = huggingface_hub.HfApi(endpoint=server, token=token, library_name="parley")

    def create(self, export: ExportFolder, name: str) -> Deposit:
        with self._explained():
            id_ = self._api.create_repo(name or export.study, repo_type=DATASET, private=True).repo_id
        return Deposit(to=self.name, server=self.server, id=id_, url=f"{self.server}/datasets/{id_}")

    def is_public(self, deposit: Deposit) -> bool:
        with self._explained():
            return not self._api.repo_info(deposit.id, repo_type=DATASET).private

    def upload(self, export: ExportFolder, deposit: Deposit) -> None:
        """All files in one commit, which also removes files of an earlier one."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with self._explained(), ExitStack() as opened:
            there = {*self._api.list_repo_files(deposit.id, repo_type=DATASET)} - {".gitattributes"}
            changes: list[Any] = [CommitOperationDelete(path) for path in there - export.checksums.keys()]
            # Open files go by HTTP, through the deployment's proxy; Xet, which takes paths, has connections of its own.
            # One at a time: of files with the same content the client reads one, in two threads at once.
            for path in export.checksums:
                changes.append(CommitOperationAdd(path, opened.enter_context((export.path / path).open("rb"))))
            self._api.create_commit(
                deposit.id, changes, commit_message="Deposit an export of Parley", repo_type=DATASET, num_threads=1
            )

    def publish(self, deposit: Deposit) -> Deposit:
        with self._explained():
            self._api.update_repo_settings(deposit.id, private=False, repo_type=DATASET)
        return deposit

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from huggingface_hub import close_session
        from huggingface_hub.errors import HfHubHTTPError

        try:
            yield
        except (httpx2.HTTPError, OSError, ValueError, RuntimeError) as error:
            cause = error.__cause__ if isinstance(error.__cause__, HfHubHTTPError) else error
            status = cause.response.status_code if isinstance(cause, HfHubHTTPError) else 0
            raise _refused(self, status, str(cause), self._token) from None
        finally:
            close_session()


class Zenodo:
    """Zenodo, or its sandbox, by its deposit API (https://developers.zenodo.org). It has no folders and at most 100
    files, so an export is one zip file, beside its card and citation."""

    name = "zenodo"

    def __init__(self, server: str, token: str) -> None:
        self.server, self._token = server, token

    def create(self, export: ExportFolder, name: str) -> Deposit:
        self._metadata(export)
        made = self._json("POST", DEPOSITIONS, json={})
        doi = str(made["metadata"]["prereserve_doi"]["doi"])
        return Deposit(to=self.name, server=self.server, id=str(made["id"]), url=made["links"]["html"], doi=doi)

    def is_public(self, deposit: Deposit) -> bool:
        return bool(self._json("GET", _path(deposit))["submitted"])

    def upload(self, export: ExportFolder, deposit: Deposit) -> None:
        """Send the metadata of `.zenodo.json` and the files that are not there, and compare the MD5 of each."""
        fields = {"access_right": "open", **self._metadata(export)}
        if fields.get("doi") == deposit.doi:
            del fields["doi"]  # Zenodo adds its own
        bucket = self._json("PUT", _path(deposit), json={"metadata": fields})["links"]["bucket"]
        there = {one["filename"]: one for one in self._json("GET", f"{_path(deposit)}/files")}
        with TemporaryDirectory(prefix="parley-deposit-") as folder:
            packed = zip_export(export.path, Path(folder) / f"{export.path.resolve().name}.zip")
            files = [export.path / name for name in (README, CFF) if name in export.checksums] + [packed]
            for name in there.keys() - {file.name for file in files}:
                self._json("DELETE", f"{_path(deposit)}/files/{there[name]['id']}")
            for file in files:
                with file.open("rb") as content:
                    md5 = file_digest(content, "md5").hexdigest()
                    content.seek(0)
                    if there.get(file.name, {}).get("checksum") == md5:
                        continue
                    sent = self._json("PUT", f"{bucket}/{quote(file.name)}", content=content)
                if sent["checksum"] != f"md5:{md5}":
                    raise DepositError(f"{file.name} was damaged on its way. Nothing was published. {CONTINUE}")

    def publish(self, deposit: Deposit) -> Deposit:
        done = self._json("POST", f"{_path(deposit)}/actions/publish")
        return deposit.model_copy(update={"url": done["record_url"], "doi": done["doi"]})

    def _metadata(self, export: ExportFolder) -> Mapping[str, Any]:
        try:
            return dict(json.loads((export.path / ZENODO).read_bytes()))
        except (OSError, ValueError, TypeError):
            raise DepositError(
                f"Zenodo needs the authors, in {ZENODO}. Add `authors` to the `dataset` of the study file, record it "
                f"with `parley metadata {export.study} FILE`, and export again"
            ) from None

    def _json(self, method: str, url: str, **more: Any) -> Any:
        """The JSON of an answer. The token goes only to the repository's own host, even if answers name others."""
        url = url if "://" in url else self.server + url
        if urlsplit(url)[:2] != urlsplit(self.server)[:2]:
            raise DepositError(f"Zenodo named an address of another site, {urlsplit(url).netloc}. Nothing was sent")
        headers = {"authorization": f"Bearer {self._token}", "user-agent": "parley"}
        try:
            with _client(self.server, headers=headers) as client:
                answer = client.request(method, url, **more)
        except httpx2.HTTPError as error:
            raise _refused(self, 0, str(error), self._token) from None
        if not answer.is_success:
            raise _refused(self, answer.status_code, answer.text or answer.reason_phrase, self._token)
        return answer.json() if answer.content else {}


Repository = HuggingFace | Zenodo


def deposit(
    export: ExportFolder, report: GateReport, repository: Repository, *, publish: bool = False, name: str = ""
) -> Deposit:
    """Deposit an export that has passed the gate, or continue. Raises DepositError with what to do next."""
    if report.open:
        raise DepositError(f"The gate has open findings ({len(report.open)}), so nothing is deposited")
    server = (repository.name, repository.server)
    made = next((one for one in read_record(export.path).deposits if (one.to, one.server) == server), None)
    if made is None:
        made = _save(export, repository.create(export, name))
    public = made.published or repository.is_public(made)
    if public and made.data != export.data:
        raise DepositError(
            f"{made.url} is public and has another state of this export. A published deposit does not change: export "
            "into another folder, and deposit that"
        )
    if not public:
        repository.upload(export, made)
        made = _save(export, made.model_copy(update={"data": export.data}))
        if not publish:
            return made
        made = repository.publish(made)
    return _save(export, made.model_copy(update={"published": True}))


def _save(export: ExportFolder, deposit: Deposit) -> Deposit:
    record = read_record(export.path)
    others = (one for one in record.deposits if (one.to, one.server) != (deposit.to, deposit.server))
    write_record(export.path, record.model_copy(update={"deposits": (*others, deposit)}))
    return deposit


def _refused(repository: Repository, status: int, said: str, token: str) -> DepositError:
    said = " ".join(said.replace(token, "***")[:400].split()).rstrip(".")
    advice = {
        0: CONTINUE,
        400: "Nothing was published. Correct what it names, then run the same command again",
        401: f"{env_name(f'{repository.name}_token')} must be a token of this server that may write there",
        409: "There is a repository of this name: choose another with --name",
    }
    answered = f"answered {status}" if status else "did not answer"
    return DepositError(f"{repository.server} {answered}: {said}. {advice.get(status, CONTINUE)}")


def _path(deposit: Deposit) -> str:
    return f"{DEPOSITIONS}/{quote(deposit.id, safe='')}"
