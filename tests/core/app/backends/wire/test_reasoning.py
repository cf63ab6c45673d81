"""Thoughts in a reply's text: found wherever the text is cut, and nothing else taken for them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.backends.base import Delta, ReasoningDelta, ReasoningEnd, StreamEnd, TextDelta
from app.backends.wire.dialect import Dialect
from app.backends.wire.reasoning import CLOSING, MARKS, MOST_HELD, ReasoningSplitter
from app.errors import BackendBroken

WORDS = st.text(st.sampled_from("ab <>/\n`[]\u00e9"), max_size=30)
SOUND = WORDS.filter(lambda text: text.strip() and not text.lstrip().startswith(("<", "[")))
SPOKEN = SOUND.filter(lambda text: text[-1] not in " `\n")
TAGS = st.sampled_from(
    [(mark, closes[0]) for mark, closes in MARKS.items() if closes[0] in CLOSING] + [("<Think>", "</Think>")]
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
                    reasoning += piece
                case ReasoningEnd():
                    reasoning, reply = reasoning + reply, ""
    return reasoning, reply


CUTS = st.lists(st.integers(0, 200), max_size=8)


@given(TAGS, WORDS, SOUND, CUTS, st.sampled_from(["", "\n\n", "\n", " "]))
def test_thoughts_in_tags_are_no_part_of_the_reply(tags, thoughts, reply, cuts, between):
    opening, closing = tags
    assert divided(f"{opening}{thoughts}{closing}{between}{reply}", cuts) == (thoughts, reply.lstrip())


@given(TAGS, SPOKEN, SOUND, CUTS)
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


def replied(dialect: Dialect, deltas: list[Delta], reason: str = "stop") -> str:
    splitter = dialect.splitter()
    found = [given_ for one in deltas for given_ in splitter.split(one)]
    [*splitter.split(StreamEnd(reason))]
    dialect.remember(splitter, reason)
    return "".join(one.text for one in found if isinstance(one, TextDelta))


@pytest.mark.parametrize(("first", "reason", "unopened"), [
    ([TextDelta("It is 56.")], "stop", False),
    ([TextDelta("It is")], "length", None),
    ([TextDelta("<think>So.</think>It is")], "length", False),
    ([ReasoningDelta("So."), TextDelta("It is")], "length", False),
    ([TextDelta("So.</think>It is 56.")], "stop", True),
])  # fmt: skip
def test_what_the_first_reply_shows_decides_about_the_next(first, reason, unopened):
    dialect = Dialect("mine")
    replied(dialect, first, reason)
    assert dialect.unopened is unopened
    assert replied(dialect, [TextDelta("So.</think>It is 56.")]) == ("It is 56." if unopened else "So.It is 56.")


def test_too_much_before_the_end_of_the_reasoning_is_an_error_and_no_text():
    splitter = ReasoningSplitter("</think>")
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
    ("a.</think>b", "a.", "b"),
    ("The tag `</think>` ends it, </think> too.", "", "The tag `</think>` ends it, </think> too."),
    ("<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>final<|message|>b<|return|>", "a", "b"),
    ("<|channel|>commentary<|message|>a<|start|>assistant<|channel|>final<|message|>b", "a", "b"),
    ("<|channel|>final<|message|>b<|return|>", "", "b"),
    ("analysisSo it is.assistantfinalb", "So it is.", "b"),
    ("analysisSo it is.", "", "analysisSo it is."),
    ("analysis of variance", "", "analysis of variance"),
    ("b<|im_end|>", "", "b"),
    ("b.</s> \n<|endoftext|>\n", "", "b."),
    ("b <|im_end|> c", "", "b <|im_end|> c"),
    ("<s>b</s>", "", "<s>b</s>"),
    ("a < b", "", "a < b"),
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
