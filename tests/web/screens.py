# ruff: noqa: E501  (texts as a researcher's file has them)
"""One screen of every kind, as values; what the gallery shows and the tests of paint paint."""

from dataclasses import replace

from app.studies.loader import INSTRUMENTS, read_instruments
from experiments.instruments.scales import CONFIDENCE, QUESTIONS
from experiments.session.conversation import UNANSWERED
from experiments.session.engine import screen
from experiments.study.fields import (
    Checkbox,
    LongText,
    MultipleChoiceField,
    Number,
    Scale,
    ShortText,
    SingleChoice,
    Slider,
)
from experiments.study.instrument import Instrument, InstrumentUse
from experiments.study.problem_answer import SURE as ANSWER_SURE
from experiments.study.problem_answer import NumericAnswer
from experiments.study.screen import (
    ChatMessage,
    ChatView,
    CodeBlock,
    NoticeBlock,
    Panel,
    ProblemBlock,
    ProgressView,
    ReplyView,
    RoundView,
    Screen,
    TextBlock,
    TranscriptBlock,
)
from tests.fakes.sessions import STUDIES, play, study

CONSENT = """You are invited to take part in a research study on **how people work with AI chatbots**. It is run by the \
Department of Examples and was approved by its ethics committee (number 2026-17).

## What you will do

You will answer some multiple-choice questions, first on your own and then together with a chatbot. \
The study takes about **25 minutes** and pays £4.50.

- You may stop at any time without giving a reason.
- Your answers are stored without your name.
- Please do not type anything that identifies you or others.

## Your data

The anonymous answers and conversations will be published for research. You can ask us to delete them until they are."""

AGREED = (Checkbox(name="agreed", text="I agree to this consent form."),)

WEIGHT = "How heavy is a full-grown African elephant, on average?"
NUMBER = NumericAnswer(unit="kg", minimum=0).field().model_copy(update={"text": ""})
SURE = ANSWER_SURE.model_copy(update={"text": "How sure are you that your answer is right?"})
PROBLEM = r"""Let \(f: \mathbb{R} \to \mathbb{R}\) be given by \(f(x) = \frac{x^2 - 1}{\sqrt{x^2 + 1}}\) for
\(x \geq 0\), and suppose that

$$\sum_{n=1}^{\infty} \frac{1}{n^2} = \frac{\pi^2}{6}, \qquad \int_0^{\infty} e^{-x^2}\,dx = \frac{\sqrt{\pi}}{2}.$$

What is the value of \(\lim_{x \to \infty} \frac{f(x)}{x}\)?"""

OPTIONS = {
    "A": r"\(\frac{1}{2}\)",
    "B": r"\(\sqrt{a^2 + b^2} \leq \sum_{i=1}^{n} x_i\)",
    "C": r"\(\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}\)",
    "D": "None of these; the limit does not exist, since the function grows without bound on the positive reals",
}

SUM = " + ".join(f"a_{{{n}}} x^{{{n}}}" for n in range(10))

HELPFULNESS = Scale.model_validate({"type": "scale", "scale": "helpfulness"})
CORRECTNESS = Scale.model_validate({"type": "scale", "scale": "correctness"})

SURVEY = (
    SingleChoice(
        name="gender",
        text="What is your gender?",
        options={"f": "Female", "m": "Male", "x": "Another", "n": "Prefer not to say"},
    ),
    SingleChoice(
        name="education",
        text="What is the highest level of education you have completed?",
        options={
            k: k for k in ("Secondary school", "Bachelor's degree", "Master's degree", "Doctorate", "Something else")
        },
    ),
    MultipleChoiceField(
        name="tools",
        text="Which of these have you used in the last month?",
        help="Choose all that apply.",
        options={"gpt": "ChatGPT", "claude": "Claude", "gemini": "Gemini", "none": "None of these"},
    ),
    Number(name="age", text="How old are you?", minimum=18, maximum=120, help="In years."),
    Scale(
        name="often",
        text="How often do you use such a tool?",
        options={str(n): str(n) for n in range(1, 8)},
        help="1 is never, 7 is every day.",
    ),
    Scale.model_validate({"type": "scale", "scale": "solo_solve"}),
    ShortText(name="field", text="What did you study?", required=False),
    LongText(name="thoughts", text="What do you expect of such a tool?", max_chars=1000),
    Checkbox(name="honest", text="I have answered honestly."),
)

