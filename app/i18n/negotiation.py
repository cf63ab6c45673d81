"""Choose the language for a person without a session yet: by the link, or by their browser's preference."""

from __future__ import annotations

from starlette.requests import Request

from app.i18n.catalogues import Catalogue, catalogue, catalogues, negotiate
from experiments.study.schema import StudyFile


def from_accept_language(request: Request) -> Catalogue:
    """Of all languages the one that the browser likes best; English if it likes none of them."""
    return catalogue(negotiate(_accepts(request), catalogues()) or "en")


def negotiate_request(request: Request, file: StudyFile) -> str:
    """Of a study's languages the one in the link, else the one that the browser likes best, else the study's own."""
    asked = request.query_params.get("lang", "")
    own = file.language if file.language in file.offered else file.offered[0]
    return offered(asked, file) or negotiate(_accepts(request), file.offered) or own


def offered(tag: str, file: StudyFile) -> str:
    """The tag if it is one of the study's languages; empty for any other."""
    return tag if tag in file.offered else ""


def _accepts(request: Request) -> str:
    return request.headers.get("accept-language", "")
