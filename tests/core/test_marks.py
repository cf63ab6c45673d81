"""What the marks of a page promise: the same for the same content, and never for another, though they are kept."""

from dataclasses import replace

from app.web import parts
from app.web.look import common_look
from experiments.core.fields import Short, Single, Tick
from experiments.core.screen import Message, Panel, Round, Transcript
from tests.core.test_paint import CHAT, painted, screen_of
from tests.fakes.sessions import study


def test_a_question_made_anew_has_the_mark_of_its_like_and_no_other() -> None:
    marks: dict[str, set[str]] = {}
    for number in range(3_000):  # most of them are gone at once, and others stand where they stood
        text = f"Which? {number % 30}"
        field = Single(name="colour", text=text, options={"r": "Red", "b": "Blue"})
        marks.setdefault(text, set()).add(painted(screen_of(Panel("T", fields=(field,)), "submit")).marks["left"])
    assert all(len(found) == 1 for found in marks.values())
    assert len(set.union(*marks.values())) == 30


def test_a_question_of_another_kind_has_another_mark() -> None:
    kinds = (Short(name="word", text="A word"), Tick(name="word", text="A word"))
    assert len({painted(screen_of(Panel("T", fields=(field,)), "submit")).marks["left"] for field in kinds}) == 2


def test_what_participants_say_is_not_kept_with_the_marks() -> None:
    talk = Transcript("M", (Message("You", "of my own"),))
    asking = replace(CHAT, messages=talk.messages, columns=2, rounds=(Round("of my own", ()),))
    painted(screen_of(Panel("T", (talk,)), "submit"))
    painted(screen_of(Panel("T", chat=asking), "say"))
    assert "of my own" not in repr(list(parts._DIGESTS))


def test_a_study_looks_otherwise_in_another_language_as_a_trial_and_where_it_records() -> None:
    demo = study("demo")
    plain = common_look(demo, "en", pilot=False, telemetry=False)
    assert common_look(demo, "en", pilot=False, telemetry=False) is plain
    assert common_look(demo, "de", pilot=False, telemetry=False).title != plain.title
    assert common_look(demo, "en", pilot=True, telemetry=False) == plain._replace(pilot=True)
    assert common_look(demo, "en", pilot=False, telemetry=True) == plain._replace(telemetry=True)
