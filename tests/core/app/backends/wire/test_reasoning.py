"""Thoughts in a reply's text: found wherever the text is cut, and nothing else taken for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import Delta, ReasoningDelta, ReasoningEnd, StreamEnd, TextDelta
from app.backends.wire.dialect import Dialect
from app.backends.wire.reasoning import MOST_HELD, NAMES, ReasoningSplitter
from app.errors import BackendBroken

WORDS = st.text(st.sampled_from("ab <>/\n`[]\u00e9"), max_size=30)
SOUND = WORDS.filter(lambda text: text.strip() and not text.lstrip().startswith(("<", "[")))
TAGS = st.sampled_from(
    [*((f"<{name}>", f"</{name}>") for name in NAMES), ("[THINK]", "[/THINK]"), ("<Think>", "</Think>")]
)


def pieces(text: str, cuts: list[int]) -> list[str]:
    places = sorted({cut % (len(text) + 1) for cut in cuts})
    return [text[start:end] for start, end in zip([0, *places], [*places, len(text)], strict=True) if start < end]


def divided(text: str, cuts: list[int], until: str = "") -> tuple[str, str]:
    splitter, reasoning, reply = ReasoningSplitter(until), "", ""
    for delta in [TextDelta(one) for one in pieces(text, cuts)] + [StreamEnd("stop")]:
        for given_ in splitter.split(delta):
            match given_:
                case TextDelta(piece):
                    assert piece
                    reply += piece
                case ReasoningDelta(piece):
                    assert piece
                    reasoning += piece
                case ReasoningEnd():
                    reasoning, reply = reasoning + reply, ""
    return reasoning, reply


CUTS = st.lists(st.integers(0, 200), max_size=8)


@given(TAGS, WORDS, SOUND, CUTS, st.sampled_from(["", "\n\n", "\n", " "]))
def test_thoughts_in_tags_are_no_part_of_the_reply(tags, thoughts, reply, cuts, between):
    opening, closing = tags
    assert divided(f"{opening}{thoughts}{closing}{between}{reply}", cuts) == (thoughts, reply.lstrip())


@given(TAGS, SOUND, SOUND, CUTS)
def test_thoughts_without_an_opening_tag_are_no_part_of_the_reply(tags, thoughts, reply, cuts):
    text = f"{thoughts}{tags[1]}\n\n{reply}"
    assert divided(text, cuts) == (thoughts, reply.lstrip())


@given(WORDS, SOUND, CUTS)
def test_where_replies_are_known_to_begin_with_thoughts_none_is_given_as_text(thoughts, reply, cuts):
    splitter = ReasoningSplitter("</think>")
    deltas = [given_ for one in pieces(f"{thoughts}</think>{reply}", cuts) for given_ in splitter.split(TextDelta(one))]
    assert ReasoningEnd() not in deltas
    assert "".join(one.text for one in deltas if isinstance(one, ReasoningDelta)) == thoughts
    assert reply.lstrip().startswith("".join(one.text for one in deltas if isinstance(one, TextDelta)))


@given(TAGS, SOUND, SOUND, CUTS, st.sampled_from(["", "\n\n", "\n", " "]), st.sampled_from(["stop", "length", None]))
def test_where_nothing_is_known_no_reasoning_is_ever_given_as_text(tags, thoughts, reply, cuts, between, reason):
    text = f"{thoughts}{tags[1]}{between}{reply}"
    for shown in range(len(text) + 1):
        splitter = ReasoningSplitter(hold=True)
        deltas = [given_ for one in pieces(text[:shown], cuts) for given_ in splitter.split(TextDelta(one))]
        deltas += splitter.split(StreamEnd(reason)) if reason else splitter.flush()
        ends = [number for number, one in enumerate(deltas) if one == ReasoningEnd()]
        assert not any(isinstance(one, TextDelta) for one in deltas[: max(ends, default=0)]), "nothing is taken back"
        said = "".join(one.text for one in deltas if isinstance(one, TextDelta))
        if reason != "stop" or shown == len(text):  # before, a complete text has no mark and is a reply
            assert (reply.lstrip() if splitter.unopened else "").startswith(said.strip())
    assert said == reply.lstrip() if reason else reply.lstrip().startswith(said)


@given(SOUND, CUTS)
def test_where_nothing_is_known_a_complete_reply_is_given_whole_and_with_signs_of_life(reply, cuts):
    splitter = ReasoningSplitter(hold=True)
    before = [given_ for one in pieces(reply, cuts) for given_ in splitter.split(TextDelta(one))]
    assert {*before} <= {ReasoningDelta("")}
    *found, end = splitter.split(StreamEnd("stop"))
    assert found == [TextDelta(reply)] or "".join(one.text for one in found if isinstance(one, TextDelta)) == reply
    assert end == StreamEnd("stop")


def replied(dialect: Dialect, deltas: list[Delta], reason: str = "stop") -> str:
    splitter = dialect.splitter(hold=True)
    found = [given_ for one in deltas for given_ in splitter.split(one)]
    [*splitter.split(StreamEnd(reason))]
    dialect.remember(splitter, reason)
    return "".join(one.text for one in found if isinstance(one, TextDelta))


@pytest.mark.parametrize(("first", "reason", "streamed"), [
    ([TextDelta("It is 56.")], "stop", True),
    ([TextDelta("It is")], "length", False),
    ([TextDelta("<think>So.</think>It is")], "length", True),
    ([ReasoningDelta("So."), TextDelta("It is")], "length", True),
    ([TextDelta("So.</think>It is 56.")], "stop", False),
])  # fmt: skip
def test_what_the_first_reply_shows_decides_about_the_next(first, reason, streamed):
    dialect = Dialect("mine")
    replied(dialect, first, reason)
    assert replied(dialect, [TextDelta("It is 56.")]) == ("It is 56." if streamed else "")


def test_too_much_before_the_end_of_the_reasoning_is_an_error_and_no_text():
    for splitter in (ReasoningSplitter(hold=True), ReasoningSplitter("</think>")):
        with pytest.raises(BackendBroken) as failed:
            [*splitter.split(TextDelta("So. " * MOST_HELD))]
        assert failed.value.reason == "too_long"
        assert not any(isinstance(one, TextDelta) for one in splitter.flush())


@given(WORDS, CUTS)
def test_text_without_tags_stays_as_it_is(text, cuts):
    assert divided(text, cuts) == ("", text)


@pytest.mark.parametrize(("text", "reasoning", "reply"), [
    ("<think>\nIt must be B.\n</think>\n\nIt is 56.", "\nIt must be B.\n", "It is 56."),
    ("7*8.\n</think>\n\nIt is 56.", "7*8.\n", "It is 56."),
    ("<think>a</think>\n<think>b</think>\nc", "ab", "c"),
    ("<think>never closed", "never closed", ""),
    ("<think></think>\n\nB", "", "B"),
    ("<think>a</think>", "a", ""),
    ("a</think>", "a", ""),
    ("<THINK>a</think>b", "a", "b"),
    ("<think>a</think>The tag </think>\nends it.", "a", "The tag </think>\nends it."),
])  # fmt: skip
@pytest.mark.parametrize("cuts", [[], list(range(80))])
def test_examples(text, reasoning, reply, cuts):
    assert divided(text, cuts) == (reasoning, reply)


@pytest.mark.parametrize("rest", ["", "\n", " \n\n", "\n<th", "<thi"])
def test_what_is_not_decided_when_a_reply_is_cut_off_is_no_text(rest: str) -> None:
    splitter = ReasoningSplitter()
    for piece in ("0", "</think>\n", *rest):
        assert not any(isinstance(one, TextDelta) for one in splitter.split(TextDelta(piece)) if piece != "0")
    assert not any(isinstance(one, TextDelta) for one in splitter.flush())
