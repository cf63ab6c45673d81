"""The frozen study documents of an export, byte for byte: their SHA-256 is the hash recorded with sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from experiments.study.study import Study

STUDY = "study.json"
HASH_CHARS = 12


def documents(studies: Sequence[Study]) -> Mapping[str, bytes]:
    """Each study's document by file name: `study.json`, or `study-<hash>.json` if there are several."""
    return {file_name(study, studies): study.document.encode() for study in studies}


def file_name(study: Study, among: Sequence[Study]) -> str:
    """The file name of a study's document."""
    return STUDY if len(among) == 1 else f"study-{study.hash[:HASH_CHARS]}.json"
