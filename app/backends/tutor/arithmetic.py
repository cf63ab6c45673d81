"""Sums as people type them: found in a text, read, and worked out one step at a time.

`find` gives the expression in a text, `work_out` its steps. Numbers are fractions, so nothing is rounded.
Lengths, digits and powers are limited, so that no message costs more than a moment. A slip is one wrong step,
from which the rest follows correctly: the kind of mistake that people overlook.
"""

import operator
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

MAX_CHARS = 80
MAX_POWER = 12
MAX_DIGITS = 15

RANK = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 3}
SIGNS = {"+": "+", "-": "-", "*": r"\times", "/": r"\div"}
COMPUTE: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}

SPELLINGS = (
    (r"\\left|\\right|\\,|\\;|[$€£](?=\s?\d)|\$", ""),
    (r"\\d?frac\s*\{([^{}]{1,20})\}\s*\{([^{}]{1,20})\}", r"((\1)/(\2))"),
    (r"\^\s*\{\s*(-?\d{1,2})\s*\}", r"^\1"),
    (r"\\times|\\cdot|[×·⋅]|(?<=\w)\*\*(?!\s*\d)", "*"),
    (r"\*\*", "^"),
    (r"\\div|÷", "/"),
    (r"[−–]", "-"),
    (r"²", "^2"),
    (r"³", "^3"),
    (r"(?<=\d),(?=\d{3}\b)", ""),
    (r"(\d+(?:\.\d+)?)\s*(?:%|percent)\s+of\s+(?=[\d(])", r"\1/100*"),
    (r"(?<=[\d)])\s*[xX]\s*(?=[\d(])", "*"),
    (r"(?<=[\d)])\s+(?:times|multiplied by)\s+(?=[\d(])", "*"),
    (r"(?<=[\d)])\s+(?:divided by|over)\s+(?=[\d(])", "/"),
    (r"(?<=[\d)])\s+plus\s+(?=[\d(])", "+"),
    (r"(?<=[\d)])\s+minus\s+(?=[\d(])", "-"),
    (r"(?<=\))\s*(?=[\d(])|(?<=\d)(?=\()", "*"),
)
SPAN = re.compile(r"-?[\d(][\d\s.+\-*/^()]{0,90}[\d)]")
STORY_NUMBER = re.compile(r"(?<![\w.,])\d{1,3}(?:,\d{3}){1,3}(?![\w,])|(?<![\w.])\d{1,9}(?:\.\d{1,4})?(?!\w)")
STORY_WORDS = (
    ("/", r"\b(?:share[sd]?|split|divided?|equally|average|how many (?:groups|boxes|bags|teams))\b"),
    ("-", r"\b(?:left|fewer|less|remain\w*|difference|spen[dt]s?|gave|gives|lost|ate|how much more)\b"),
    ("*", r"\b(?:each|every|per|times|twice|apiece|an hour|a day|a week)\b"),
    ("+", r"\b(?:total|altogether|sum|combined|in all|more|together|how many)\b"),
)
"""The words that give an operation away, in the order in which they count."""
TOKEN = re.compile(r"\s*(\d{1,15}(?:\.\d{1,9})?|[-+*/^()])")
DATE_OR_RANGE = re.compile(r"[\d]+(?:[-/]\d+)+")


@dataclass(frozen=True, slots=True)
class Operation:
    """Two parts and the sign between them."""

    sign: str
    left: "Expression"
    right: "Expression"


Expression = Fraction | Operation


@dataclass(frozen=True, slots=True)
class WorkedStep:
    """One operation done: `work` is what was worked out, in LaTeX, `rest` what is left afterwards."""

    work: str
    value: Fraction
    rest: str


@dataclass(frozen=True, slots=True)
class Solution:
    """An expression in LaTeX, its steps, and the result that they lead to."""

    asked: str
    steps: tuple[WorkedStep, ...]
    result: Fraction


class _Unreadable(Exception):
    """The text is no expression, or a larger one than we read."""


def find(text: str) -> Operation | None:
    """Find the longest expression in `text` that has something to work out and can be worked out."""
    for pattern, spelling in SPELLINGS:
        text = re.sub(pattern, spelling, text)
    for span in sorted(SPAN.findall(text), key=len, reverse=True)[:5]:
        with suppress(_Unreadable):
            expression = _Reader(_tokens(span)).whole()
            if isinstance(expression, Operation) and (not DATE_OR_RANGE.fullmatch(span.strip()) or len(text) < 40):
                _value(expression)
                return expression
    return None


def explained(text: str) -> Operation | None:
    """Guess the operation of a story with two numbers from its words; None if nothing gives it away."""
    numbers = [Fraction(found.replace(",", "")) for found in STORY_NUMBER.findall(text)[:2]]
    sign = next((sign for sign, words in STORY_WORDS if re.search(words, text, re.I)), None)
    if len(numbers) < 2 or sign is None or not re.search(r"how|what|\?", text, re.I):
        return None
    if sign in "-/":
        numbers.sort(reverse=True)
    expression = Operation(sign, *numbers)
    with suppress(_Unreadable):
        _value(expression)
        return expression
    return None


def exact(expression: Expression) -> Fraction:
    """Give the true result of an expression that `find` found."""
    return _value(expression)


def solve(expression: Expression, slip: Callable[[int, Fraction], Fraction]) -> Solution:
    """Do one operation at a time; `slip` takes each step's number and value, and gives the value told."""
    try:
        return _work_out(expression, slip)
    except _Unreadable:  # a slip may end in a division by zero
        return _work_out(expression, lambda _, value: value)


