"""The page of a study's full report: `/report/{study}?origin=person`.

Computing it can take a minute, so it is done in the background, one report at a time. Until it is ready, a page says so
and reloads itself. A cached report is shown while its data have not changed, or it is not older than OLD_US.
"""

from __future__ import annotations

from concurrent.futures import Executor, ThreadPoolExecutor

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Route

from app.extensions.analysis.background_cache import StaleWhileRevalidate
from app.extensions.analysis.reads.study_data import data_version
from app.extensions.analysis.report import build_report, html
from app.use_cases.outcome_lock import locked_for, open_again
from app.web.console.context import ConsoleContext
from app.web.console.current_user import VISITOR
from problems.errors import ParleyError
from storage.registers.origins import Origin, origins
from storage.registers.study_status import last_decision

NOT_FOUND, NOT_YET, LOCKED = 404, 202, 403
# A report that is older than this is not shown while a newer one is computed.
OLD_US = 300_000_000
Key = tuple[str, str]


def route(context: ConsoleContext, workers: Executor | None = None) -> Route:
    def compute(key: Key) -> str:
        return html(build_report(context.database, *key, context.clock.now_us()))

    def changed(key: Key) -> object:
        return data_version(context.database, *key), last_decision(context.database, key[0])

    beside = workers or ThreadPoolExecutor(max_workers=1, thread_name_prefix="report")
    latest: StaleWhileRevalidate[Key, str] = StaleWhileRevalidate(compute, changed, context.clock.now_us, beside)

    def report(request: Request) -> Response:
        study, origin = request.path_params["study"], request.query_params.get("origin", Origin.PERSON)
        try:
            with context.database.connect() as connection:
                origins(connection, study, origin)
            user = request.scope[VISITOR]
            if why := locked_for(context.database, study, origin, user.name, context.clock.now_us()):
                return PlainTextResponse(f"{why}\n", LOCKED)
            seen = latest.get((study, origin))
        except ParleyError as error:
            return PlainTextResponse(f"{error}\n", NOT_FOUND)
        old = seen.busy and context.clock.now_us() - (seen.as_of_us or 0) > OLD_US
        if seen.value is None or old:
            return HTMLResponse(context.html("report_waiting.html.j2", study=study, origin=origin), NOT_YET)
        open_again(context.database, study, origin, user.name, "report", context.clock.now_us())
        context.audit(user, f"read the report ({origin})", study)
        return HTMLResponse(seen.value)

    return Route("/report/{study}", report, methods=["GET"])
