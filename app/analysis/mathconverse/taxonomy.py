"""Kinds of queries to an assistant, in CheckMate's `annotated_taxonomy`: how often each occurs.

Any value in a label's column except 0, 0.0 and empty counts as a mark, because the release has typing errors: `yy`,
`xw`, and a sentence in the column `not-mathematics`. A message may have several labels, or none of the ten; write-ins
are counted separately. The released table identifies no participants, so conversations are identified by their problem
and first message. (Collins et al., PNAS 2024.)
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.estimates import SHARE, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import FEWEST, Codes, Interval, Values, codes, number_of, share_of
from experiments.instruments.query_labels import HEADERS, LABELS, WRITE_IN_HEADER

QUERIES = "annotated_taxonomy"
INDEX, PROBLEM, BEFORE, QUERY = "", "problem_declaration", "previous_interactions", "user_query"
QUERY_COLUMNS = (INDEX, PROBLEM, BEFORE, QUERY, *HEADERS.values(), WRITE_IN_HEADER)
UNMARKED = ("", "0", "0.0")
FIRST = "No prev"
REPLY = "\nAI:"
WRITTEN = "Something else, in their own words"
METHOD = (
    "The share of labelled messages; a message may have several labels. The participants are the people who labelled. "
    "The 95 % interval is Wilson's for the effective number of independent messages, because messages share "
    "conversations (cluster jackknife); Student's t has one degree of freedom less than there are conversations."
)
NUMBERS = {"none": "none of the ten labels", "several": "several of the ten labels"}


def marks(queries: pd.DataFrame) -> pd.DataFrame:
    """Which labels each message has: a column of true and false for each, by its short name, and `other`."""
    headers = {**HEADERS, "other": WRITE_IN_HEADER}
    return pd.DataFrame({name: _marked(queries[header]) for name, header in headers.items()})


def query_labels(queries: pd.DataFrame) -> tuple[Finding, ...]:
    """How often each label was given, and how many messages have none or several; empty without labelled messages.

    `queries` has the columns of annotated_taxonomy.csv, the first of them named "". Names: `taxonomy.label.<label>`
    (`definition`, ..., `other` for a write-in), `taxonomy.labels.none`, `taxonomy.labels.several`; how many messages
    they are is in `further["count"]`.
    """
    if queries.empty:
        return ()
    code = f'query_labels(frame(database, study, "{QUERIES}", origin))'
    marked, talks = marks(queries), conversations(queries)
    # those who label count their messages from 0
    size = (len(queries), int((pd.to_numeric(queries[INDEX]) == 0).sum()))
    first_turns = int((queries[BEFORE] == FIRST).sum())
    note = f"{first_turns:,} of {len(queries):,} messages begin a conversation."
    return (
        Finding(
            "taxonomy.label", "What people ask for", "messages", SHARE, (0, 1), tuple(_labels(marked, talks, size)),
            METHOD, code, note=note,
        ),
        Finding(
            "taxonomy.labels", "Messages with no label or several", "messages", SHARE, (0, 1),
            tuple(_numbers(marked, talks, size)), METHOD, code, note="Write-ins are not among the ten labels.",
        ),
    )  # fmt: skip


def conversations(queries: pd.DataFrame) -> Codes:
    """Which conversation each message is of, as numbers: by its problem and the conversation's first message."""
    first = queries[QUERY].where(queries[BEFORE] == FIRST, queries[BEFORE].str.split(REPLY, n=1).str[0])
    return codes(queries[PROBLEM].fillna("").str.strip() + "\n" + first.str.strip())


def _labels(marked: pd.DataFrame, talks: Codes, size: tuple[int, int]) -> Iterator[Estimate]:
    for name in marked:
        label = LABELS.get(str(name), WRITTEN)
        group = EstimateGroup(f"taxonomy.label.{name}", label, *size, {"label": str(name)})
        yield _share(group, marked[name].to_numpy().astype(float), talks, f"were labelled “{label}”")


def _numbers(marked: pd.DataFrame, talks: Codes, size: tuple[int, int]) -> Iterator[Estimate]:
    number = marked[list(HEADERS)].sum(axis=1)
    fits = {"none": number == 0, "several": number > 1}
    for name, label in NUMBERS.items():
        group = EstimateGroup(f"taxonomy.labels.{name}", label, *size, {"labels": name})
        yield _share(group, fits[name].to_numpy().astype(float), talks, f"had {label}")


def _share(group: EstimateGroup, hits: Values, talks: Codes, what: str) -> Estimate:
    found = share_of(hits, talks)
    if number_of(talks) < FEWEST:
        found = Interval(found.value, why=f"An interval needs {FEWEST} conversations.")
    said = f"{{}} of messages ({int(hits.sum()):,}) {what}"
    return estimate(group, found, said, SHARE, "messages", further={"count": float(hits.sum())})


def _marked(cells: pd.Series) -> pd.Series:
    return cells.notna() & ~cells.astype(str).str.strip().isin(UNMARKED)
