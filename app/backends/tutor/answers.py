"""What the tutor says where it commits to an answer: sums, equations, choices, and doubts about them."""

import re
from fractions import Fraction

from app.backends.tutor import arithmetic, choices, topics
from app.backends.tutor.arithmetic import Operation, math, number
from app.backends.tutor.choices import MultipleChoice
from app.backends.tutor.turn import TutorTurn, quote

ADMITS = 0.65
"""How often a tutor who was wrong sees it when it is asked to look again."""

WHY = re.compile(r"^\W*(?:but )?(?:why|how|explain|i don'?t (?:get|understand)|what do you mean|can you|huh)\b", re.I)
SHORT = 100
"""Characters; what is longer is a new question, not a doubt about the last answer."""

LETTER_ONLY = re.compile(r"single letter|only (?:with )?(?:the |a |one )?letter|just the letter|answer:\s*$", re.I)
DOUBT = re.compile(
    r"\b(?:(?:are )?you sure|really|certain|double.?check|check (?:it|that|again)|again|mistake|incorrect|"
    r"(?:that|this|it)(?:'s| is| seems| looks)(?:n't| not)? (?:wrong|right|off|correct)|isn'?t it|is it|"
    r"i (?:get|got|think|thought) (?:it'?s |that'?s |the answer is )?(?:-?\d+|[A-H]|you)|"
    r"shouldn'?t|should be|so (?:it'?s|the answer is))\b",
    re.I,
)
EQUATION = re.compile(
    r"(?<![\w.])(-?\d{0,4})\s*\*?\s*([a-wyz]|x)\s*([-+]\s*\d{1,6})?\s*=\s*(-?\d{1,6})(?![\w.^])", re.I
)

OPENINGS = (
    "Happy to. Let's take it one step at a time, multiplication and division before addition and subtraction.",
    "Good question – the order of the operations is what decides here, so let's write every step down.",
    "Sure! I'll go slowly, so that you can check me as I go: brackets first, then powers, then products, then sums.",
    "Let's see. I like to do one operation at a time and copy the rest unchanged.",
)
CLOSINGS = (
    "If you want to make certain, do the same steps in reverse and see whether you come back to where you began.",
    "A quick estimate in your head is always a good check – does that size seem right to you?",
    "Does each step make sense to you? If one of them looks odd, tell me its number.",
    "The usual trap is to work strictly from left to right; the brackets and products have to go first.",
)
AGAIN = (
    "Gladly, once more and in smaller pieces. The rule behind it: brackets bind tightest, then powers, then "
    "products "
    "and quotients, and sums come last."
)
ANSWERS = ("So the answer is {}.", "That gives {}.", "Which makes it {}.", "The result is therefore {}.")
WEIGHING = (
    "I'd look at what the question really turns on before comparing the options.",
    "With questions like this one it helps to say the answer in your own words first, then look for it in the list.",
    "Let's go through the list and ask of each option whether it could be true here.",
    "Two of the options can usually be put aside quickly, so let's concentrate on the rest.",
)
REASONS = (
    "it fits what is asked most directly, and needs nothing that the question doesn't say",
    "it follows from what is given, while the others each need one assumption more",
    "it is the only one that still holds if you try an extreme case",
    "it says what the question asks for, no more and no less",
)
STANDING = (
    "Yes – I went through it once more, and I come to the same result.",
    "A fair thing to ask! I have checked it again from the other end, and it holds.",
    "I'm confident. I did it a second time without looking at the first, and they agree.",
    "Quite sure, yes. Let me say why, so that you needn't take my word for it.",
)
YIELDING = (
    "Thank you for asking – looking at it again, I made a slip.",
    "Hm, good that you ask. I see now that I went wrong on the way.",
    "You're right to be careful: I have to correct myself.",
    "Let me take that back; on a second look it comes out differently.",
)


def letter_only(turn: TutorTurn) -> str | None:
    """Answer with a letter alone where the prompt orders it."""
    choice = choices.find(turn.text)
    if choice is None or not LETTER_ONLY.search(turn.text):
        return None
    return _chosen(choice, turn)


def choice(turn: TutorTurn) -> str | None:
    """Weigh the options of a multiple-choice question and commit to one."""
    found = choices.find(turn.text)
    return None if found is None else _weigh(found, turn)