def _work_out(expression: Expression, slip: Callable[[int, Fraction], Fraction]) -> Solution:
    asked = latex(expression)
    steps: list[WorkedStep] = []
    while isinstance(expression, Operation):
        ready = _ready(expression)
        value = slip(len(steps), _value(ready))
        expression = _put(expression, ready, value)
        steps.append(WorkedStep(latex(ready), value, latex(expression)))
    return Solution(asked, tuple(steps), expression)


def operations(expression: Expression) -> int:
    """Count the operations of an expression."""
    if isinstance(expression, Fraction):
        return 0
    return 1 + operations(expression.left) + operations(expression.right)


def latex(expression: Expression, rank: int = 0) -> str:
    """Write an expression in LaTeX, in parentheses where its place needs them."""
    if isinstance(expression, Fraction):
        return number(expression) if expression >= 0 or rank == 0 else f"({number(expression)})"
    own = RANK[expression.sign]
    if expression.sign == "^":
        return f"{latex(expression.left, own + 1)}^{{{latex(expression.right)}}}"
    text = f"{latex(expression.left, own)} {SIGNS[expression.sign]} {latex(expression.right, own + 1)}"
    return f"({text})" if own < rank else text


def number(exact: Fraction) -> str:
    """Write a number in LaTeX: whole, decimal if it ends within four places, or as a fraction."""
    if exact.denominator == 1:
        return str(exact.numerator)
    if (exact * 10_000).denominator == 1 and exact.denominator not in (2, 4, 8):
        return f"{float(exact):.4f}".rstrip("0")
    sign = "-" if exact < 0 else ""
    return rf"{sign}\frac{{{abs(exact.numerator)}}}{{{exact.denominator}}}"


def math(latex: str) -> str:
    """Set LaTeX into a line of text."""
    return rf"\({latex}\)"


def _ready(expression: Operation) -> Operation:
    """Find the first operation both of whose parts are numbers."""
    for part in (expression.left, expression.right):
        if isinstance(part, Operation):
            return _ready(part)
    return expression


def _put(expression: Expression, ready: Operation, value: Fraction) -> Expression:
    """Put `value` where `ready` is; by identity, as an equal operation may stand elsewhere too."""
    if expression is ready:
        return value
    if isinstance(expression, Fraction):
        return expression
    return Operation(expression.sign, _put(expression.left, ready, value), _put(expression.right, ready, value))


def _value(expression: Expression) -> Fraction:
    if isinstance(expression, Fraction):
        return expression
    left, right = _value(expression.left), _value(expression.right)
    if expression.sign == "^":
        result = _power(left, right)
    elif expression.sign == "/" and right == 0:
        raise _Unreadable
    else:
        result = COMPUTE[expression.sign](left, right)
    if max(abs(result.numerator), result.denominator) >= 10**MAX_DIGITS:
        raise _Unreadable
    return result


def _power(base: Fraction, power: Fraction) -> Fraction:
    if power.denominator != 1 or abs(power) > MAX_POWER or (base == 0 and power < 0):
        raise _Unreadable
    return Fraction(base ** int(power))


def _tokens(text: str) -> list[str]:
    if len(text) > MAX_CHARS:
        raise _Unreadable
    tokens, end = [], 0
    while end < len(text.rstrip()):
        match = TOKEN.match(text, end)
        if match is None:
            raise _Unreadable
        tokens.append(match[1])
        end = match.end()
    return tokens


@dataclass(slots=True)
class _Reader:
    """Reads sums of products of powers, the usual way."""

    tokens: list[str]

    def whole(self) -> Expression:
        expression = self._sum()
        if self.tokens:
            raise _Unreadable
        if isinstance(expression, Operation):
            return Operation(expression.sign, _folded(expression.left), _folded(expression.right))
        return expression

    def _take(self, *wanted: str) -> str | None:
        return self.tokens.pop(0) if self.tokens and self.tokens[0] in wanted else None

    def _sum(self) -> Expression:
        left = self._product()
        while sign := self._take("+", "-"):
            left = Operation(sign, left, self._product())
        return left

    def _product(self) -> Expression:
        left = self._signed()
        while sign := self._take("*", "/"):
            left = Operation(sign, left, self._signed())
        return left

    def _signed(self) -> Expression:
        if not self._take("-"):
            return self._powers()
        part = self._powers()
        return -part if isinstance(part, Fraction) else Operation("*", Fraction(-1), part)

    def _powers(self) -> Expression:
        base = self._atom()
        return Operation("^", base, self._signed()) if self._take("^") else base

    def _atom(self) -> Expression:
        if self._take("("):
            inside = self._sum()
            if not self._take(")"):
                raise _Unreadable
            return inside
        if not self.tokens or not self.tokens[0][0].isdigit():
            raise _Unreadable
        return Fraction(self.tokens.pop(0))


def _folded(expression: Expression) -> Expression:
    """Take 1/2 within a larger expression for a number, not for a division to be done."""
    if isinstance(expression, Fraction):
        return expression
    left, right = _folded(expression.left), _folded(expression.right)
    if expression.sign == "/" and isinstance(left, Fraction) and isinstance(right, Fraction) and right:
        quotient = left / right
        if quotient.denominator != 1:
            return quotient
    return Operation(expression.sign, left, right)
