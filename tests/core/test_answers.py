"""Answers of HTTP/1.1: wherever the network cuts the bytes, what is read is the same, and nobody's body is endless."""

import gzip
import zlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.wire.answers import (
    MAX_BODY_BYTES,
    MAX_IDLE_BYTES,
    MAX_REFUSAL_BYTES,
    Answer,
    Answers,
    BadBody,
    Unreadable,
)

BODY = '{"content": "héllo 你好 ∑ 🎲"}'.encode()
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-RateLimit-Limit-Requests: 60\r\n"
TOLD = {"content-type": "application/json", "x-ratelimit-limit-requests": "60"}


def by_length(body, head=HEAD):
    return head + b"Content-Length: %d\r\n\r\n" % len(body) + body


def in_chunks(body, head=HEAD, *, size=7, after=b""):
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    chunks = b"".join(b"%x;a=b\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n" + after + b"\r\n"


PACKED = HEAD + b"Content-Encoding: gzip\r\n"
SOUND = {
    "by-length": by_length(BODY),
    "in-chunks": in_chunks(BODY),
    "with-trailers": in_chunks(BODY, after=b"X-RateLimit-Limit-Requests: 1\r\nDigest: x\r\n"),
    "after-100": b"HTTP/1.1 100 Continue\r\n\r\n" + by_length(BODY),
    "after-103": b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Type: x\r\n\r\n" + in_chunks(BODY),
    "gzip": by_length(gzip.compress(BODY), PACKED),
    "gzip-in-chunks": in_chunks(gzip.compress(BODY), PACKED),
    "deflate": by_length(zlib.compress(BODY), HEAD + b"Content-Encoding: deflate\r\n"),
    "identity": by_length(BODY, HEAD + b"Content-Encoding: identity\r\n"),
    "close": by_length(BODY, HEAD + b"Connection: close\r\n"),
    "until-closed": HEAD + b"\r\n" + BODY,
    "http-1.0": HEAD.replace(b"1.1", b"1.0") + b"\r\n" + BODY,
    "more-than-asked-for": by_length(BODY) + by_length(b"{}"),
    "junk-after": by_length(BODY) + b"junk",
}
KEPT = {"by-length", "in-chunks", "with-trailers", "after-100", "after-103", "gzip", "gzip-in-chunks", "deflate",
        "identity"}  # fmt: skip
"""After which the connection can be used again."""
UNREADABLE = {
    "another-protocol": b"SSH-2.0-OpenSSH_9.6\r\n\r\n",
    "two-lengths": HEAD + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    "length-and-chunks": HEAD + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nabc",
    "bad-length": HEAD + b"Content-Length: -3\r\n\r\nabc",
    "bad-chunk": HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n",
    "other-language": b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nabc",
}
BAD = {
    "no-gzip": by_length(b"this is not gzip", PACKED),
    "cut-gzip": by_length(gzip.compress(BODY)[:-4], PACKED),
    "unknown": by_length(BODY, HEAD + b"Content-Encoding: br\r\n"),
}


def read(pieces, closed=False):
    """What comes of the pieces, whether it is whole, and whether the connection bears another request."""
    answers = Answers()
    answers.expect()
    try:
        for piece in pieces:
            answers.feed(piece)
        over = answers.over or (closed and answers.end())
    except (Unreadable, BadBody) as error:
        return type(error)
    return (*answers.answer, over, answers.clean)


def split(data, cuts):
    return [data[a:b] for a, b in pairwise([0, *sorted(cuts), len(data)])]


@given(st.sampled_from(sorted(SOUND)), st.data())
def test_any_split_of_a_sound_answer_reads_the_same(name, data):
    whole = SOUND[name]
    cuts = data.draw(st.lists(st.integers(0, len(whole))))
    status, headers, body, over, clean = read(split(whole, cuts), closed=name in ("until-closed", "http-1.0"))
    assert (status, body, over) == (200, BODY, True)
    assert headers.items() >= TOLD.items()
    assert clean is (name in KEPT)


@given(st.sampled_from(sorted(SOUND)), st.data())
def test_what_is_taken_as_it_comes_is_the_whole_body(name, data):
    whole, answers, taken = SOUND[name], Answers(), []
    for piece in split(whole, data.draw(st.lists(st.integers(0, len(whole))))):
        answers.feed(piece)
        if data.draw(st.booleans()):
            comes = answers.comes
            taken.append(answers.take())
            assert comes is bool(taken[-1])
    answers.end()
    assert b"".join([*taken, answers.take()]) == BODY
    assert not answers.comes


@given(st.sampled_from(sorted(UNREADABLE)), st.data())
def test_what_is_no_answer_is_unreadable_however_it_is_split(name, data):
    cuts = data.draw(st.lists(st.integers(0, len(UNREADABLE[name]))))
    assert read(split(UNREADABLE[name], cuts)) is Unreadable


@given(st.sampled_from(sorted(BAD)), st.data())
def test_a_body_that_cannot_be_unpacked_is_told_however_it_is_split(name, data):
    cuts = data.draw(st.lists(st.integers(0, len(BAD[name]))))
    assert read(split(BAD[name], cuts)) is BadBody


@given(st.sampled_from(sorted({*SOUND} - {"until-closed", "http-1.0"})), st.data())
def test_no_beginning_of_an_answer_passes_for_the_whole(name, data):
    whole = SOUND[name] if name not in ("more-than-asked-for", "junk-after") else SOUND["by-length"]
    kept = data.draw(st.integers(0, len(whole) - 1))
    assert read([whole[:kept]], closed=True)[3:] == (False, False)


@given(st.lists(st.sampled_from(sorted(KEPT)), min_size=2, max_size=5), st.data())
def test_answers_one_after_another_do_not_mix(names, data):
    answers = Answers()
    for name in names:
        answers.expect()
        for piece in split(SOUND[name], data.draw(st.lists(st.integers(0, len(SOUND[name]))))):
            answers.feed(piece)
        assert (answers.answer.body, answers.over, answers.clean) == (BODY, True, True)


def test_words_that_nobody_waits_for_spoil_the_connection():
    answers = Answers()
    answers.expect()
    answers.feed(SOUND["by-length"])
    answers.feed(b"HTTP/1.1 408 Request Timeout\r\n\r\n")
    assert not answers.clean
    assert answers.answer == Answer(200, {**TOLD, "content-length": str(len(BODY))}, BODY)


@pytest.mark.parametrize(("status", "most"), [(b"200 OK", MAX_BODY_BYTES), (b"500 Oh", MAX_REFUSAL_BYTES)])
def test_an_endless_body_is_not_read_to_its_end(status, most):
    answers = Answers()
    answers.expect()
    answers.feed(b"HTTP/1.1 %b\r\nTransfer-Encoding: chunked\r\n\r\n" % status)
    fed = 0
    while not answers.over:
        answers.feed(b"4000\r\n" + b"x" * 0x4000 + b"\r\n")
        fed += 0x4000
    assert most < fed <= most + 0x4000
    assert len(answers.answer.body) == most + 1
    assert not answers.clean


def test_a_body_that_is_taken_as_it_comes_may_have_any_length():
    answers, taken = Answers(), 0
    answers.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while taken <= 2 * MAX_BODY_BYTES:
        answers.feed(b"40000\r\n" + b"x" * 0x40000 + b"\r\n")
        taken += len(answers.take())
    assert not answers.over
    answers.feed(b"0\r\n\r\n")
    assert (answers.over, answers.clean) == (True, True)


def test_a_little_that_unpacks_to_much_is_not_unpacked_to_its_end():
    bomb = gzip.compress(bytes(100 * MAX_BODY_BYTES // 10))
    *_, body, over, clean = read(split(by_length(bomb, PACKED), range(0, len(bomb), 1_000)))
    assert (len(body), over, clean) == (MAX_BODY_BYTES + 1, True, False)


@pytest.mark.parametrize("start", [HEAD, in_chunks(BODY)[:-2], b"HTTP/1.1 200 OK\r\nX: "])
def test_headers_without_end_are_no_answer(start):
    line = b"X-More: and more\r\n" if start.endswith(b"\r\n") else b"and more and more"
    assert read([start, *[line] * (MAX_IDLE_BYTES // len(line) + 1)]) is Unreadable
