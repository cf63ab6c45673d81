"""All messages to the page around an embedded study: see `embed` in the study file.

A message is JSON with `source: "parley"`, `version` and `type`. The version changes with the meaning of a key; new keys
and new types can come without a new version.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from experiments.study.checks.sections_check import sent_paths
from experiments.study.location import State
from experiments.study.study import Study

VERSION = 1
_HEAD = {"source": "parley", "version": VERSION}


def host_messages(study: Study, state: State) -> list[dict[str, Any]]:
    """The messages but the height, which only the browser knows; the outcome last, as pages go on with it."""
    return [{**_HEAD, **message} for message in _messages(study, state)]


def height_message(study: Study) -> dict[str, Any] | None:
    """The message with the height, which the browser completes; None if it is not sent."""
    embed = study.file.embed
    return {**_HEAD, "type": "height"} if embed is not None and "height" in embed.send else None


def _messages(study: Study, state: State) -> Iterator[dict[str, Any]]:
    embed = study.file.embed
    if embed is None:
        return
    if "ready" in embed.send:
        yield {"type": "ready", "study": study.name}
    if answers := given_answers(study, state):
        yield {"type": "answers", "answers": answers}
    if "outcome" in embed.send and state.outcome:
        yield {"type": "outcome", "outcome": state.outcome}


def given_answers(study: Study, state: State) -> dict[str, Any]:
    """The answers by name, as in the log: None if left out, missing if not taken, or by nobody before time was up."""
    embed = study.file.embed
    if embed is None or not embed.answers:
        return {}
    found, paths = {}, sent_paths(study)
    for name in embed.answers:
        question = name.partition(".")[2]
        for event in state.facts.get(paths[name], ()):
            if event.kind == "submitted" and question in event.data:
                found[name] = event.data[question]
    return found
