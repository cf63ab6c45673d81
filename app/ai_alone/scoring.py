"""Score the stored replies of models alone, at any time and without a call, several cells at once. An outcome is
derived and never the truth: answers are dropped and made anew, and the released tables after them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice

from app.ai_alone.methods.base import Method, SampleResult
from app.ai_alone.methods.registry import METHODS
from problems.problem import Problem
from storage.ai_alone.answers import ALONE, ModelAnswer, derive_answers, save_answers
from storage.ai_alone.replies import StoredCell, StoredReply, cells_of, stored
from storage.db.engine import Database
from storage.tables import SETTLED

AT_ONCE = 20


def score(database: Database, study: str) -> int:
    """Read every stored reply to a study's questions again; the number of samples that came to something."""
    rest, count = cells_of(database, study, ALONE), 0
    while some := list(islice(rest, AT_ONCE)):
        count += save_answers(database, study, [one.cell for one in some], read_replies(database, some))
    derive_answers(database, study)
    return count


def read_replies(database: Database, cells: Iterable[StoredCell]) -> Iterator[ModelAnswer]:
    known = {one.cell: (METHODS.find(one.name), Problem.from_json(one.data["problem"]), one.samples) for one in cells}
    for (cell, sample), calls in groupby(stored(database, known), lambda one: (one.cell, one.sample)):
        method, problem, wanted = known[cell]
        found = outcome(method, problem, calls) if sample < wanted else None
        if found is not None:
            yield ModelAnswer(cell, sample, found.kind, found.answer, found.right)


def outcome(method: Method, problem: Problem, replies: Iterable[StoredReply]) -> SampleResult | None:
    """The result, None if unfinished. A refusal is the model's only where the model, not the extractor, was asked."""
    texts: list[str] = []
    for call in replies:
        if call.step != len(texts):
            return None
        if call.reason is not None or call.text is None:
            return SampleResult("refused" if call.reason in SETTLED and call.step < method.own else "failed")
        texts.append(call.text)
    return method.read(problem, texts)