REPLY = r"""Good question. For a **stationary point** we need \(f'(x) = 0\), that is

\[ \frac{d}{dx}\left(x^2 - 4x + 1\right) = 2x - 4 = 0. \]

1. Solve it: \(x = 2\).
2. Check that `if a<b and c>d` holds, so a<b and c>d; it costs $5 and then $10.

```python
def f(x): return x**2 - 4*x + 1 if x < 3 else None
```"""

TALK = (
    ChatMessage(
        "You", r"How do I find the minimum of \(x^2 - 4x + 1\)? I think a<b and c>d, <b>not bold</b> &lt; & more"
    ),
    ChatMessage("Bot", REPLY),
    ChatMessage("You", "And is it\nthe *only* one?"),
    ChatMessage(
        "Bot", r"Yes: \(f''(x) = 2 > 0\) everywhere, so the function is strictly convex and has **one** minimum."
    ),
)

TABLE = r"""Here is a comparison:

| Option | Ingredient list | Manufacturer | Availability in supermarkets | Price | Recommended? |
|:-------|:---------------:|--------------|------------------------------|------:|--------------|
| Option A | Wheat | Schwarzwaldmanufaktur | yes | 1.20 | yes |
| Option B | Potatoes | Southern | no | 123.40 | no |

\[ f(x) = a_0 + a_1 x + a_2 x^2 + a_3 x^3 + a_4 x^4 + a_5 x^5 + a_6 x^6 + a_7 x^7 + a_8 x^8 + a_9 x^9 + a_{10} x^{10} \]"""

AT = ProgressView("Phase 2, question 3 of 9", 0.42)
INSTRUCTIONS = TextBlock(
    "Work on this question **with the chatbot** on the right. When you are done, choose your answer and continue."
)


def _screen(path: str, panel: Panel, *actions: str, progress: ProgressView = AT, ended: bool = False) -> Screen:
    return Screen(path, 7, panel, progress, actions, ended)


def _chat(**changes: object) -> ChatView:
    values = {"title": "AI Chatbot", "messages": (), "remaining": 20, "max_chars": 4000, "minimum": 1}
    return ChatView(**values | changes)  # type: ignore[arg-type]


def _working(chat: ChatView, *actions: str, answer: bool = False) -> Screen:
    fields = (SingleChoice(name="answer", options=OPTIONS),) if answer else ()
    return _screen("chat", Panel("", (INSTRUCTIONS, ProblemBlock(PROBLEM, copying=False)), fields, chat), *actions)


VOTE = SingleChoice(
    name="winner",
    text="Which answer is better?",
    options={"a": "A is better", "b": "B is better", "tie": "Tie", "bad": "Both are bad"},
)
FIRST = RoundView(TALK[0].text, (ReplyView("a", "A", TALK[1].text), ReplyView("b", "B", TALK[3].text)), "A is better")
SORRY = "No reply could be generated. Your message is saved."
BATTLE = (
    "Write a message. Two AI assistants, **A** and **B**, answer it at the same time. Read both answers, then vote for "
    "the better one. You can then write another message or end the conversation."
)


def _compared(*actions: str, rounds: tuple[RoundView, ...], columns: int = 2, **changes: object) -> Screen:
    said = tuple(ChatMessage("You", one.message) for one in rounds)
    waiting = any(reply.waiting for one in rounds for reply in one.replies)
    chat = _chat(messages=said, remaining=5 - len(rounds), waiting=waiting, columns=columns, rounds=rounds, **changes)
    return _screen("compare", Panel("", (TextBlock(BATTLE),), (), chat, "End this conversation"), *actions)


