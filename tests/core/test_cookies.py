"""What cookies say is remembered, as far as it is short."""

from starlette.requests import Request

from app.web.cookies import MOST_BYTES, Cookies


def test_no_browsers_cookies_are_kept_that_are_longer_than_ours() -> None:
    cookies = Cookies("s" * 32, secure=False)

    def asking(more: str) -> Request:
        told = f"parley={cookies._signer.dumps('a session')}; other={more}"
        return Request({"type": "http", "headers": [(b"cookie", told.encode())]})

    for length, kept in ((10, 1), (MOST_BYTES, 1)):
        assert cookies.read(asking("x" * length)) == "a session"
        assert cookies._known.cache_info().currsize == kept
