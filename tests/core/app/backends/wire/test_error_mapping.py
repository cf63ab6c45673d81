"""What a status, a code and a header of a model server mean."""

import pytest

from app.backends.wire.error_mapping import error_in_stream, refused, retry_after_s
from app.errors import BackendDenied, BackendRejected, BackendUnavailable

OVERFLOW = "context_length_exceeded"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "7"}, 7),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "Sat, 21 Nov 2026 12:01:00 GMT", "date": "Sat, 21 Nov 2026 12:00:00 GMT"}, 60),
        ({"retry-after": "Wed, 01 Jan 2020 00:00:00 GMT"}, 0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
    ],
)
def test_how_long_to_wait(headers, seconds):
    assert retry_after_s(headers) == seconds


@pytest.mark.parametrize(
    ("status", "body", "leaf", "reason"),
    [
        (400, b'{"error": {"code": "context_length_exceeded"}}', BackendRejected, OVERFLOW),
        (400, b'{"object": "error", "message": "maximum context length is 8", "code": 400}', BackendRejected, OVERFLOW),
        (402, b'{"type": "error", "error": {"type": "billing_error"}}', BackendDenied, "insufficient_quota"),
        (403, b'{"error": "no"}', BackendDenied, "status_403"),
        (403, b'{"error": {"code": "content_filter"}}', BackendRejected, "content_filter"),
        (302, b"", BackendRejected, "status_302"),
        (408, b"", BackendUnavailable, "status_408"),
        (429, b'{"error": {"type": "insufficient_quota"}}', BackendDenied, "insufficient_quota"),
        (429, b'{"error": {"code": "tokens", "message": "context limit"}}', BackendUnavailable, "status_429"),
        (502, b"\xff<html>", BackendUnavailable, "status_502"),
    ],
)
def test_a_status_becomes_whose_move_it_is(status, body, leaf, reason):
    error = refused(status, {}, body)
    assert (type(error), error.reason) == (leaf, reason)


@pytest.mark.parametrize(
    ("error", "leaf", "reason"),
    [
        ({"type": "overloaded_error", "message": "Overloaded"}, BackendUnavailable, "error_in_stream"),
        ({"type": "invalid_request_error", "message": "no"}, BackendRejected, "error_in_stream"),
        ({"type": "authentication_error", "message": "no"}, BackendDenied, "error_in_stream"),
        ({"code": "insufficient_quota", "message": "no"}, BackendDenied, "insufficient_quota"),
        ({"code": "bio_policy", "message": "no"}, BackendRejected, "content_filter"),
        ({"message": "prompt is too long"}, BackendRejected, OVERFLOW),
        ("boom", BackendUnavailable, "error_in_stream"),
    ],
)
def test_an_error_in_a_stream_is_read_like_one_with_a_status(error, leaf, reason):
    found = error_in_stream(error)
    assert (type(found), found.reason) == (leaf, reason)
