"""What the tutor says where there is nothing to commit to: greetings, proofs, explanations, all else."""

import re

from app.backends.tutor import topics
from app.backends.tutor.topics import Topic
from app.backends.tutor.turn import TutorTurn, quote

GREETING = re.compile(
    r"(?:hi+|hey+|hello+|good (?:morning|afternoon|evening)|greetings|yo|hola)\b[\w\s,!.'?]{0,25}", re.I
)
THANKS = re.compile(
    r"\W*(?:thanks?|thank you|thx|cheers|bye|goodbye|got it|makes sense|great|perfect|ok(?:ay)?)\b", re.I
)
PROOF = re.compile(r"\b(?:prove|proof|show|demonstrate|verify|derive|establish)\b", re.I)
WHAT = re.compile(
    r"\b(?:what(?:'s| is| are| does)|define|definition of|meaning of|explain|tell me about)\s+(.{2,160})",
    re.I | re.S,
)
WHY = re.compile(
    r"^\W*(?:why|how|how so|explain|i don'?t (?:get|understand)|what do you mean|can you explain|huh|\?+)\b",
    re.I,
)
EXAMPLE = re.compile(r"\b(?:examples?|for instance|concrete(?:ly)?|illustrate)\b", re.I)
EVERY = re.compile(
    r"\b(?:for (?:all|every|each)|natural number|integers?|induction)\b|\\forall|\\mathbb\s*\{?[NZ]", re.I
)
NOT = re.compile(r"\b(?:irrational|infinitely many|no |not |never|impossible|does not|unique)", re.I)
INEQUALITY = re.compile(r"\\(?:leq?|geq?)\b|[≤≥]|\b(?:inequality|at most|at least|bounded)\b", re.I)

WAYS = (
    "- **Given:** everything the text states outright, with its units.\n"
    "- **Asked:** the one thing that the last sentence wants.\n"
    "- **Link:** a rule with both in it, often a single equation such as `part = share x whole`.\n\n"
    "Once the link is found, the rest is usually a line or two.",
    "1. **Say it** in one plain sentence, without any of the numbers.\n"
    "2. **Guess** what comes out, roughly: large or small, yes or no.\n"
    "3. **Work** from there, and compare with the guess at the end.\n\n"
    "When the two disagree, one of them has something to teach us.",
    "- **What would be different** if the answer were the opposite?\n"
    "- **Which detail** could be left out without changing anything?\n\n"
    "These two questions cut most problems down to their core, and here I think the second one is the more "
    "helpful: not everything in the text is there to be used.",
)
HELLOS = (
    "Hello! I'm here to think along with you. Tell me what you are working on – a sum, a multiple-choice "
    "question, "
    "something to prove – and paste as much of it as you like: I can only see what you write to me. "
    "If you have already tried something, start with that; it saves us both time.",
    "Hi there, good to meet you. What's the question? I can't see your screen, so please write out the part "
    "that "
    "matters, with the options if there are any. We can go step by step, or I can give you just a hint – say "
    "which "
    "you prefer.",
    "Hey! Ready when you are. Send me the problem in your own words, or copy the numbers and conditions "
    "exactly. Small "
    "details like *at most* or *not* often decide the answer, so please keep those in.",
)
WELCOMES = (
    "You're very welcome! Before you move on, one habit that pays off: say the main step once in your own "
    "words, "
    "without looking. If that goes smoothly, you have it. And if something doesn't add up later, come back "
    "with it – "
    "I'm glad to look again, with the next question too.",
    "My pleasure. If you want to be on the safe side, go back to what was asked and check that we answered "
    "exactly "
    "that, in the right unit and for the right case. Anything else that you would like to go through "
    "together?",
    "Glad that helped. It was your way of asking that made it easy! Is there a step that you would explain "
    "differently? Otherwise, I'm ready for the next one whenever you are.",
)
NUDGES = (
    "I'm not sure that I caught that. Could you write it out in a sentence or two? What helps me most is the "
    "question "
    "itself, what is given, and where you got stuck. A rough attempt is fine: even a wrong first line tells "
    "me where "
    "to begin.",
    "There isn't much for me to go on yet. Could you tell me what the question asks, and what you know "
    "already? "
    "Numbers and conditions are worth copying exactly; the rest can be in your own words, as short as you "
    "like.",
    "Could you say a little more? I only see your messages, not the question on your screen. If typing it "
    "all is a "
    "bother, begin with the last sentence of the question – it usually holds what is asked for.",
)
PROOF_OPENINGS = (
    "A nice one. Before any formulas, let's fix a plan.",
    "Let's first see what has to be shown, and then choose the tool.",
    "I'd go about it like this – it isn't the only way, but it is a short one.",
    "Proofs like this one mostly come from unfolding the definitions in the right order.",
)
PROOF_CLOSINGS = (
    "Do you want to try the second step yourself? Write down what you get, and I'll check it.",
    "The second step carries all the weight; the others are bookkeeping. Shall I write it out in full?",
    "Which of these steps would you like in detail?",
    "Be careful with the edge cases there: they are short, but they belong to the proof.",
)
ADVICE = (
    "I'd begin by separating what is *given* from what is *asked*: two short lists, nothing clever.",
    "What helps here is to make it smaller: put in the simplest numbers that make sense and see what happens.",
    "Try drawing it, or making a small table. The pattern often shows by the third line.",
    "Work from the end: what would you need to know just before the last step? Then ask the same of that.",
)
NEXT = (
    "What have you tried so far, and where did it stop making sense?",
    "If there are options to choose from, send me those too, and I'll weigh them with you.",
    "Can you give me the exact numbers or conditions? Then I can be more definite.",
    "Which part of it would you like to start with?",
)


