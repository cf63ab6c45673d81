"""The random participant: does something allowed on any screen, by chance from a seed, with tendencies of its own.

It reads only what a person sees. It takes about the time that a person takes, says one or a few things in a chat, and
answers whatever is required; so it can finish every study, which is what the checker and the simulator need. What it
judges (the safety of a response, the quality of a reply, its own confidence) follows its tendencies (tendencies.py);
everything else, such as a survey's questions or a problem's options, is chosen at random.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any

from app.bots.tendencies import STANDARD, Tendencies
from experiments.instruments.dices_safety import ANSWERS
from experiments.session.document import word_count
from experiments.session.side_by_side import BAD, SLOTS, TIE
from experiments.study.fields import Checkbox, ChoiceField, Field, Number, Scale, Slider
from experiments.study.screen import ChatView, DocumentView, ProblemBlock, Screen, TextBlock, TranscriptBlock
from problems.attachments import NewPicture, encoded_anew

OPENINGS = (
    "Can you help me with this: {problem}",
    "I am stuck. {problem}",
    "What would be a good first step for this? {problem}",
    "Here is my question: {problem} What do you think?",
)
FOLLOW_UPS = (
    "Are you sure about that?",
    "Can you explain the second step again?",
    "Why is that so?",
    "I think I see. So what is the answer?",
    "Could you check it with an example?",
)
# What it asks where there is no problem.
WISHES = (
    "Why is the sky blue in the day and red in the evening?",
    "Can you suggest a quick supper for two without meat?",
    "How do I tell my neighbour kindly that the music is too loud?",
    "What should I know before I buy a used bicycle?",
)
REMARKS = (
    "It went well enough.",
    "Some were hard, some were easy.",
    "The explanations helped, but I checked them.",
    "Nothing to add, thank you.",
)
# What it writes in a document, a paragraph at a time.
SENTENCES = (
    "There is more to this than one would think at first.",
    "Those who have tried it say that it works well enough.",
    "Against it speaks what it costs, and that somebody has to pay.",
    "On the whole I would still try it, for a year and in one place.",
)
# How often it takes a change of a document back.
UNDOES = 0.15
# How often a question that is not required is left unanswered.
SKIPS = 0.1
# How often it allows a call of a tool.
ALLOWS = 0.8
# How often it attaches a picture to a message that has none.
ATTACHES = 0.3
PICTURE_SIZE = (160, 120)
# How often a conversation is carried on when it could be left.
TALKS_ON = 0.3
WORDS_A_SECOND = 5.0
# How fast it reads and types: so fast that `chatbench` takes it the 25 minutes that it took people.
LETTERS_A_SECOND = 5.0
# How much of a problem it types into a chat: its text cannot be copied.
QUOTED_CHARS = 40
# How much of each message it looks at when it sees a conversation of its own again; another's is read whole.
SKIMMED_CHARS = 100
THINKING_S = 8.0
CHOOSING_S = 2.0
# Opinions of conversations or replies that differ by less are equally good.
ALIKE = 0.2
# If no reply is better than this, none is good.
POOR = -0.8


class RandomBot:
    """A participant by chance; the same seed behaves the same. Its tendencies are those of `person`, or of the seed."""

    def __init__(self, seed: str, person: str = "") -> None:
        self._random = random.Random(seed)  # noqa: S311  (no secret is drawn)
        self._tends = Tendencies.of(person or seed)

    def seconds(self, screen: Screen, values: Mapping[str, Any]) -> float:
        """Return its time for a screen: to read the new parts, to think, to choose and to type."""
        panel = screen.panel
        reading = sum(len(text.split()) for text in _texts(screen)) / WORDS_A_SECOND
        thinking = THINKING_S * sum(isinstance(block, ProblemBlock) for block in panel.blocks)
        typed = sum(len(value) for value in values.values() if isinstance(value, str))
        kept = len(panel.document.text) if panel.document and "version" in values else 0
        typing = max(0, typed - kept) / LETTERS_A_SECOND
        return (reading + thinking + CHOOSING_S * (1 + len(values)) + typing) * self._random.lognormvariate(0, 0.3)

    def act(self, screen: Screen) -> tuple[str, dict[str, Any]]:
        chat, actions = screen.panel.chat, screen.actions
        if "rate" in actions and chat:
            return "rate", self.fill(screen, chat.rating)
        if chat and chat.approvals:
            return "allow" if self._random.random() < ALLOWS else "deny", {"call": chat.approvals[0].call}
        if "skip" in actions or "stop" in actions:
            return "skip" if "skip" in actions else "stop", {}
        if "retry" in actions:
            return "retry", {}
        if (document := screen.panel.document) and (found := self._writes(document, actions)):
            return found
        could_leave = "submit" in actions or "vote" in actions
        if "say" in actions and (not could_leave or (chat and self._talks(chat))):
            return self._speak(screen, chat)
        if "vote" in actions and chat:
            return "vote", self.fill(screen, chat.rating)
        return "submit", self.fill(screen, screen.panel.fields)

    def _talks(self, chat: ChatView) -> bool:
        return not _has_spoken(chat) or self._random.random() < TALKS_ON

    def _writes(self, document: DocumentView, actions: Sequence[str]) -> tuple[str, dict[str, Any]] | None:
        """Return its action on a document: it continues a text that is too short, and others sometimes."""
        if "undo" in actions and document.change and self._random.random() < UNDOES:
            return "undo", {"version": document.change.version}
        short = word_count(document.text) < max(1, document.min_words)
        if not short and document.version and self._random.random() >= TALKS_ON:
            return None
        paragraph = " ".join(self._random.sample(SENTENCES, self._random.randint(1, len(SENTENCES))))
        text = "\n\n".join(filter(None, (document.text.rstrip(), paragraph)))
        if len(text) > document.max_chars:
            text = text[: document.max_chars] if short else paragraph[: document.max_chars]
        return "edit", {"version": document.version, "text": text}

    def _speak(self, screen: Screen, chat: ChatView | None) -> tuple[str, dict[str, Any]]:
        given = chat.attachments if chat and "attach" in screen.actions else None
        if given and not given.pictures and self._random.random() < ATTACHES:
            return "attach", {"picture": self._picture()}
        return "say", {"text": self._say(screen)}

    def _picture(self) -> NewPicture:
        from PIL import Image  # slow to import, and few studies have pictures

        out = BytesIO()
        Image.new("RGB", PICTURE_SIZE, tuple(self._random.randbytes(3))).save(out, "PNG")
        return encoded_anew(out.getvalue(), max(PICTURE_SIZE))

    def _say(self, screen: Screen) -> str:
        chat = screen.panel.chat
        if chat and _has_spoken(chat):
            return self._random.choice(FOLLOW_UPS)
        problem = next((block.text for block in screen.panel.blocks if isinstance(block, ProblemBlock)), "")
        if not problem:
            return self._random.choice(WISHES)
        return self._random.choice(OPENINGS).format(problem=problem[:QUOTED_CHARS])

    def fill(self, screen: Screen, fields: Sequence[Field]) -> dict[str, Any]:
        judged = self._judgements(screen, fields)
        answers = {field.name: self._value(field) for field in fields} | judged
        left = {field.name for field in fields if not field.required and self._random.random() < SKIPS}
        return {name: value for name, value in answers.items() if name not in left}

    def _value(self, field: Field) -> Any:
        if isinstance(field, Checkbox):
            return "on"
        if isinstance(field, ChoiceField):
            return self._random.choice(list(field.options))
        if isinstance(field, Slider):
            return self._random.randrange(field.minimum, field.maximum + 1, field.step)
        if isinstance(field, Number):
            high = field.maximum if field.maximum is not None else (field.minimum or 0) + 100
            low = field.minimum if field.minimum is not None else min(0, high - 100)
            return self._random.randint(round(low), round(high)) if field.integer else self._random.uniform(low, high)
        return self._random.choice(REMARKS)

    def _judgements(self, screen: Screen, fields: Sequence[Field]) -> dict[str, Any]:
        replies, mood = _replies(screen), self._chance()
        opinions = [self._tends.opinion(reply, self._chance()) for reply in replies]
        item = "\n".join(_items(screen))
        found: dict[str, Any] = {}
        for field in fields:
            place = _number(field.name)
            if isinstance(field, ChoiceField) and set(field.options) == set(ANSWERS):
                found[field.name] = self._tends.unsafe(item, field.name, mood, self._chance())
            elif field.name == "winner" and isinstance(field, ChoiceField) and len(opinions) > 1:
                found[field.name] = _vote(list(field.options), opinions)
            elif field.name.startswith("rank_") and place < len(opinions):
                found[field.name] = str(1 + sum(other > opinions[place] + ALIKE for other in opinions))
            elif isinstance(field, Scale | Slider) or field.name == "confidence":
                found[field.name] = self._on_scale(field, self._felt(field, item, opinions))
        return found

    def _felt(self, field: Field, item: str, opinions: Sequence[float]) -> float:
        """Return a rating, about standard normal: of a reply, of the ease of the problem, or of anything."""
        if opinions:
            return opinions[min(_number(field.name), len(opinions) - 1)] + 0.4 * self._chance()
        return (
            self._tends.ease(item) + 0.5 * self._chance() if item else self._tends.opinion(field.text, self._chance())
        )

    def _on_scale(self, field: Field, felt: float) -> Any:
        """The point of a scale that many people out of a hundred are below who feel as this one does."""
        if isinstance(field, Slider):
            points: Sequence[Any] = range(field.minimum, field.maximum + 1, field.step)
        else:
            points = list(field.options) if isinstance(field, ChoiceField) else ()
        return points[min(int(STANDARD.cdf(felt) * len(points)), len(points) - 1)]

    def _chance(self) -> float:
        return self._random.gauss(0, 1)


def _has_spoken(chat: ChatView) -> bool:
    return any(message.role == "You" for message in chat.messages)


def _vote(options: Sequence[str], opinions: Sequence[float]) -> str:
    """The better reply, or that all are equally good or none is good; the columns are the first options."""
    best = max(opinions)
    if best < POOR:
        return BAD
    return TIE if best - sorted(opinions)[-2] < ALIKE else options[opinions.index(best)]


def _replies(screen: Screen) -> list[str]:
    """Return the replies to rate, in order: those of the last round, the last one, each turn, or each conversation."""
    chat = screen.panel.chat
    if chat and chat.rounds:
        return [reply.text for reply in chat.rounds[-1].replies]
    if chat and chat.messages:
        return [chat.messages[-1].text]
    talks = [block for block in screen.panel.blocks if isinstance(block, TranscriptBlock) and not block.judged]
    said = [[message.text for message in talk.messages if message.role == "Bot"] for talk in talks]
    return said[0] if len(talks) == 1 else ["\n".join(texts) for texts in said]


def _items(screen: Screen) -> Iterator[str]:
    """Yield the subjects of the questions: the problem, or the conversation whose last response is judged."""
    for block in screen.panel.blocks:
        if isinstance(block, ProblemBlock):
            yield block.text
        elif isinstance(block, TranscriptBlock) and block.judged:
            yield from (message.text for message in block.messages)


def _number(name: str) -> int:
    """The place of the turn, conversation or column at the end of a field's name: `rank_1`, `score_b`; otherwise 0."""
    end = name.rpartition("_")[2]
    return int(end) if end.isdecimal() else SLOTS.index(end) if len(end) == 1 and end in SLOTS else 0


def _texts(screen: Screen) -> Iterator[str]:
    """Yield the texts to read; of a conversation only the last ones."""
    chat = screen.panel.chat
    for block in screen.panel.blocks:
        if isinstance(block, TextBlock | ProblemBlock) and not (chat and chat.messages):
            yield block.text
        elif isinstance(block, TranscriptBlock):
            own = block.you == "You"
            yield from (message.text[: SKIMMED_CHARS if own else None] for message in block.messages)
    if chat and chat.rounds:
        if chat.rating:
            yield from (reply.text for reply in chat.rounds[-1].replies)
    elif chat and chat.messages and not chat.rating:
        yield chat.messages[-1].text