def summarise(turn: TutorTurn) -> str | None:
    """Work out an expression step by step."""
    expression = arithmetic.find(turn.text)
    return None if expression is None else f"{turn.pick('sum', OPENINGS)}\n\n{_steps(expression, turn)}"


def equation(turn: TutorTurn) -> str | None:
    """Solve a linear equation for its one unknown."""
    match = EQUATION.search(turn.text)
    if match is None:
        return None
    unknown, constant, right = match[2], int((match[3] or "0").replace(" ", "")), int(match[4])
    factor = int({"": "1", "-": "-1"}.get(match[1], match[1]))
    if factor == 0:
        return None
    slip = 1 if turn.draw("equation", match[0]) < turn.wrong else 0
    left = "" if factor == 1 else "-" if factor == -1 else str(factor)
    moved, result = right - constant + slip, Fraction(right - constant + slip, factor)
    return (
        f"Think of an equation as a pair of scales: whatever you do on one side, do on the other too.\n\n"
        f"1. Take \\({constant}\\) away from both sides: \\({left}{unknown} = {moved}\\).\n"
        f"2. Divide both sides by \\({factor}\\): \\({unknown} = {number(result)}\\).\n\n"
        f"{_conclude(turn, math(f'{unknown} = {number(result)}'))} "
        f"To check, put it back in for `{unknown}` – the left side should come to \\({right}\\)."
    )


def doubt(turn: TutorTurn) -> str | None:
    """Look again at the last answer: stand by it, or take it back."""
    if turn.claim is None or len(turn.text) > SHORT or not DOUBT.search(turn.text):
        return None
    for text in turn.before:
        if (found := choices.find(text)) is not None:
            return _doubted_choice(found, turn)
        if (expression := arithmetic.find(text) or arithmetic.explained(text)) is not None:
            return _doubted_sum(expression, turn)
    return f"{turn.pick('stand', STANDING)} I stay with **{turn.claim}**. What is it that makes you hesitate?"


def again(turn: TutorTurn) -> str | None:
    """Explain the last answer once more, the same way as before, when asked why or how."""
    if turn.claim is None or not WHY.search(turn.text):
        return None
    for text in turn.before[:4]:
        if (found := choices.find(text)) is not None:
            return f"Gladly, from another side.\n\n{_weigh(found, turn)}"
        if (expression := arithmetic.find(text) or arithmetic.explained(text)) is not None:
            return f"{AGAIN}\n\n{_steps(expression, turn)}"
    return None


def word_problem(turn: TutorTurn) -> str | None:
    """Make a sum of a short story with two numbers in it, by the words that give the operation away."""
    expression = arithmetic.explained(turn.text)
    if expression is None:
        return None
    return (
        f"Let's put the story into numbers: *{quote(turn.text)}*. The words tell which operation it is, and "
        "the two "
        f"numbers that count are {math(arithmetic.latex(expression.left))} and "
        f"{math(arithmetic.latex(expression.right))}.\n\n{_steps(expression, turn)}"
    )


def _steps(expression: Operation, turn: TutorTurn) -> str:
    steps = _worked_out(expression, turn)
    lines = [
        f"{i}. \\({step.work} = {number(step.value)}\\)"
        + (f", which leaves \\({step.rest}\\)." if i < len(steps.steps) else ".")
        for i, step in enumerate(steps.steps, 1)
    ]
    result = number(steps.result)
    return (
        "\n".join(lines) + f"\n\n\\[{steps.asked} = {result}\\]\n\n"
        f"{_conclude(turn, math(result))} {turn.pick('check', CLOSINGS)}"
    )


def _worked_out(expression: Operation, turn: TutorTurn, *, right: bool = False) -> arithmetic.Solution:
    """Work it out as this tutor does, each time with the same slip if it makes one."""
    asked = arithmetic.latex(expression)
    mistaken = not right and turn.draw("mistaken", asked) < turn.wrong
    at = int(turn.draw("where", asked) * arithmetic.operations(expression)) if mistaken else -1
    return arithmetic.solve(expression, lambda i, value: _off(value, turn.draw("off", asked)) if i == at else value)


def _off(value: Fraction, draw: float) -> Fraction:
    """Make a believable mistake: by one, by two, by ten, or of the sign."""
    slips = (value + 1, value - 1, value + 10, value - 2, -value if value else value + 1)
    return slips[int(draw * len(slips))]