def _second(*replies: ReplyView) -> tuple[RoundView, ...]:
    return (FIRST, RoundView("And is it the only one?", replies))


LEFT = ReplyView("a", "A", TALK[3].text)
SCORES = tuple(
    Slider(name=f"score_{slot}", text=f"How good is {called}'s answer?", left="Very bad", right="Very good")
    for slot, called in (("a", "A"), ("b", "B"), ("c", "C"))
)
THREE = (ReplyView("a", "A", TALK[3].text), ReplyView("b", "B", TALK[1].text), ReplyView("c", "C", "Yes, it is."))


def _played(name: str, step: str) -> Screen:
    """The first screen of a kind of step in a study that comes with Parley or its tests, as a bot meets it."""
    screens = (screen(study(name), state) for state, _ in play(study(name), "1"))
    return next(seen for seen in screens if f"/{seen.path}".endswith(f"/{step}"))


def _with_a_long_talk(one: Screen) -> Screen:
    """A screen about a conversation, with one that is higher than most windows, and so is its last response."""
    blocks = tuple(
        replace(block, messages=(*TALK, TALK[0], ChatMessage("Bot", f"{REPLY}\n\n{REPLY}")))
        if isinstance(block, TranscriptBlock)
        else block
        for block in one.panel.blocks
    )
    return replace(one, panel=replace(one.panel, blocks=blocks))


CUT = ChatMessage("Bot", "Yes: it is", "cut_off")
CHECKED = (
    SingleChoice(
        name="tools",
        text="May you use other tools, websites or people?",
        options={"yes": "Yes, all of them", "some": "Only a pocket calculator", "no": "No"},
    ),
    Number(name="count", text="How many questions will you answer?"),
)
AGAIN = NoticeBlock("You have one more attempt. That answer is not correct yet.", (CHECKED[0].text,))
# Items on lines, on points with labels at the ends, and on points that all have a label.
ASKED = tuple(
    field
    for name in ("nasa-tlx", "s-tias", "ncs-6")
    for field in Instrument.model_validate(read_instruments(INSTRUMENTS, [])[name]).questions(
        InstrumentUse(instrument=name, required=name != "s-tias")
    )
)

