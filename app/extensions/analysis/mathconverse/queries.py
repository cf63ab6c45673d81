"""Kinds of queries to an assistant, in CheckMate's `annotated_taxonomy`: how often each occurs, and by model,
experience, confidence and turn.

Any value in a label's column except 0, 0.0 and empty counts as a mark, because the release has typing errors: `yy`,
`xw`, and a sentence in the column `not-mathematics`. A message may have several labels, or none of the ten; write-ins
are counted separately. The released table identifies no participants, so conversations are identified by their problem
and first message.

To know model and participant, a message is found again in MathConverse's conversations by its text together with all
the messages before it; blanks, and the two ratings that the annotations list after each reply, are left out of the
comparison. A message that fits no conversation, or several, is not counted. (Collins et al., PNAS 2024.)
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

import pandas as pd

from app.extensions.analysis.base import analysis
from app.extensions.analysis.estimates import SHARE, Estimate, Finding, estimate, finding, share_estimate, slug
from app.extensions.analysis.intervals import FEWEST, Codes, Interval, codes, number_of, share_of
from app.extensions.analysis.mathconverse.participants import SHORT
from app.extensions.analysis.mathconverse.ratings import CONFIDENCE
from experiments.instruments.scales import HEADERS, LABELS, WRITE_IN_HEADER
from storage.schemas.mathconverse import EXPERTISE, MISSING

QUERIES = "annotated_taxonomy"
INDEX, PROBLEM, BEFORE, QUERY = "", "problem_declaration", "previous_interactions", "user_query"
QUERY_COLUMNS = (INDEX, PROBLEM, BEFORE, QUERY, *HEADERS.values(), WRITE_IN_HEADER)
UNMARKED = ("", "0", "0.0")
FIRST = "No prev"
REPLY = "\nAI:"
WRITTEN = "Something else, in their own words"
NUMBERS = {"none": "none of the ten labels", "several": "several of the ten labels"}
CONVERSATION_COLUMNS = ("model", "uid", "human_interactions", "model_responses", "mth_bkgrd", "solo_solve")
RATING_LINE = re.compile(r"^\([0-6]\) .*$", re.MULTILINE)
BLANK = re.compile(r"\s+")
# Turns from this one on are one group, because few conversations have so many.
LAST = 5
# By what queries are grouped: the column, its words in the title, and those in a sentence.
BY = {
    "model": ("model", "model", "to {}"),
    "expertise": ("mth_bkgrd", "experience with mathematics", "of participants with the experience “{}”"),
    "confidence": ("solo_solve", "confidence to solve the problem alone", "with a confidence of {}"),
    "turn": ("turn", "turn", "of turn {}"),
}


def marks(queries: pd.DataFrame) -> pd.DataFrame:
    """Return each message's labels: a column of true and false for each label, by its short name, and `other`."""
    headers = {**HEADERS, "other": WRITE_IN_HEADER}
    return pd.DataFrame({name: _marked(queries[header]) for name, header in headers.items()})


@analysis
def query_labels(queries: pd.DataFrame) -> Iterator[Finding]:
    """The number of messages with each label, with none and with several."""
    if queries.empty:
        return
    marked, talks = marks(queries), conversations(queries)
    people = int((pd.to_numeric(queries[INDEX]) == 0).sum())  # those who label count their messages from 0

    def share(name: str, label: str, groups: dict[str, str], what: str, hits: pd.Series) -> Estimate:
        found = share_of(hits.to_numpy().astype(float), talks)
        if number_of(talks) < FEWEST:
            found = Interval(found.value, why=f"An interval needs {FEWEST} conversations.")
        said, size = f"{{}} of messages ({int(hits.sum()):,}) {what}", (len(queries), people)
        further = {"count": float(hits.sum())}
        return estimate(name, label, groups, size, found, said, SHARE, "messages", further=further)

    words = {str(name): LABELS.get(str(name), WRITTEN) for name in marked}
    labels = [
        share(f"taxonomy.label.{name}", label, {"label": name}, f"were labelled “{label}”", marked[name])
        for name, label in words.items()
    ]
    number = marked[list(HEADERS)].sum(axis=1)
    numbers = [
        share(f"taxonomy.labels.{name}", label, {"labels": name}, f"had {label}", hits)
        for (name, label), hits in zip(NUMBERS.items(), (number == 0, number > 1), strict=True)
    ]
    note = f"{int((queries[BEFORE] == FIRST).sum()):,} of {len(queries):,} messages begin a conversation."
    yield finding("taxonomy.label", labels, note=note)
    yield finding("taxonomy.labels", numbers, note="Write-ins are not among the ten labels.")


def conversations(queries: pd.DataFrame) -> Codes:
    """Number each message's conversation, by its problem and the conversation's first message."""
    first = queries[QUERY].where(queries[BEFORE] == FIRST, queries[BEFORE].str.split(REPLY, n=1).str[0])
    return codes(queries[PROBLEM].fillna("").str.strip() + "\n" + first.str.strip())


@analysis
def query_types(queries: pd.DataFrame, interactions: pd.DataFrame) -> Iterator[Finding]:
    """The share of each label, by model, experience, confidence and turn."""
    found = joined(queries, interactions)
    if found.empty:
        return
    note = f"{len(found):,} of {len(queries):,} labelled messages were found in exactly one conversation."
    for by, (_, words, _) in BY.items():
        yield finding("taxonomy.by_{by}", _types(found, by), note=note, columns=(by,), words={"by": by, "words": words})


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
    for turn, query in enumerate(people):
        before = [text for both in zip(people[:turn], replies[:turn], strict=True) for text in both]
        yield turn + 1, "\n".join(before) or FIRST, query


def _key(before: str, query: str) -> tuple[str, str]:
    """The key of a message: everything before it and its text, without ratings and blanks."""
    return BLANK.sub("", RATING_LINE.sub("", before)), BLANK.sub("", query)


def _types(found: pd.DataFrame, by: str) -> Iterator[Estimate]:
    column, _, words = BY[by]
    values = found[column].astype(str)
    known = {"expertise": EXPERTISE, "confidence": CONFIDENCE}.get(by, tuple(sorted(set(values))))
    for value in (*known, MISSING):
        rows = found[values == value]
        shown = "not said" if value == MISSING else value
        for label in (name for name in rows.columns if len(rows) and (name in LABELS or name == "other")):
            name = f"taxonomy.by_{by}.{slug(SHORT.get(value, value))}.{label}"
            said = f"{{}} of messages {words.format(shown)} ({{count}}) were labelled “{LABELS.get(label, WRITTEN)}”"
            figure = (name, f"{shown}: {label}", {"label": label, by: shown}, said, rows[label], rows["uid"])
            yield share_estimate(*figure, counts="messages", counted=True)


def _marked(cells: pd.Series) -> pd.Series:
    return cells.notna() & ~cells.astype(str).str.strip().isin(UNMARKED)