def _chosen(choice: MultipleChoice, turn: TutorTurn) -> str:
    letter, _ = choices.best(choice, turn)
    mistaken = turn.draw("mistaken", choice.question, *choice.options.values()) < turn.wrong
    return choices.other(choice, letter, turn) if mistaken else letter


def _weigh(choice: MultipleChoice, turn: TutorTurn) -> str:
    letter = _chosen(choice, turn)
    rival = choices.other(choice, letter, turn)
    asked, topic = quote(choice.question), topics.find(choice.question)
    opening = f"You ask: *{asked}*. {turn.pick('weigh', WEIGHING)}" if asked else turn.pick("weigh", WEIGHING)
    key = f" The key here is {topic.name}: {topic.says}." if topic else ""
    return (
        f"{opening}{key}\n\n"
        f"- Option {rival} ({_short(choice, rival)}) is tempting, but it only fits at first sight.\n"
        f"- Option {letter} ({_short(choice, letter)}) is better: {turn.pick('reason', REASONS)}.\n\n"
        f"{_conclude(turn, _named(choice, letter))} "
        "If you lean towards another one, tell me why, and we'll compare."
    )


def _short(choice: MultipleChoice, letter: str) -> str:
    return quote(choice.options[letter]) or "as written"


def _named(choice: MultipleChoice, letter: str) -> str:
    text = quote(choice.options[letter])
    return f"{letter}. {text}" if text else letter


def _doubted_choice(choice: MultipleChoice, turn: TutorTurn) -> str:
    claimed, (letter, known) = (turn.claim or "")[:1], choices.best(choice, turn)
    suggested = re.search(r"\b([A-H])\b(?!')", turn.text)
    if suggested and suggested[1] == letter:
        return _yield(turn, _named(choice, letter), "your reading is the better one")
    limit = ADMITS if claimed != letter and known else turn.wrong
    yields = turn.draw("doubt", turn.text, len(turn.replies)) < limit
    if yields:
        taken = letter if claimed != letter else choices.other(choice, letter, turn)
        return _yield(turn, _named(choice, taken), "I had given too little weight to how the question is put")
    stays = claimed if claimed in choice.options else letter
    return (
        f"{turn.pick('stand', STANDING)} The other options each leave something out, and "
        f"{turn.pick('reason', REASONS)}. "
        f"I stay with **{_named(choice, stays)}**. Which of the others would you have chosen, and for what "
        "reason?"
    )


def _doubted_sum(expression: Operation, turn: TutorTurn) -> str:
    truth = arithmetic.exact(expression)
    right = math(number(truth))
    suggested = any(Fraction(found) == truth for found in re.findall(r"-?\d{1,15}(?:\.\d{1,9})?", turn.text))
    draw = turn.draw("doubt", turn.text, len(turn.replies))
    if turn.claim == right and (suggested or draw >= turn.wrong / 2):
        return _stand(turn, arithmetic.latex(expression), right)
    if turn.claim == right:
        off = math(number(_off(truth, turn.draw("off", turn.text))))
        return _yield(turn, off, "I had lost a number when I copied the second line")
    if suggested or draw < ADMITS:
        first = _worked_out(expression, turn, right=True).steps[0]
        return _yield(turn, right, "the first step is " + math(f"{first.work} = {number(first.value)}"))
    return _stand(turn, arithmetic.latex(expression), turn.claim or right)


def _stand(turn: TutorTurn, asked: str, claim: str) -> str:
    return (
        f"{turn.pick('stand', STANDING)} In {math(asked)} every operation is used exactly once, and going "
        "through the "
        f"steps backwards leads to where we started. I stay with **{claim}**. If you have found something "
        "else, show me "
        "your second line – that's where most differences begin."
    )


def _yield(turn: TutorTurn, answer: str, why: str) -> str:
    return (
        f"{turn.pick('yield', YIELDING)} If I start over, I see it: {why}, and everything after it changes "
        "with it. "
        f"{_conclude(turn, answer)} Sorry for the detour – it is well worth asking twice, and you "
        "did. Would you like to see all the steps again?"
    )


def _conclude(turn: TutorTurn, answer: str) -> str:
    """Commit to an answer; what is bold is what the tutor will be held to (`Turn.claim`)."""
    return turn.pick("answer", ANSWERS).format(f"**{answer}**")