SCREENS: dict[str, Screen] = {
    "consent": _screen(
        "consent",
        Panel("Consent", (TextBlock(CONSENT),), AGREED, decline="I do not agree"),
        "submit",
        "decline",
        progress=ProgressView("", 0.0),
    ),
    "survey": _screen("survey", Panel("About you", (TextBlock("A few questions about yourself."),), SURVEY), "submit"),
    "instruments": _screen("instruments", Panel("About the task", (), ASKED), "submit"),
    "confidence": _screen(
        "confidence",
        Panel(
            "",
            (TextBlock("Please read the following question carefully."), ProblemBlock(PROBLEM, tuple(OPTIONS.items()))),
            (SingleChoice(name="confidence", text=QUESTIONS["confidence"], options=CONFIDENCE),),
        ),
        "submit",
    ),
    "wide-formulas": _screen(
        "wide",
        Panel(
            "A long sum",
            (ProblemBlock(rf"What is \({SUM}\), if \[{SUM} = 1?\]"),),
            (SingleChoice(name="answer", options={"A": rf"\({SUM}\)", "B": "None of these"}),),
        ),
        "submit",
    ),
    "chat": _working(_chat(), "say"),
    "chat-answer": _working(_chat(messages=TALK, remaining=0), "say", "submit", answer=True),
    "chat-table": _working(
        _chat(messages=(*TALK, TALK[0], ChatMessage("Bot", TABLE)), title="Ada", remaining=17), "say", "submit"
    ),
    "chat-rate": _working(_chat(messages=(*TALK, *TALK[:2]), remaining=18, rating=(HELPFULNESS, CORRECTNESS)), "rate"),
    "chat-failed": _working(
        _chat(
            messages=(*TALK[:3], CUT, TALK[2]),
            remaining=18,
            failed="No reply could be generated. Your message is saved.",
        ),
        "retry",
        "submit",
    ),
    "chat-refused": _working(
        _chat(
            messages=(*TALK, replace(TALK[0], ended="unanswered")),
            remaining=18,
            failed=UNANSWERED,
            refused=TALK[0].text,
        ),
        "say",
        "submit",
    ),
    "chat-waiting": _working(_chat(messages=TALK[:3], remaining=18, waiting=True)),
    "compare": _compared("say", rounds=()),
    "compare-waiting": _compared(rounds=_second(ReplyView("a", "A", waiting=True), ReplyView("b", "B", waiting=True))),
    "compare-vote": _compared("vote", rounds=_second(LEFT, ReplyView("b", "B", TALK[1].text)), rating=(VOTE,)),
    "compare-failed": _compared("retry", "submit", rounds=_second(LEFT, ReplyView("b", "B", failed=SORRY))),
    "compare-broken": _compared(
        "retry", "submit", rounds=_second(LEFT, ReplyView("b", "B", TALK[1].text, SORRY, ended="broken_off"))
    ),
    "compare-scores": _compared(
        "vote", rounds=(RoundView("And is it the only one?", THREE),), columns=3, rating=SCORES
    ),
    "rate-turns": _screen(
        "rate-turns",
        Panel(
            "Rate the conversation",
            (
                TextBlock("Please review the conversation and rate each response of the assistant."),
                TranscriptBlock(
                    "AI Chatbot",
                    TALK,
                    PROBLEM,
                    tuple(
                        tuple(s.model_copy(update={"name": f"{s.name}_{n}"}) for s in (HELPFULNESS, CORRECTNESS))
                        for n in range(2)
                    ),
                ),
            ),
            tuple(s.model_copy(update={"name": f"{s.name}_{n}"}) for n in range(2) for s in (HELPFULNESS, CORRECTNESS)),
        ),
        "submit",
    ),
    "rank": _screen(
        "rank",
        Panel(
            "Your preference",
            (
                TextBlock("Here is what you said with each of the three. Please rank them; equal ranks are allowed."),
                *(TranscriptBlock(f"Model {n}", TALK if n < 3 else ()) for n in (1, 2, 3)),
            ),
            tuple(
                SingleChoice(
                    name=f"rank_{n}",
                    text=f"Model {n + 1}",
                    options={
                        "1": "1 (Most preferrable math assistant)",
                        "2": "2",
                        "3": "3 (Least preferrable math assistant)",
                    },
                )
                for n in range(3)
            ),
        ),
        "submit",
    ),
    "rate-dialogue": _with_a_long_talk(_played("dices-350", "rate_dialogue")),
    "label-turns": _played(str(STUDIES / "everything.yaml"), "label_turns"),
    "guess": _played(str(STUDIES / "everything.yaml"), "which"),
    "check-again": _screen(
        "check",
        Panel(
            "Did we explain it?",
            (AGAIN, TextBlock("Please answer.")),
            CHECKED,
        ),
        "submit",
    ),
    "number": _screen(
        "answer",
        Panel("", (TextBlock("Take as much time as you need."), ProblemBlock(WEIGHT)), (NUMBER, SURE)),
        "submit",
    ),
    "finish": _screen(
        "finish",
        Panel(
            "Thank you",
            (
                TextBlock("You have finished the study. Your answers are saved. You can close this page."),
                CodeBlock("C1A2B3D4", "https://app.prolific.com/submissions/complete?cc=C1A2B3D4"),
            ),
        ),
        progress=ProgressView("", 1.0),
        ended=True,
    ),
}
