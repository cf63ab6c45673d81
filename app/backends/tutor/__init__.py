"""The scripted tutor: a stand-in for a language model, which sees the messages only and works offline.

`reply` is pure: the same messages, seed and chance of being wrong give the same words. What the tutor can do
is a list of writers, each of which takes the turn or passes; the first that takes it replies. A mistake is
told with the same confidence as the truth, and again when asked again, as people who study reliance on models
need it.
"""

from collections.abc import Callable

from app.backends.base import PromptMessage
from app.backends.tutor import answers, prompts_without_user, small_talk
from app.backends.tutor.turn import TutorTurn

Writer = Callable[[TutorTurn], str | None]

WRITERS: tuple[Writer, ...] = (
    small_talk.greeting,
    prompts_without_user.conclude,
    prompts_without_user.shown,
    prompts_without_user.reading,
    prompts_without_user.verdict,
    answers.letter_only,
    answers.choice,
    answers.summarise,
    answers.equation,
    answers.doubt,
    small_talk.thanks,
    small_talk.nudge,
    small_talk.proof,
    small_talk.example,
    small_talk.explain,
    answers.again,
    answers.word_problem,
)


def reply(messages: tuple[PromptMessage, ...], *, seed: str = "", wrong: float = 0.25) -> str:
    """Give the tutor's next reply; never empty."""
    turn = TutorTurn(messages, seed, wrong)
    written = (writer(turn) for writer in WRITERS)
    text = next((text for text in written if text is not None), None) or small_talk.fallback(turn)
    return _said_anew(text, turn)


def _said_anew(text: str, turn: TutorTurn) -> str:
    """Begin otherwise where the very same was said before."""
    if text not in turn.replies:
        return text
    return f"As before ({len(turn.replies) + 1} messages in, and I haven't changed my mind): {text}"
