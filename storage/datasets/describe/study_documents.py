"""The frozen studies beside the data: their documents to the byte, whose SHA-256 is the hash that sessions carry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.study.resolve import Study

STUDY = "study.json"
HASH_CHARS = 12


def documents(studies: Sequence[Study]) -> Mapping[str, bytes]:
    """Each study's document by the name of its file: `study.json`, or with the hash in it where there are several."""
    return {file_name(study, studies): study.document.encode() for study in studies}


def file_name(study: Study, among: Sequence[Study]) -> str:
    """The name of a study's file."""
    return STUDY if len(among) == 1 else f"study-{study.hash[:HASH_CHARS]}.json"
