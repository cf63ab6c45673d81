"""The scripted tutor: a stand-in for a language model, which sees the messages only and works offline.

`reply` is pure: the same messages, seed and chance of being wrong give the same words. What the tutor can do
is a list of writers, each of which takes the turn or passes; the first that takes it replies. A mistake is
told with the same confidence as the truth, and again when asked again, as people who study reliance on models
need it.
"""

from collections.abc import Callable

from app.backends.base import Message
from app.backends.tutor import alone, answers, talk
from app.backends.tutor.turn import Turn

Writer = Callable[[Turn], str | None]

WRITERS: tuple[Writer, ...] = (
    talk.greeting,
    alone.concluded,
    alone.shown,
    alone.reading,
    alone.verdict,
    answers.letter_only,
    answers.choice,
    answers.sum_up,
    answers.equation,
    answers.doubt,
    talk.thanks,
    talk.nudge,
    talk.proof,
    talk.example,
    talk.explain,
    answers.again,
    answers.word_problem,
)


def reply(messages: tuple[Message, ...], *, seed: str = "", wrong: float = 0.25) -> str:
    """Give the tutor's next reply; never empty."""
    turn = Turn(messages, seed, wrong)
    written = (writer(turn) for writer in WRITERS)
    text = next((text for text in written if text is not None), None) or talk.fallback(turn)
    return _said_anew(text, turn)


def _said_anew(text: str, turn: Turn) -> str:
    """Begin otherwise where the very same was said before."""
    if text not in turn.replies:
        return text
    return f"As before ({len(turn.replies) + 1} messages in, and I haven't changed my mind): {text}"
