"""The ways to ask a model alone: what it is asked, and what its replies come to, whatever they are."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ai_alone.methods import registry
from app.ai_alone.methods.base import MethodContext, SampleResult
from app.ai_alone.methods.registry import METHODS
from app.backends.model_ref import ModelRef
from experiments.study.sections.ai_alone import SLOTS, AiAlonePrompts, AiAloneSpec
from experiments.study.sections.model_spec import ModelSpec
from problems.problem import Option, Problem

NAMES = registry.names()


def problem(name="q", answer="B", options=("12", "13", "14", "144"), plain="How many bags?"):
    made = tuple(Option(key, text, text) for key, text in zip("ABCD", options, strict=False))
    return Problem(name, plain, plain, "elementary_mathematics", made, answer)


QUESTION = problem()
LETTERED = "How many bags?\nA. 12\nB. 13\nC. 14\nD. 144"
SHOWN = tuple(problem(f"dev-{n}", "ABCD"[n % 4], plain=f"Example {n}?") for n in range(6))
MODEL = ModelRef("gpt", ModelSpec(backend="openai", model="gpt-4o-mini", options={"top_p": 1}))
READER = ModelRef("reader", ModelSpec(backend="openai", model="gpt-4o"))
TERMS = MethodContext(MODEL, AiAloneSpec(), READER, {"elementary_mathematics": SHOWN})
ANSWERED, UNPARSED = "answered", "unparsed"


def asked(name, *texts, terms=TERMS):
    return METHODS.find(name).ask(terms, QUESTION, texts)


# What is asked


def test_every_prompt_is_a_key_of_the_study():
    own = {name: f"{name}: " + " ".join(f"{{{{{slot}}}}}" for slot in SLOTS[name][0]) for name in SLOTS}
    alone = AiAloneSpec(extraction_system="", prompts=AiAlonePrompts(**own))
    terms = MethodContext(MODEL, alone, READER, {"elementary_mathematics": SHOWN})
    texts = ("It is 13.", reading())
    asked_for = [
        METHODS.find(name).ask(terms, QUESTION, texts[:step]).request.messages[-1].text.partition(": ")[0]
        for name in NAMES
        for step in range(METHODS.find(name).steps)
    ]
    assert set(asked_for) == set(own)
    assert [one.role for one in asked("free_text", "It is 13.", terms=terms).request.messages] == ["user"]
    assert asked("letter_only_zero_shot", terms=terms).request.messages[-1].text == (
        f"letter_only_zero_shot: {LETTERED}"
    )


# What replies come to

LETTERS = {
    "B": (ANSWERED, "B", True),
    "C": (ANSWERED, "C", False),
    " B": (ANSWERED, "B", True),
    "B) since 156 / 12": (ANSWERED, "B", True),
    "Because of that": (ANSWERED, "B", True),
    "b": (UNPARSED, "b", False),
    "(B)": (UNPARSED, "(B)", False),
    "The answer is B": (UNPARSED, "The answer is B", False),
    "I can't help with that.": (UNPARSED, "I can't help with that.", False),
    "\x00B": (UNPARSED, "B", False),
    "": (UNPARSED, "", False),
    "1" * 5000: (UNPARSED, "1" * 200, False),
}


def reading(attempted="true", value='"13"', letter='"B"'):
    return f'{{"attempted_answer": {attempted}, "answer_val": {value}, "answer_letter": {letter}}}'


READINGS = {
    reading(): (ANSWERED, "B", True),
    reading(letter='"C"'): (ANSWERED, "C", False),
    reading(letter='" (B). "'): (ANSWERED, "B", True),
    f"Sure!\n```json\n{reading()}\n```\nAnything else?": (ANSWERED, "B", True),
    reading("false"): (ANSWERED, None, False),
    reading(letter='"E"'): (ANSWERED, None, False),
    reading(letter='["B"]'): (ANSWERED, None, False),
    "{}": (UNPARSED, None, None),
    reading('"true"'): (UNPARSED, None, None),
    f"[{reading()}, {reading()}]": (UNPARSED, None, None),
    f"{reading()} or {reading()}": (UNPARSED, None, None),
    reading()[:-1]: (UNPARSED, None, None),
    "": (UNPARSED, None, None),
    '{"a": ' * 3000 + "1" + "}" * 3000: (UNPARSED, None, None),
    '{"attempted_answer": true, "answer_letter": "\ud800"}': (UNPARSED, None, None),
}


@pytest.mark.parametrize(("text", "outcome"), READINGS.items(), ids=lambda one: ascii(one)[:60])
def test_free_text_is_what_the_extractor_s_json_says_of_it(text, outcome):
    method = METHODS.find("free_text")
    assert method.read(QUESTION, []) is None
    assert method.read(QUESTION, ["It is 13."]) is None
    assert method.read(QUESTION, ["It is 13.", text]) == SampleResult(*outcome)


ANYTHING = st.text() | st.text(alphabet=' {}"ABab:,().truefalsnyo\n') | st.sampled_from([*LETTERS, *READINGS])


@pytest.mark.parametrize("name", NAMES)
@given(texts=st.lists(ANYTHING, max_size=3))
def test_whatever_is_replied_a_sample_ends_and_what_counts_is_right_only_with_the_right_answer(name, texts):
    method = METHODS.find(name)
    texts = texts[: method.steps]
    found = method.read(QUESTION, texts)
    if found is None:
        assert len(texts) < method.steps
        assert method.ask(TERMS, QUESTION, texts).request.messages
    else:
        assert found.kind in (ANSWERED, UNPARSED)
        assert (found.kind == ANSWERED) <= (found.right is not None)
        assert not (found.right and found.answer is None)
        assert bool(found.right) == (found.kind == ANSWERED and found.answer == "B")
