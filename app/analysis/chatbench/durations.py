"""How long participants take for each step, from the screen times of a study's own sessions.

Times are measured by the server, from the event that showed a screen to the event that left it. Times over ten minutes
are left out, as in ChatBench's plots. Released files have no times, so imports have none.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from app.analysis.data_frames import SESSION
from app.analysis.estimates import NUMBER, Estimate, EstimateGroup, Finding, estimate
from app.analysis.intervals import codes, mean_of, number_of

LONGEST_S = 600.0
"""Longer times mean that the participant was away."""
COLUMNS = ("path", "seconds")
CODE = "durations(screen_times(database, study, origin))"
METHOD = (
    f"The mean number of seconds on a step, over all its screens that were left within {LONGEST_S / 60:.0f} minutes. "
    "95 % intervals are mean ± t standard errors by the cluster jackknife (participants). JSON and csv reports have "
    "the median too."
)


def durations(times: pd.DataFrame) -> tuple[Finding, ...]:
    """Mean seconds on each step; `times` has `path` (turns of loops as one), `seconds` and `_session`.

    Names: `chatbench.duration.<path>`, with `-` between the parts of a path; the `median` in seconds is in `further`.
    """
    left = times[times["seconds"].notna()]
    within = left[left["seconds"] <= LONGEST_S]
    found = tuple(_estimates(within))
    if not found:
        return ()
    axis = (0.0, max([*(one.high or one.value for one in found), 1.0]))
    long = len(left) - len(within)
    note = f"{long:,} times over {LONGEST_S / 60:.0f} minutes are left out." if long else ""
    title = "Seconds on each step"
    return (Finding("chatbench.duration", title, "screens", NUMBER, axis, found, METHOD, CODE, note=note),)


def _estimates(times: pd.DataFrame) -> Iterator[Estimate]:
    for path, rows in times.groupby("path", sort=False):
        people = codes(rows[SESSION])
        seconds = rows["seconds"].to_numpy(dtype="float64")
        name = "".join(sign if sign.isalnum() or sign in "_-" else "-" if sign == "/" else "" for sign in str(path))
        group = EstimateGroup(
            f"chatbench.duration.{name}", str(path), len(rows), number_of(people), {"path": str(path)}
        )
        found = mean_of(seconds, people, scale=(0, LONGEST_S))
        further = {"median": float(rows["seconds"].median())}
        yield estimate(group, found, f"Participants were on {path} for {{}} s", NUMBER, "screens", further=further)
