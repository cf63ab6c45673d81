"""Kinds of queries by model, experience, confidence and turn: the annotated messages joined to their conversations.

Two of the questions that CheckMate registered beforehand (questions_to_ask.txt, Collins et al., PNAS 2024). The
released annotations name neither model nor participant. A message is found again in MathConverse's conversations by
its text together with all the messages before it; blanks, and the two ratings that the annotations list after each
reply, are left out of the comparison. A message that fits no conversation, or several, is not counted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pandas as pd

from app.analysis.base import Tables
from app.analysis.estimates import SHARE, Estimate, Finding, estimate, slug
from app.analysis.intervals import codes, share_of
from app.analysis.mathconverse.backgrounds import SHORT
from app.analysis.mathconverse.groups import CONFIDENCE
from app.analysis.mathconverse.ratings import TABLE, grouped
from app.analysis.mathconverse.taxonomy import BEFORE, FIRST, QUERIES, QUERY, WRITTEN, marks
from experiments.instruments.query_labels import LABELS
from storage.schemas.mathconverse import EXPERTISE, MISSING

CONVERSATION_COLUMNS = ("model", "uid", "human_interactions", "model_responses", "mth_bkgrd", "solo_solve")
RATING_LINE = re.compile(r"^\([0-6]\) .*$", re.MULTILINE)
BLANK = re.compile(r"\s+")
LAST = 5
"""Turns from this one on are one group, because few conversations have so many."""
CODE = f'query_types(frame(database, study, "{QUERIES}", origin), frame(database, study, "{TABLE}", origin))'
METHOD = (
    "The share of labelled messages of a group that have the label; a message may have several labels. The 95 % "
    "interval is Wilson's for the effective number of independent messages, because messages share participants "
    "(cluster jackknife); Student's t has one degree of freedom less than there are participants."
)
BY = {
    "model": ("model", "Kinds of queries by model", "to {}"),
    "expertise": (
        "mth_bkgrd",
        "Kinds of queries by experience with mathematics",
        "of participants with the experience “{}”",
    ),
    "confidence": (
        "solo_solve",
        "Kinds of queries by confidence to solve the problem alone",
        "with a confidence of {}",
    ),
    "turn": ("turn", "Kinds of queries by turn", "of turn {}"),
}
"""By what queries are grouped: the column, the title, and the words of a sentence."""


def query_types(queries: pd.DataFrame, interactions: pd.DataFrame) -> tuple[Finding, ...]:
    """How often each label was given, by model, experience, confidence and turn; empty if no message is found again.

    `queries` has the columns of annotated_taxonomy.csv and `interactions` those of MathConverse's release. Names:
    `taxonomy.by_model.<model>.<label>`, `taxonomy.by_expertise.<expertise>.<label>`,
    `taxonomy.by_confidence.<confidence>.<label>`, `taxonomy.by_turn.<turn>.<label>`; the number of messages is in
    `further["count"]`.
    """
    found = joined(queries, interactions)
    if found.empty:
        return ()
    note = f"{len(found):,} of {len(queries):,} labelled messages were found in exactly one conversation."
    return tuple(
        Finding(
            f"taxonomy.by_{by}", title, "messages", SHARE, (0, 1), tuple(_estimates(found, by)), METHOD, CODE,
            note=note, columns=(by,),
        )
        for by, (_, title, _) in BY.items()
    )  # fmt: skip


def query_types_of(tables: Tables) -> tuple[Finding, ...]:
    return query_types(tables[QUERIES], tables[TABLE])


def joined(queries: pd.DataFrame, interactions: pd.DataFrame) -> pd.DataFrame:
    """The labelled messages that are found in exactly one conversation: the labels, and the conversation's `model`,
    `uid`, `mth_bkgrd`, `solo_solve` and `turn` (text, the later ones together)."""
    said = pd.DataFrame(
        [
            (_key(before, query), str(turn) if turn < LAST else f"{LAST}-or-later", *rest)
            for *rest, people, replies in interactions[
                ["model", "uid", "mth_bkgrd", "solo_solve", "human_interactions", "model_responses"]
            ].itertuples(index=False)
            for turn, before, query in _turns(ast.literal_eval(people), ast.literal_eval(replies))
        ],
        columns=["key", "turn", "model", "uid", "mth_bkgrd", "solo_solve"],
    )
    keys = [_key(before, query) for before, query in zip(queries[BEFORE], queries[QUERY], strict=True)]
    labelled = marks(queries).assign(key=pd.Series(keys, queries.index, dtype="object"))
    found = labelled.merge(said[~said.duplicated("key", keep=False)], on="key").drop(columns="key")
    return found.assign(solo_solve=found["solo_solve"].astype(str))


def _turns(people: Sequence[str], replies: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Each turn with everything said before it, and its message."""
    for turn, query in enumerate(people):
        before = [text for both in zip(people[:turn], replies[:turn], strict=True) for text in both]
        yield turn + 1, "\n".join(before) or FIRST, query


def _key(before: str, query: str) -> tuple[str, str]:
    """What identifies a message: everything before it and its text, without ratings and blanks."""
    return BLANK.sub("", RATING_LINE.sub("", before)), BLANK.sub("", query)


def _values(found: pd.DataFrame, by: str) -> Iterator[tuple[str, str, str]]:
    """The groups that occur, in order: each value, its part of the name, and its label."""
    there = dict.fromkeys(found[BY[by][0]].astype(str))
    known = {"expertise": EXPERTISE, "confidence": CONFIDENCE}.get(by, tuple(sorted(there)))
    for value in (*known, MISSING):
        if value in there:
            yield value, slug(SHORT.get(value, value)), "not said" if value == MISSING else value


def _estimates(found: pd.DataFrame, by: str) -> Iterator[Estimate]:
    column, _, words = BY[by]
    for value, name, shown in _values(found, by):
        rows = found[found[column].astype(str) == value]
        for label in marks_of(rows):
            hits = rows[label].to_numpy().astype(float)
            group = grouped(f"taxonomy.by_{by}.{name}.{label}", f"{shown}: {label}", rows, {"label": label, by: shown})
            which = f"messages {words.format(shown)} ({int(hits.sum()):,})"
            said = f"{{}} of {which} were labelled “{LABELS.get(label, WRITTEN)}”"
            interval = share_of(hits, codes(rows["uid"]))
            yield estimate(group, interval, said, SHARE, "messages", further={"count": float(hits.sum())})


def marks_of(rows: pd.DataFrame) -> tuple[str, ...]:
    """The columns of labels."""
    return tuple(name for name in rows.columns if name in LABELS or name == "other")
