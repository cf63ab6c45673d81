"""Errors in the rules of `fidelity`: unknown names, rules that no reply can keep, judges that cannot be asked; and what
the rules mean for participants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from experiments.errors import ValidationIssue, suggestion, unknown
from experiments.study.reply_checks import LANGUAGES
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.study import Study


def fidelity_faults(study: Study, values: Mapping[str, Collection[str]]) -> Iterator[ValidationIssue]:
    """`values` are those of each name at the places where models reply."""
    rules = study.file.fidelity or ()
    if rules and not values:
        yield ValidationIssue("fidelity", "needs a step in which a model replies, such as `chat`", absent=True)
    for name, times in Counter(rule.name for rule in rules).items():
        if times > 1:
            yield ValidationIssue("fidelity", f"{times} rules are called {name!r}; the data know a rule by its name")
    for number, rule in enumerate(rules):
        at, known = f"fidelity[{number}]", {**values, "model": study.file.models}
        for name, value in rule.where.items():
            if value not in known.get(name, ()):
                what = f"{value!r} is not a value of {name}" if name in known else f"{name!r} is not defined there"
                hint = suggestion(value, known[name]) if name in known else suggestion(name, known)
                yield ValidationIssue(f"{at}.where", what + hint, absent=name not in known)
        yield from (ValidationIssue(at, words) for words in _unkeepable(rule, study))
        yield from _judge(rule, study, at) if rule.check == "judge" else ()


def _unkeepable(rule: FidelityRule, study: Study) -> Iterator[str]:
    """Why no reply can keep a rule, or it can never be known."""
    low, high = rule.minimum, rule.maximum
    if low is not None and high is not None and low > high:
        yield f"minimum {low:g} is above maximum {high:g}, so it can never hold"
    if rule.check == "answer" and not any(one.answer for pool in study.pools.values() for one in pool):
        yield "no problem of the study has a right answer, so it can never be known"
    if rule.check == "language" and rule.language not in LANGUAGES:
        yield f"{rule.language!r} is not recognized{suggestion(rule.language, LANGUAGES)}"


def _judge(rule: FidelityRule, study: Study, at: str) -> Iterator[ValidationIssue]:
    known, models = study.file.annotators or {}, study.file.models
    spec = known.get(rule.annotator or "")
    if spec is None or spec.answer_schema is None:
        allowed = [name for name, other in known.items() if other.answer_schema is not None]
        words = unknown("annotator with an `answer_schema`", rule.annotator or "", allowed)
        yield ValidationIssue(f"{at}.annotator", words)
        return
    if spec.model not in models:
        words = f"its annotator's `model` must be one of the study's{suggestion(spec.model, models)}"
        yield ValidationIssue(at, words)
    elif rule.budget is not None and models[spec.model].price is None:
        yield ValidationIssue(f"{at}.budget", f"needs a `price` for the model {spec.model!r}")
    if rule.value not in (properties := spec.answer_schema["properties"]):
        yield ValidationIssue(f"{at}.value", f"{rule.value!r} is no property{suggestion(rule.value, properties)}")


def fidelity_advice(study: Study) -> Iterator[str]:
    for number, rule in enumerate(study.file.fidelity or ()):
        if rule.withholds:
            whom = ", ".join(f"{name}: {value}" for name, value in rule.where.items()) or "everybody"
            yield (
                f"fidelity[{number}]: replies under {rule.name!r} ({whom}) appear at once and not word by word, as "
                "they are checked first. Where another condition has no such rule, its replies look different."
            )
