"""Deposits at the Hugging Face Hub, by its own client (huggingface_hub): a private dataset repository, one commit.

Files are given to the client as open files. It then sends large ones by HTTP (Git LFS) and not by its other protocol,
Xet, whose connections do not go through the deployment's proxy (docs/decisions/0022-deposits.md). What was sent before
an interruption is kept by the Hub, and the commit comes last: a draft has all files or none.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import date
from hashlib import file_digest, sha1
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

from app.config.settings import env_name
from app.deposit.http import CONTINUE, NO_CONNECTION, broken, client_of
from app.deposit.repository import Advance, Place, Published, Upload
from app.errors import DepositError
from storage.datasets.deposits.export_folder import ExportFolder

if TYPE_CHECKING:
    from huggingface_hub import HfApi

SETTING = "huggingface_token"
KIND = "dataset"
NAME = re.compile(r"([\w-][\w.-]*/)?[\w-][\w.-]{0,95}", re.ASCII)


class HuggingFace:
    """The Hugging Face Hub."""

    name, embargoes = "huggingface", False

    def __init__(self, server: str, token: str) -> None:
        import huggingface_hub
        from huggingface_hub.utils.tqdm import disable_progress_bars

        disable_progress_bars()
        logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it warns that open files are not sent by Xet
        huggingface_hub.set_client_factory(lambda: _redirected(client_of(server)))
        self.server, self._token = server, token
        self._api: HfApi = huggingface_hub.HfApi(endpoint=server, token=token, library_name="parley")

    def files(self, export: ExportFolder, folder: Path) -> Mapping[str, Path]:
        """The files of the export, in its folders."""
        return {path: export.path / path for path in export.checksums}

    def create(self, export: ExportFolder, name: str) -> Place:
        """Create a private dataset repository, of the token's owner unless the name has another."""
        name = name or export.study
        if not NAME.fullmatch(name):
            said = f"--name {name}: give letters, digits and - _ . after an owner, if it is another than yours"
            raise DepositError(f"{said}, as in lab/{export.study}")
        with self._explained(f"--name NAME chooses another name than {name}"):
            owner = "" if "/" in name else f"{self._api.whoami()['name']}/"
            made = self._api.create_repo(f"{owner}{name}", repo_type=KIND, private=True)
            return self._place(made.repo_id)

    def find(self, id_: str) -> Place:
        """The private repository with this id."""
        with self._explained():
            private = self._api.repo_info(id_, repo_type=KIND).private
        place = self._place(id_)
        return place if private else replace(place, public=_published(place))

    def describe(self, place: Place, export: ExportFolder, embargo_until: date | None) -> None:
        """Nothing: the Hub reads the metadata at the top of README.md."""

    def upload(self, place: Place, upload: Upload, advance: Advance) -> str:
        """Commit all files at once, compare the checksums that the Hub has of each, and return the commit."""
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        with self._explained(), ExitStack() as opened:
            there = self._there(place)
            changes: list[Any] = [CommitOperationDelete(path) for path in upload.gone if path in there]
            for path, file in upload.files.items():
                if there.get(path) not in _checksums(file):
                    changes.append(CommitOperationAdd(path, opened.enter_context(file.open("rb"))))
            if changes:  # one file at a time: of files with the same content the client reads the same one, at once
                self._api.create_commit(
                    place.id, changes, commit_message="Deposit an export of Parley", repo_type=KIND, num_threads=1
                )
            there, version = self._there(place), str(self._api.repo_info(place.id, repo_type=KIND).sha)
        for path, file in upload.files.items():
            if there.get(path) not in _checksums(file):
                raise DepositError(
                    f"The Hub has another checksum for {path}: the upload was damaged on its way. Nothing was "
                    "published. Run the same command again, which sends it again"
                )
            advance(path, file.stat().st_size)
        return version

    def publish(self, place: Place) -> Published:
        """Make the repository public. A DOI is given by the Hub's own page only."""
        with self._explained():
            self._api.update_repo_settings(place.id, private=False, repo_type=KIND)
        return _published(place)

    def _place(self, id_: str) -> Place:
        return Place(id_, f"{self.server}/datasets/{id_}")

    def _there(self, place: Place) -> dict[str, str]:
        """The checksum of every file by its path: SHA-256 of a large one, else that of its Git blob."""
        from huggingface_hub.hf_api import RepoFile

        found = self._api.list_repo_tree(place.id, recursive=True, repo_type=KIND)
        files = [one for one in found if isinstance(one, RepoFile)]
        return {one.path: one.lfs.sha256 if one.lfs else one.blob_id for one in files}

    @contextmanager
    def _explained(self, conflict: str = "") -> Iterator[None]:
        """Turn the client's errors into one that says what to do; `conflict` for a name that is taken."""
        try:
            yield
        except (httpx2.HTTPError, OSError) as error:
            raise self._explanation(error, conflict) from None
        except (ValueError, RuntimeError) as error:
            raise self._explanation(error.__cause__ or error, conflict) from None

    def _explanation(self, error: BaseException, conflict: str) -> DepositError:
        from huggingface_hub.errors import HfHubHTTPError

        if isinstance(error, HfHubHTTPError):
            status = error.response.status_code
            said = " ".join((error.server_message or error.response.reason_phrase).split()).replace(self._token, "***")
            return DepositError(f"The Hub answered {status}: {said.rstrip('.')}. {_advice(status, conflict)}", status)
        if isinstance(error, httpx2.HTTPError | OSError):
            return DepositError(broken("The Hub", error), unsent=isinstance(error, NO_CONNECTION))
        said = " ".join(str(error).split()).replace(self._token, "***").rstrip(".")
        return DepositError(f"The Hub's client stopped: {said}. Correct what it names. {CONTINUE}")


def _published(place: Place) -> Published:
    return Published(
        place.url,
        next=f"For a DOI, open {place.url}/settings and choose Generate DOI (https://huggingface.co/docs/hub/doi); "
        "then add it to `dataset` in the study file.",
    )


def _redirected(client: httpx2.Client) -> httpx2.Client:
    """A client that follows redirects, as that of huggingface_hub has to."""
    client.follow_redirects = True
    return client


def _advice(status: int, conflict: str) -> str:
    match status:
        case 401 | 403:
            return f"The token in {env_name(SETTING)} must be one of this server that may write to this repository."
        case 404:
            return "The repository is not there: was it deleted? To make another one, add --new."
        case 409 if conflict:
            return f"There is a repository of this name: {conflict}; --id ID deposits into that one, if it is private."
        case 429:
            return f"The limit of requests is reached. Wait for some minutes. {CONTINUE}"
        case _:
            return CONTINUE


def _checksums(file: Path) -> tuple[str, str]:
    """The SHA-256 of a file, and the SHA-1 of it as a blob of Git."""
    with file.open("rb") as opened:
        sha256 = file_digest(opened, "sha256").hexdigest()
        opened.seek(0)
        blob = sha1(b"blob %d\0" % file.stat().st_size, usedforsecurity=False)
        while chunk := opened.read(1 << 20):
            blob.update(chunk)
    return sha256, blob.hexdigest()
