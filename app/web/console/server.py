"""The researchers' server: the login, the console's page, and the gate before them."""

from __future__ import annotations

from fastapi import FastAPI

from app.web.console import page, report
from app.web.console.desk import Desk


def build_app(desk: Desk) -> FastAPI:
    """The console of a desk, without its gate."""
    app = FastAPI(title="Parley: console", docs_url=None, redoc_url=None, openapi_url=None)
    report.add(app, desk)
    app.router.routes.append(desk.downloads.route())
    return page.mount(app, desk)
