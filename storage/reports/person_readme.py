"""The README of one person's data, for a reader who knows neither Parley nor the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from storage.datasets.describe.markdown import bullets, code, count, join

PARTS: Mapping[str, str] = {
    "identity": "the ID at the recruiter (such as Prolific) under which you took part; it is not in the study's data",
    "ids_in_exported_data": "the random names that you have in the files made for analysis and publication",
    "conditions": "the variant of the study that you were assigned to, by chance",
    "answers": "each of your answers, with the question as you read it",
    "scores": "the scores of the questionnaires that you filled in, computed from your answers",
    "ratings": "each of your ratings, rankings and votes",
    "messages": "your messages and the replies that you read",
    "timings": "when each screen was shown, for how long, and what the page recorded meanwhile",
    "events": "what happened, step by step",
    "model_calls": "each request to a language model for you, with its text, time and cost",
    "payments": "bonus payments, with the file in which the researchers paid them",
    "remarks": "what researchers, checks and models noted about you, exclusions included",
    "not_sent": "what you typed and did not send",
    "page_records": "what the page recorded in times and counts, without content",
}
LEFT_OUT = (
    "The study itself: texts of screens, the instructions to the models and the list of right answers. They are the "
    "same for everybody, and secret while the study runs.",
    "The random seed of the session and the keys by which a link or a browser is recognised. They open the session.",
    "How many others were in each condition when you arrived. It is about others.",
    "The names of researchers who wrote a remark.",
    "Released tables. They are made from the parts above and say the same in another form.",
    "Files outside of Parley's database, which the researchers have: payment files, earlier exports, backups.",
)


def readme(data: Mapping[str, Any]) -> str:
    """The README as Markdown."""
    return join(
        "# Your data",
        f"All that is stored of one person in {count(len(data['sessions']), 'session')}, as of {data['made']}. "
        "Nothing is of anybody else. Times are in UTC.",
        *_sessions(data),
        "## What is in `person.json`",
        "A list `sessions`. Each has the study, the times, how it ended, and:",
        bullets(f"{code(name)}: {about}" for name, about in PARTS.items()),
        "## What is left out",
        bullets(LEFT_OUT),
        "## For the researcher who hands this over",
        "It names the person, the condition, the models and which answers were right. While the study runs, this ends "
        "the person's blinding. Send it only to the person, over a channel that you know to be theirs.",
    )


def _sessions(data: Mapping[str, Any]) -> Iterator[str]:
    for one in data["sessions"]:
        about = f"**{one['title']}** ({code(one['study'])}), session {code(one['session'])}"
        if "erased" in one:
            yield f"{about}: the data were erased at {one['erased']}. Nothing is left but that there was a session."
            continue
        parts = (f"{len(one[name]):,} {name.replace('_', ' ')}" for name in ("answers", "ratings", "messages"))
        contact = f" Questions: {one['contact']}." if one["contact"] else ""
        yield f"{about}, started at {one['started']}: {', '.join(parts)}.{contact}"
