"""Errors in the rules of `fidelity`: unknown names, rules that no reply can keep or belongs to, judges that cannot be
asked; and what the rules mean for participants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from experiments.errors import ValidationIssue, suggestion, unknown
from experiments.study.cells import factor_values
from experiments.study.reply_checks import LANGUAGES
from experiments.study.schema import Loop, Node, Phase
from experiments.study.sections.fidelity import OWN_KEYS, FidelityRule
from experiments.study.step import Step
from experiments.study.study import Study


def fidelity_faults(study: Study) -> Iterator[ValidationIssue]:
    rules = study.file.fidelity or ()
    values = _values(study)
    talks = [step for _, step in study.steps if step.asks_models(tuple(study.file.models))]
    if rules and not talks:
        yield ValidationIssue("fidelity", "needs a step in which a model replies, such as `chat`")
    for name, times in Counter(rule.name for rule in rules).items():
        if times > 1:
            yield ValidationIssue("fidelity", f"{times} rules are called {name!r}; the data know a rule by its name")
    for number, rule in enumerate(rules):
        at = f"fidelity[{number}]"
        yield from _where(rule, values, f"{at}.where")
        yield from (ValidationIssue(at, words) for words in (*_empty(rule, talks), *_unknowable(rule, study)))
        if rule.check == "judge":
            yield from _judge(rule, study, at)
    for one, other in combinations(rules, 2):
        if _meet(one, other) and _contradict(one, other):
            words = f"{one.name!r} and {other.name!r} apply to the same replies, and none can keep both"
            yield ValidationIssue("fidelity", words)


def _values(study: Study) -> dict[str, tuple[str, ...]]:
    """The names that a condition can have, each with its values."""
    found = {name: factor_values(factor, study.pools) for name, factor in study.factors.items()}
    for loop in _loops(study.flow):
        for name, levels in loop.vary.items():
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), *levels)))
    return {**found, "model": tuple(study.file.models)}


def _loops(nodes: Sequence[Node]) -> Iterator[Loop]:
    for node in nodes:
        if isinstance(node, Loop):
            yield node
        if isinstance(node, Phase | Loop):
            yield from _loops(node.flow)


def _where(rule: FidelityRule, values: Mapping[str, Sequence[str]], at: str) -> Iterator[ValidationIssue]:
    for name, value in rule.where.items():
        if name not in values:
            yield ValidationIssue(at, f"{name!r} is neither a factor nor in a `vary`{suggestion(name, values)}")
        elif value not in values[name]:
            yield ValidationIssue(at, f"{value!r} is not a value of {name}{suggestion(value, values[name])}")


def _empty(rule: FidelityRule, talks: Sequence[Step]) -> Iterator[str]:
    """Why no reply can keep a rule, or no reply belongs to it."""
    low, high, (first, end) = rule.minimum, rule.maximum, rule.turns
    if low is not None and high is not None and low > high:
        yield f"minimum {low:g} is above maximum {high:g}, so it can never hold"
    longest = max((getattr(step, "max_messages", end) for step in talks), default=end)
    if first >= end or first > longest:
        yield f"applies to no turn: from {first} to before {end:g}, where conversations have at most {longest:g}"


def _unknowable(rule: FidelityRule, study: Study) -> Iterator[str]:
    if rule.check == "answer" and not any(one.answer for pool in study.pools.values() for one in pool):
        yield "no problem of the study has a right answer, so it can never be known"
    if rule.check == "language" and rule.language not in LANGUAGES:
        yield f"{rule.language!r} is not recognized{suggestion(rule.language, LANGUAGES)}"


def _judge(rule: FidelityRule, study: Study, at: str) -> Iterator[ValidationIssue]:
    known, name = study.file.annotators or {}, rule.annotator or ""
    spec = known.get(name)
    if spec is None or spec.answer_schema is None:
        allowed = [one for one, other in known.items() if other.answer_schema is not None]
        yield ValidationIssue(f"{at}.annotator", unknown("annotator with an `answer_schema`", name, allowed))
        return
    models, own = study.file.models, f"annotators.{name}"
    if spec.unit == "session":
        yield ValidationIssue(own, "is about a whole session, and a judge about a conversation up to a reply")
    if spec.model not in models:
        yield ValidationIssue(
            f"{own}.model", f"a judge must be one of the study's models{suggestion(spec.model, models)}"
        )
    elif rule.budget is not None and models[spec.model].price is None:
        yield ValidationIssue(f"{at}.budget", f"needs a `price` for the model {spec.model!r}")
    properties = spec.answer_schema["properties"]
    if rule.value not in properties:
        yield ValidationIssue(f"{at}.value", f"{rule.value!r} is no property{suggestion(rule.value, properties)}")
    values = [*map(str, properties.get(rule.value, {}).get("enum", rule.one_of))]
    for value in rule.one_of:
        if value not in values:
            yield ValidationIssue(f"{at}.one_of", f"{value!r} is no value of it{suggestion(value, values)}")


def _meet(one: FidelityRule, other: FidelityRule) -> bool:
    """Whether a reply can belong to both rules."""
    (first, end), (first_other, end_other) = one.turns, other.turns
    same = all(other.where.get(name, value) == value for name, value in one.where.items())
    return same and max(first, first_other) < min(end, end_other)


def _contradict(one: FidelityRule, other: FidelityRule) -> bool:
    """Whether one forbids what the other demands: the same, or another language."""
    if one.check == other.check == "language" and one.must and other.must:
        return one.language != other.language
    same = all(getattr(one, key) == getattr(other, key) for key in OWN_KEYS)
    return same and one.check == other.check and bool(one.must) != bool(other.must)


def fidelity_advice(study: Study) -> Iterator[str]:
    for number, rule in enumerate(study.file.fidelity or ()):
        if rule.withholds:
            whom = ", ".join(f"{name}: {value}" for name, value in rule.where.items()) or "everybody"
            yield (
                f"fidelity[{number}]: replies under {rule.name!r} ({whom}) appear at once and not word by word, as "
                "they are checked first. Where another condition has no such rule, its replies look different."
            )
