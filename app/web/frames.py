"""Studies that stand in a page of another site, by `embed` in the study file: which requests come from such a frame,
and the address of its page.

That address has the study's name in its query, by which the server knows who may frame it, and the session's token
behind `#`, which a browser sends to no server and shows to no other origin.
"""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.requests import Request

from experiments.study.study import Study

# The key in a request's scope with the origins whose pages may frame the response, where an application sets it for a
# page of one study. Without it no page may.
FRAMED_BY = "parley.framed_by"
EMBED = "embed"
# Values of Sec-Fetch-Dest for a document that is loaded into a frame (Fetch Metadata Request Headers, 2.1).
FRAMES = ("iframe", "frame")


def let_frame(request: Request, study: Study) -> None:
    """Let the pages that the study allows frame the response; without `embed` none may."""
    if study.file.embed is not None:
        request.scope[FRAMED_BY] = study.file.embed.origins


def is_framed(request: Request, study: Study) -> bool:
    """Return True if a browser asks for a page of an embedded study to show it in a frame."""
    return study.file.embed is not None and request.headers.get("sec-fetch-dest") in FRAMES


def framed_page(study: str, token: str) -> str:
    return f"/?{urlencode({EMBED: study})}#session={token}"
