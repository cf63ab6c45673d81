"""Evidence on texts: likeness, copies, pasting and speed, each by hand; and how often they are wrong."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.false_alarms import FEWEST_SESSIONS, flag_rates
from experiments.study.resolve import resolve
from experiments.views.integrity import (
    INDICATORS,
    WrittenScreen,
    WrittenSession,
    WrittenText,
    dossiers,
    flagged,
    thresholds_of,
)
from experiments.views.screen_measures import ClientMeasures
from experiments.views.text_likeness import containment, resemblance, runs

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


def test_text_that_no_key_wrote_is_fast() -> None:
    (found,) = dossiers([session(1, screen(400, 90, typing_s=0))], {})
    assert flagged(found[1], thresholds_of())["typing_speed"] is True
    assert found[1]["typing_speed"] is not None
    assert found[1]["typing_speed"].value == 400


def test_what_cannot_be_known_is_not_made_up() -> None:
    (found,) = values(session(1, screen(400, 90)))
    assert found["paste_share"] is found["typing_speed"] is None, "no telemetry"
    assert found["writing_speed"] == pytest.approx(400 / 90)
    assert found["ai_likeness"] is found["duplicate"] is None, "no text, no other session"
    (short,) = values(session(1, screen(40, 1, typing_s=1)))
    assert short["typing_speed"] is short["writing_speed"] is None


def test_an_answer_out_of_a_models_reply_is_found() -> None:
    reply = f"Let us think step by step. {STORY.upper()}! So the total is 24."
    copied, own = values(session(1, text=STORY), session(2, text=OTHER), replies=["Something else altogether.", reply])
    assert (copied["ai_likeness"], own["ai_likeness"]) == (1.0, 0.0)


def test_copies_in_the_same_box_name_each_other() -> None:
    several = [
        session(1, text=STORY),
        session(2, text=OTHER),
        session(3, text=f"{STORY}."),
        session(4, text=OTHER, box="x"),
    ]
    found = {one.number: dossier["duplicate"] for one, dossier in dossiers(several, {})}
    assert {number: one and (one.value, one.number) for number, one in found.items()} == {
        1: (1.0, 3),
        2: (0.0, None),
        3: (1.0, 1),
        4: (0.0, None),
    }


def test_a_rate_of_false_alarms_needs_enough_sessions() -> None:
    flags = [{"paste_share": number < 2, "duplicate": None} for number in range(FEWEST_SESSIONS)]
    found = flag_rates(flags)
    assert (found["paste_share"].flagged, found["paste_share"].known) == (2, FEWEST_SESSIONS)
    assert found["paste_share"].share is not None
    assert found["paste_share"].share.value == pytest.approx(0.1)
    assert (found["duplicate"].known, found["duplicate"].share) == (0, None)
    assert flag_rates(flags[1:])["paste_share"].share is None, "unknown"


def test_each_indicator_has_a_threshold() -> None:
    ((_, found),) = dossiers([session(1)], {})
    assert list(found) == list(INDICATORS) == list(thresholds_of())


def test_a_study_sets_thresholds_and_keeps_parleys_others() -> None:
    document = {"study": "s", "title": "S", "flow": [{"step": "finish"}]}
    chosen = thresholds_of(resolve({**document, "integrity": {"thresholds": {"duplicate": 0.3}}}, {}, {}))
    usual = thresholds_of(resolve(document, {}, {}))
    assert list(usual.values()) == [0.5, 12, 12, 0.5, 1, 1, 0.8]
    assert thresholds_of() == usual
    assert {**usual, "duplicate": 0.3} == chosen
    one, other = session(1, text=STORY), session(2, text=f"{STORY} {OTHER}")
    (_, found), _ = dossiers([one, other], {})
    assert (flagged(found, usual)["duplicate"], flagged(found, chosen)["duplicate"]) == (False, True)
