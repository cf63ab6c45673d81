"""Evidence on texts: likeness, copies, pasting and speed, each by hand; and how often they are wrong."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from experiments.session.timing import ClientMeasures
from experiments.views.integrity import (
    WrittenScreen,
    WrittenSession,
    WrittenText,
    containment,
    dossiers,
    resemblance,
    runs,
)

STORY = "I first worked out how much one apple costs and then I multiplied that by twelve because a dozen was asked for"
OTHER = "My guess is that the answer must be the second one since all the others are far too large for this question"
QUESTION = ("maths", "q1")
texts = st.text(st.sampled_from("ab cd,."), max_size=60)


def test_likeness_by_hand() -> None:
    one, other = runs("The cat sat on the mat."), runs("the CAT sat on – a mat")
    assert len(one) == len(other) == 4
    assert len(one & other) == 2, "the cat sat, cat sat on"
    assert resemblance(one, other) == 2 / 6
    assert containment(one, other) == 2 / 4
    assert runs("two words") == frozenset()
    assert runs("“The ﬁrst one”") == runs("the first ONE")


@given(texts, texts)
def test_likeness_is_a_share_and_a_text_is_like_itself(one: str, other: str) -> None:
    mine, theirs = runs(one), runs(other)
    assert 0 <= resemblance(mine, theirs) == resemblance(theirs, mine) <= 1
    assert resemblance(mine, theirs) <= containment(mine, theirs) <= 1
    assert resemblance(mine, mine) == (1 if mine else 0)


def screen(chars: int, seconds: float | None = 60, **client: float) -> WrittenScreen:
    known = {"typing_s": 30.0, "pasted_chars": 0, **client} if client else {}
    return WrittenScreen(chars, seconds, ClientMeasures(**known))  # type: ignore[arg-type]


def session(number: int, *screens: WrittenScreen, text: str = "", box: str = "remarks:why") -> WrittenSession:
    written = (WrittenText(box, QUESTION, runs(text)),) if text else ()
    return WrittenSession(number, screens, written)


def values(*sessions: WrittenSession, replies: list[str] | None = None) -> list[dict[str, float | None]]:
    known = {QUESTION: [runs(reply) for reply in replies or ()]} if replies else {}
    found = [dossier for _, dossier in dossiers(sessions, known)]
    return [{name: one and one.value for name, one in dossier.items()} for dossier in found]


def test_pasting_and_speed_by_hand() -> None:
    (found,) = values(session(1, screen(300, 20, pasted_chars=240, typing_s=12), screen(100, 50, typing_s=20)))
    assert found["paste_share"] == 240 / 400
    assert found["typing_speed"] == 60 / 12, "faster than the other screen's 100 / 20"
    assert found["writing_speed"] == 300 / 20


def test_an_answer_out_of_a_models_reply_is_found() -> None:
    reply = f"Let us think step by step. {STORY.upper()}! So the total is 24."
    copied, own = values(session(1, text=STORY), session(2, text=OTHER), replies=["Something else altogether.", reply])
    assert (copied["ai_likeness"], own["ai_likeness"]) == (1.0, 0.0)
