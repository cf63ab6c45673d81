"""Exports to deposit, the two repositories with their fakes, and downloads of what was deposited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import ZipFile

import httpx2

from app.extensions.publishing.deposit import HuggingFace, Repository, Zenodo
from app.extensions.publishing.export_folders import ExportFolder, open_export
from experiments.study.sections.dataset_info import Author, DatasetInfo
from storage.datasets.describe.export_folder import describe
from tests.fakes.exported import exported
from tests.fakes.http_server import serve
from tests.fakes.repositories.hub import HubFake
from tests.fakes.repositories.server import TOKEN, RepositoryFake
from tests.fakes.repositories.zenodo import ZenodoFake

INFO = DatasetInfo(
    title="Answers",
    authors=(Author(family_names="Lovelace", given_names="Ada", orcid="0000-0002-1825-0097"),),
    license="CC-BY-4.0",
    keywords=("advice",),
)
FAKES: Mapping[str, type[RepositoryFake]] = {"huggingface": HubFake, "zenodo": ZenodoFake}


def write_export(folder: Path, schema: str = "chatbench", origin: str = "person", **more: object) -> Path:
    folder.mkdir(parents=True)
    describe(replace(exported(folder, schema, origin), dataset=INFO, **more))  # type: ignore[arg-type]
    return folder


@dataclass(frozen=True, slots=True)
class There:
    """A repository and the fake behind it."""

    repository: Repository
    fake: RepositoryFake


@contextmanager
def repository(name: str, token: str = TOKEN) -> Iterator[There]:
    with serve(FAKES[name]()) as fake:
        yield There((HuggingFace if name == "huggingface" else Zenodo)(fake.url, token), fake)


def download(fake: RepositoryFake, to: Path) -> ExportFolder:
    """Download the only deposit there is, by the addresses that the repository gives, and open it as an export."""
    to.mkdir()
    hows: dict[type[RepositoryFake], Callable[..., None]] = {HubFake: _from_hub, ZenodoFake: _from_zenodo}
    token = {"authorization": f"Bearer {TOKEN}"}
    with httpx2.Client(base_url=fake.url, headers=token, trust_env=False, timeout=60) as client:
        hows[type(fake)](fake, client, to)
    return open_export(to)


def _from_hub(fake: HubFake, client: httpx2.Client, to: Path) -> None:
    (id_,) = fake.repositories
    for one in client.get(f"/api/datasets/{id_}/tree/main").json():
        _write(to, one["path"], client.get(f"/datasets/{id_}/resolve/main/{one['path']}"))


def _from_zenodo(fake: ZenodoFake, client: httpx2.Client, to: Path) -> None:
    (id_,) = fake.depositions
    for one in client.get(f"/api/deposit/depositions/{id_}/files").json():
        if one["filename"].endswith(".zip"):
            _write(to.parent, "downloaded.zip", client.get(one["links"]["download"]))
            with ZipFile(to.parent / "downloaded.zip") as packed:
                packed.extractall(to)


def _write(folder: Path, path: str, answer: httpx2.Response) -> None:
    answer.raise_for_status()
    (folder / path).parent.mkdir(parents=True, exist_ok=True)
    (folder / path).write_bytes(answer.content)
