"""The page of a study's full report: `/report/{study}?origin=person`, made anew for whoever asks."""

from __future__ import annotations

from threading import Lock

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from app.analysis.report import gather, html
from app.web.console.desk import Desk
from app.web.console.visitor import VISITOR
from problems.errors import ParleyError

NOT_FOUND = 404


def add(app: FastAPI, desk: Desk) -> None:
    """Add the page. One report is made at a time, so that many clicks are no heavier than one."""
    turn = Lock()

    @app.get("/report/{study}", response_class=HTMLResponse)
    def report(request: Request, study: str, origin: str = "person") -> Response:
        visitor = request.scope[VISITOR]
        try:
            with turn:
                page = html(gather(desk.database, study, origin, desk.clock.now_us()))
        except ParleyError as error:
            return PlainTextResponse(f"{error}\n", NOT_FOUND)
        desk.did(visitor, f"read the report ({origin})", study)
        return HTMLResponse(page)