def greeting(turn: TutorTurn) -> str | None:
    """Greet back, or open the conversation."""
    opens = not turn.messages or all(message.role == "system" for message in turn.messages)
    return turn.pick("hello", HELLOS) if opens or GREETING.fullmatch(turn.text) else None


def thanks(turn: TutorTurn) -> str | None:
    """Answer short thanks, which end a topic."""
    return turn.pick("welcome", WELCOMES) if len(turn.text) < 60 and THANKS.match(turn.text) else None


def nudge(turn: TutorTurn) -> str | None:
    """Ask for more where there is nothing to go on."""
    return turn.pick("nudge", NUDGES) if len(quote(turn.text)) < 3 else None


def proof(turn: TutorTurn) -> str | None:
    """Plan a proof: by induction, contradiction, estimate or from the definitions."""
    if not PROOF.search(turn.text) or len(turn.text) < 15:
        return None
    topic = topics.find(turn.text)
    tool = f"\n\nThe idea that I would build on: {topic.idea}." if topic else ""
    plan = "\n".join(f"{i}. **{name}.** {step}" for i, (name, step) in enumerate(_plan(turn.text), 1))
    opening, closing = turn.pick("proof", PROOF_OPENINGS), turn.pick("try", PROOF_CLOSINGS)
    return f"{opening}{_you_want(turn)}{tool}\n\n{plan}\n\n{closing}"


def example(turn: TutorTurn) -> str | None:
    """Give the smallest example of what is talked about."""
    topic = topics.find(_context(turn)) if EXAMPLE.search(turn.text) else None
    if topic is None:
        return None
    return (
        f"Sure – the smallest case that isn't empty is the best one to look at. For {topic.name} take "
        f"{topic.example}. "
        f"Everything that matters is there already: {topic.says}. Change one number and redo it; if you can "
        "say what "
        "changes and what doesn't, you've understood more than a page of text could tell you. Shall we try "
        "that?"
    )


def explain(turn: TutorTurn) -> str | None:
    """Explain a notion, or the last topic again when asked why."""
    match = WHAT.search(turn.text)
    topic = topics.find(turn.text if match else _context(turn)) if match or WHY.search(turn.text) else None
    if topic is None:
        return None
    return f"{_opening(turn, topic)}\n\n> {topic.says[0].upper()}{topic.says[1:]}.\n\n{_more(turn, topic)}"


def fallback(turn: TutorTurn) -> str:
    """Think along with anything at all, in the participant's own words."""
    earlier = next((quote(text) for text in turn.before if len(quote(text)) > 12), "")
    link = f" I take it that this goes with what you wrote before, *{earlier}*." if earlier else ""
    topic = topics.find(turn.text)
    body = f"It reminds me of {topic.name}: {topic.says}. {_more(turn, topic)}" if topic else _way(turn)
    return f"So, in your words: *{quote(turn.text)}*.{link}\n\n{body}"


def _way(turn: TutorTurn) -> str:
    return f"{turn.pick('advice', ADVICE)}\n\n{turn.pick('way', WAYS)} {turn.pick('next', NEXT)}"


def _context(turn: TutorTurn) -> str:
    return " ".join((turn.text, *turn.before[:3]))


def _you_want(turn: TutorTurn) -> str:
    claims = [part for part in re.split(r"(?<=[.:])\s|\n", turn.text) if PROOF.search(part)]
    # words alone make no sense of a claim that is in formulas
    return f" You want: *{quote(claims[0])}*." if claims and not re.search(r"[$\\]", claims[0]) else ""


def _opening(turn: TutorTurn, topic: Topic) -> str:
    openings = (
        f"In a sentence, here is what {topic.name} is about:",
        f"That's at the heart of it. Think of {topic.name} this way:",
        f"Let me put {topic.name} as plainly as I can:",
    )
    return turn.pick("explain", openings)


def _more(turn: TutorTurn, topic: Topic) -> str:
    return (
        f"Why is that so? The idea is short: {topic.idea}. To see it at work, take {topic.example}. "
        f"{turn.pick('next', NEXT)}"
    )


def _plan(text: str) -> tuple[tuple[str, str], ...]:
    if INEQUALITY.search(text):
        return (
            (
                "Set up",
                r"Bring everything to one side, so that the claim reads \(D \geq 0\), and say when \(D = "
                r"0\).",
            ),
            (
                "Estimate",
                r"Write \(D\) as a sum of squares, or bound it term by term; each term may only lose in one "
                r"direction.",
            ),
            (
                "Conclude",
                "Add the bounds up, and check the case of equality, which shows that nothing was given away.",
            ),
        )
    if EVERY.search(text):
        return (
            ("Start", r"Check the first case, \(n = 1\), by hand."),
            (
                "Step",
                r"Assume the claim for \(n\), and write the case \(n + 1\) so that the case \(n\) appears in "
                r"it.",
            ),
            (
                "Conclude",
                r"Put the assumption in and simplify: what remains is an identity, so the claim holds for "
                r"all \(n\).",
            ),
        )
    if NOT.search(text):
        return (
            (
                "Assume the opposite",
                "Suppose that the claim fails, and give the thing that breaks it a name.",
            ),
            (
                "Follow it",
                "Use each condition once. The smallest or the first such thing is usually the one to look at.",
            ),
            (
                "Collide",
                r"You arrive at something smaller still, or at \(0 = 1\), so the assumption cannot stand.",
            ),
        )
    return (
        ("Unfold", "Write out what each word of the claim means, with its quantifiers."),
        (
            "Take an element",
            r"Let \(x\) be arbitrary on the left-hand side, and carry the definitions over until it is seen "
            r"to be on the right.",
        ),
        (
            "Turn round",
            "Check that each step can be reversed, or prove the other direction apart; then the claim is shown.",
        ),
    )
