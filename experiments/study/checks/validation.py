"""Errors of meaning in a well-formed study: undefined names, loops without enough problems.

Runs over the resolved tree with the names that are in scope at each place, in the order of the flow, and collects all
errors. Whether each path through the study can be finished is tried out by simulated participants (`parley check`).

A system prompt is filled where its model replies, so each name in it must be known at every such place. A prompt for
each value of a factor or of a loop's variable must cover all values that are possible there. A fallback model is given
the prompt of the model that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Self

from experiments.errors import ValidationIssue, suggestion, unknown
from experiments.instruments.dices_raters import CLOSED, RAW_RACE_COLUMNS, RAW_RACES
from experiments.instruments.dices_safety import REASONS
from experiments.study.ai_alone_questions import validate_ai_alone
from experiments.study.base_model import Condition, StrictModel
from experiments.study.cells import MOST_CELLS, drawn_values, factor_values, outside_cell
from experiments.study.checks.option_order_check import order_issues
from experiments.study.checks.sections_check import (
    attachment_faults,
    embed_faults,
    fidelity_faults,
    memory_faults,
    reminder_faults,
    tools_faults,
)
from experiments.study.checks.waves_check import waves_faults
from experiments.study.fields import KINDS, ChoiceField, Field, LongText
from experiments.study.instrument import ItemOnLine, ItemOnPoints
from experiments.study.latin_square import LATIN, MOST_ROWS, of_companions, of_items, size_of
from experiments.study.location import as_words, exclusive
from experiments.study.problem_answer import OptionsStep
from experiments.study.schema import ByFactor, Factor, FromTag, Loop, Node, Phase, weights
from experiments.study.sections.model_spec import ModelSpec, PromptByFactor
from experiments.study.sections.two_step_simulator import DEFAULT, validate_prompts
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.texts import SLOT, names, undefined
from problems.dices import label_faults
from problems.problem import Problem

MOST_UNFIT = 10
PROBLEM_NAMES = ("id", "text", "dataset")
# In scope once a model may have replied: after a conversation, and in a loop only after one in the same turn.
REPLY = frozenset({"reply"})
BLANK = "is blank, and participants need to read it; write a text"
DICES_VALUES = {**CLOSED, **dict.fromkeys(RAW_RACE_COLUMNS, tuple(RAW_RACES))}
NEEDS: Mapping[str, str] = {
    "model": "needs a model: a factor `model`, `vary: {model: [...]}`, or a study with a single model",
    "problem": "must be inside an `each` over a pool of problems",
    "options": "needs problems with options; some problems here have none. For numbers as answers add `number`",
    "answer": "needs problems whose correct answer is known; some problems here have none",
    "dialogue": "needs finished conversations, such as those of the source dices; some problems here are not",
    "reply": "needs a conversation with a model before it; within a loop, in the same turn",
    "response": "needs finished conversations that end with the chatbot; some problems here do not",
}
UNEXPORTED = "is unknown to the files of `chatbench`; take that out of `export_schemas`, and export tidy tables"


@dataclass(frozen=True)
class NameScope:
    """`values` of factors and loop variables, `limits` those left by the conditions around, the loop's `problems`."""

    known: frozenset[str]
    steps: frozenset[str] = frozenset()
    have: frozenset[str] = frozenset()
    values: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Mapping[str, frozenset[str]] = field(default_factory=dict)
    problems: Sequence[Problem] = ()

    def within(self, when: Condition | None) -> Self:
        limits = dict(self.limits)
        for name, wanted in (when or {}).items():
            limits[name] = limits.get(name, as_words(wanted)) & as_words(wanted)
        return replace(self, limits=limits)

    def possible(self, name: str) -> tuple[str, ...]:
        return tuple(value for value in self.values[name] if name not in self.limits or value in self.limits[name])


@dataclass(frozen=True)
class ModelUse:
    model: str
    at: str
    names: NameScope


def validate(study: Study) -> list[ValidationIssue]:
    known = frozenset({"language", *study.constants, *study.factors})
    values = {name: (value,) for name, value in study.constants.items()} | {"language": study.file.offered}
    values |= {name: factor_values(factor, study.pools) for name, factor in study.factors.items()}
    flow = _FlowCheck(study)
    scope = NameScope(known, have=frozenset({"model"} & known), values=values)
    for number, (where, nodes) in enumerate(study.flows.items()):
        flow.nodes(nodes, _in_wave(study, scope, number), where)
    factors = [*_factors(study, study.file.factors, "factors"), *_wave_factors(study)]
    return [
        *(*_fallbacks(study), *_prices(study), *factors, *(() if factors else _cells(study)), *_caps(study)),
        *(*_bonus(study), *_same_ids(study), *validate_ai_alone(study), *_conversations(study)),
        *(*validate_prompts(study.file.simulator_prompts or DEFAULT), *flow.issues),
        *(*_prompts(study.file.models, flow.asked), *_integrity(study), *embed_faults(study)),
        *fidelity_faults(study, _levels(flow.replying)),
        *(*order_issues(study), *memory_faults(study), *tools_faults(study), *reminder_faults(study)),
        *(*waves_faults(study), *_blank(study), *_end(study)),
    ]


def _in_wave(study: Study, scope: NameScope, number: int) -> NameScope:
    """The names known at the start of a wave: its session knows nothing of those before it but the study's factors."""
    factors = study.waves[number].factors if study.waves else {}
    own = {name: factor_values(factor, study.pools) for name, factor in factors.items()}
    return replace(scope, known=scope.known | own.keys(), values={**scope.values, **own})


def _levels(scopes: Sequence[NameScope]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {"model": frozenset()} if scopes else {}
    for name, levels in (one for scope in scopes for one in scope.values.items()):
        found[name] = found.get(name, frozenset()).union(levels)
    return found


def _end(study: Study) -> Iterator[ValidationIssue]:
    for where, flow in study.flows.items():
        last = flow[-1] if flow else None
        if getattr(last, "step", None) != "finish":
            yield ValidationIssue(where, "must end with a `finish` step, which shows the completion code")
        elif last and last.when:
            yield ValidationIssue(f"{where}[{len(flow) - 1}].when", "the last `finish` must not have a condition")


def _fallbacks(study: Study) -> Iterator[ValidationIssue]:
    for name, model in study.file.models.items():
        for other in model.fallback:
            if other == name or other not in study.file.models:
                hint = suggestion(other, study.file.models.keys() - {name})
                yield ValidationIssue(f"models.{name}.fallback", f"{other!r} is not another model of the study{hint}")


def _prices(study: Study) -> Iterator[ValidationIssue]:
    missing = [name for name, model in study.file.models.items() if model.price is None]
    if study.file.cost_limit is not None and missing:
        yield ValidationIssue("cost_limit", f"needs a `price` for each model; there is none for {', '.join(missing)}")


def _bonus(study: Study) -> Iterator[ValidationIssue]:
    for number, rule in enumerate(study.file.bonus):
        for place, pool in enumerate(rule.pools):
            yield from _pool(study, pool, f"bonus[{number}].pools[{place}]")


def _wave_factors(study: Study) -> Iterator[ValidationIssue]:
    for number, wave in enumerate(study.waves):
        yield from _factors(study, wave.factors, f"waves[{number}].factors")


def _factors(study: Study, factors: Mapping[str, Factor], at: str) -> Iterator[ValidationIssue]:
    for number, (name, factor) in enumerate(factors.items()):
        where = f"{at}.{name}"
        if isinstance(factor, FromTag):
            yield from _pool(study, factor.one_of, f"{where}.one_of", tag_needed=True)
            earlier = frozenset(list(factors)[:number])
            yield from _undefined(factor.where.values(), earlier, f"{where}.where")
        elif name == "model":
            yield from _no_models(study, weights(factor), where)


def _cells(study: Study) -> Iterator[ValidationIssue]:
    """Checked only if the factors themselves are valid."""
    if (last := outside_cell(study.factors, study.pools)) is not None:
        yield ValidationIssue(
            "factors",
            f"{', '.join(study.factors)}: together they have more than {MOST_CELLS:,} combinations, from {last!r} on. "
            "Participants are balanced over each combination. Remove values or factors",
        )


def _caps(study: Study) -> Iterator[ValidationIssue]:
    for number, cap in enumerate(study.file.quotas):
        for name, value in cap.where.items():
            factor = study.factors.get(name)
            where = f"quotas[{number}].where"
            if factor is None:
                yield ValidationIssue(where, f"{name!r} is not a factor{suggestion(name, study.factors)}")
            elif value not in (values := factor_values(factor, study.pools)):
                yield ValidationIssue(where, f"{value!r} is not a value of {name}{suggestion(value, values)}")


def _same_ids(study: Study) -> Iterator[ValidationIssue]:
    """Different problems of two pools with one id: released tables and analyses know a problem by its id."""
    first: dict[str, tuple[str, Problem]] = {}
    for name, pool in study.pools.items():
        for problem in pool:
            where, known = first.setdefault(problem.id, (name, problem))
            if (known.plain, known.options, known.answer) != (problem.plain, problem.options, problem.answer):
                yield ValidationIssue(
                    f"problems.{name}",
                    f"the id {problem.id!r} is that of another problem in {where!r}; ids must differ within a study, "
                    "as they identify problems in the data",
                )


def _pool(study: Study, of: str, where: str, *, tag_needed: bool = False) -> Iterator[ValidationIssue]:
    pool, _, tag = of.partition(".")
    if pool not in study.pools:
        yield ValidationIssue(where, unknown("pool of problems", pool, study.pools))
        return
    tags = {key for item in study.pools[pool] for key in item.tags}
    if tag and tag not in tags:
        yield ValidationIssue(where, f"no problem of {pool!r} has the tag {tag!r}{suggestion(tag, tags)}")
    elif tag_needed and not tag:
        yield ValidationIssue(where, f"needs a tag after the pool, such as `{pool}.{min(tags, default='batch')}`")


def _no_models(study: Study, wanted: Iterable[str], where: str) -> Iterator[ValidationIssue]:
    for name in wanted:
        if name not in study.file.models:
            yield ValidationIssue(where, unknown("model", name, study.file.models))


def _undefined(texts: Iterable[str], known: frozenset[str], where: str) -> Iterator[ValidationIssue]:
    return (ValidationIssue(where, message) for text in texts for message in undefined(text, known))


def _undefined_in(step: Step, known: frozenset[str], at: str) -> Iterator[ValidationIssue]:
    return (issue for place, text in step.references() for issue in _undefined([text], known, at + place))


class _FlowCheck:
    """Walks through the flow with the names that are in scope, and collects its errors and the uses of models."""

    def __init__(self, study: Study) -> None:
        self._study = study
        self._exports_dices = _exports_dices(study)
        self.issues: list[ValidationIssue] = []
        self.asked: list[ModelUse] = []
        self.replying: list[NameScope] = []

    def _add(self, where: str, *messages: str) -> None:
        self.issues += [ValidationIssue(where, message) for message in messages]

    def nodes(self, nodes: Sequence[Node], scope: NameScope, where: str) -> NameScope:
        """The names that are defined after these nodes."""
        ids: dict[str, Node] = {}
        for number, node in enumerate(nodes):
            at = f"{where}[{number}]"
            if node.id in ids and not exclusive(ids[node.id].when, node.when):
                self._add(at, f"{node.id!r} is the id of an earlier step beside it; give one of them another `id`")
            ids[node.id] = node
            self._condition(node.when, scope.known, f"{at}.when")
            if isinstance(node, Phase):
                inner = self.nodes(node.flow, scope.within(node.when), f"{at}.flow")
                scope = replace(inner, have=scope.have | (inner.have & REPLY), limits=scope.limits)
            else:
                scope = self._loop(node, scope, at) if isinstance(node, Loop) else self._step(node, scope, at)
        return scope

    def _condition(self, condition: Condition | None, known: frozenset[str], where: str) -> None:
        for name in condition or {}:
            if name not in known:
                self._add(where, f"{name!r} is not defined here{suggestion(name, known)}")

    def _step(self, step: Step, scope: NameScope, at: str) -> NameScope:
        missing = step.requires() - scope.have
        self.issues += _undefined_in(step, scope.known | ({"model"} & missing), at)
        for need in sorted(missing - {"options", "answer"} if "problem" in missing else missing):
            words = f"a {step.step!r} step {NEEDS[need]}"
            self.issues.append(ValidationIssue(at, words, absent=need in REPLY))
        models = list(self._study.file.models)
        asked, inside = step.asks_models(models), scope.within(step.when)
        replying = _may_reply(asked, models, inside)
        self.replying += [inside] if asked else []
        self.asked += [ModelUse(model, at, inside) for model in replying if model in models]
        keys = {text: place for place, text in step.references() if place.startswith(".model")}
        for name in replying:
            self.issues += _no_models(self._study, [name], at + keys.get(name, ""))
        self.issues += attachment_faults(self._study, step, replying, at)
        self._add(at, *step.faults(models), *_not_shown(step), *(_dices_options(step) if self._exports_dices else ()))
        levels = {name: inside.possible(name) if name in inside.values else () for name in sorted(inside.known)}
        for key, words in step.level_faults(levels):
            self._add(f"{at}.{key}", words)
        for key in ("number", "advice") if "chatbench" in self._study.file.export_schemas else ():
            if getattr(step, key, None):
                self._add(f"{at}.{key}", UNEXPORTED)
        self._add(f"{at}.options", *_idle_order(step, scope.have | missing))
        unfit = (f"the problem {one.id!r} {words}" for one in scope.problems for words in step.problem_faults(one))
        self._add(at, *islice(unfit, MOST_UNFIT))
        for other in step.depends_on():
            if other not in scope.steps:
                self._add(at, f"refers to {other!r}, which is not an earlier step{suggestion(other, scope.steps)}")
        known = scope.known | {f"{step.id}.{name}" for name in step.provides()}
        have = scope.have | REPLY if asked else scope.have
        return replace(scope, known=known, steps=scope.steps | {step.id}, have=have)

    def _loop(self, loop: Loop, scope: NameScope, at: str) -> NameScope:
        self.issues += [*_undefined(loop.where.values(), scope.known, f"{at}.where"), *_draws(self._study, loop, at)]
        self.issues += _pool(self._study, loop.of, f"{at}.of") if loop.of else ()
        pool = self._study.pools.get(loop.pool, ())
        inside, have = {loop.each, "number", "last", *loop.vary}, (scope.have - REPLY) | ({"model"} & loop.vary.keys())
        if loop.over_problems:
            tags = {key for item in pool for key in item.tags} | set(PROBLEM_NAMES)
            inside |= {f"{head}.{tag}" for head in (loop.each, "problem") for tag in tags}
            have |= {"problem", *_common_properties(pool)}
        if isinstance(loop.do, ByFactor):
            self.issues += _pick(self._study, loop, loop.do, at)
            inside.add(loop.do.by)  # an unknown factor is reported once, not for every step
        drawn = {loop.each: drawn_values(pool, loop.tag, loop.where)} if loop.of else {}
        inner = replace(
            scope.within(loop.when),
            known=scope.known | inside,
            have=have,
            values={**scope.values, **drawn, **loop.vary},
            problems=pool if loop.over_problems else scope.problems,
        )
        after = self.nodes(loop.flow, inner, f"{at}.flow")
        self._condition(loop.until, after.known, f"{at}.until")
        return replace(scope, steps=scope.steps | {loop.id}, have=scope.have | (after.have & REPLY))


def _exports_dices(study: Study) -> bool:
    return not REASONS.keys().isdisjoint(study.file.export_schemas)


def _idle_order(step: Step, have: frozenset[str]) -> Iterator[str]:
    if isinstance(step, OptionsStep) and step.options and "problem" not in have:
        yield "has no effect outside of an `each` over a pool of problems; take it out"


def _not_shown(step: Step) -> Iterator[str]:
    """Questions of a type that no page can show, which a package's own kind of step may have."""
    for asked in step.questions_asked():
        if type(asked) not in (Field, *KINDS, ItemOnPoints, ItemOnLine):  # a Field alone stands for a problem's options
            known = ", ".join(kind.__name__ for kind in KINDS)
            yield f"asks {asked.name!r} by a {type(asked).__name__}, which no page can show; allowed: {known}"


def _common_properties(problems: Sequence[Problem]) -> Iterator[str]:
    for name in ("options", "answer", "dialogue", "response"):
        if all(getattr(item, name) not in (None, ()) for item in problems):
            yield name


def _draws(study: Study, loop: Loop, at: str) -> Iterator[ValidationIssue]:
    yield from _no_models(study, loop.vary.get("model", ()), f"{at}.vary")
    pool = study.pools.get(loop.pool)
    if pool is None:
        return
    if not pool:
        yield ValidationIssue(f"{at}.of", f"the pool {loop.pool!r} has no problem")
    tags = {key for item in pool for key in item.tags}
    for name in (*loop.where, *((loop.strata,) if loop.strata else ())):
        if name not in tags and pool:
            yield ValidationIssue(at, f"no problem of {loop.pool!r} has the tag {name!r}{suggestion(name, tags)}")
    yield from _wheres(loop, pool, at)
    yield from _target(loop, f"{at}.target")
    yield from _square(study, loop, at)
    if loop.take and loop.tag is None and loop.take > len(pool):
        yield ValidationIssue(f"{at}.take", f"{loop.take} is more than the {len(pool)} problems of {loop.pool!r}")


def _target(loop: Loop, at: str) -> Iterator[ValidationIssue]:
    if loop.target is None:
        return
    if loop.tag is not None:
        yield ValidationIssue(at, f"counts problems, but this loop is over groups ({loop.of}); write `of: {loop.pool}`")
    if not loop.take and not loop.up_to:
        yield ValidationIssue(
            at, "needs `take` or `up_to`: when every participant gets all problems there is nothing to balance"
        )
    if loop.order != "shuffled":
        yield ValidationIssue(at, f"draws by chance and does not go with `order: {loop.order}`; leave `order` out")
    if loop.strata:
        yield ValidationIssue(at, "does not go with `strata`; keep one of them")


def _square(study: Study, loop: Loop, at: str) -> Iterator[ValidationIssue]:
    if loop.order == LATIN:
        size = size_of(loop, study.pools)
        if size is None:
            yield ValidationIssue(f"{at}.order", "needs `take`, because their number differs between participants")
        elif size > MOST_ROWS:
            words = f"a Latin square of {size} is too large; at most {MOST_ROWS}: use `shuffled`"
            yield ValidationIssue(f"{at}.order", words)
        if loop.strata:
            yield ValidationIssue(f"{at}.order", "a Latin square does not go with `strata`; keep one of them")
    for name in (of_items(loop), *(of_companions(loop, other) for other in loop.vary)):
        if name in study.file.factors:
            yield ValidationIssue(at, f"has an order named {name!r}, which is also a factor's; rename the factor")


def _wheres(loop: Loop, problems: Sequence[Problem], at: str) -> Iterator[ValidationIssue]:
    for name, value in loop.where.items():
        values = {item.tags[name] for item in problems if name in item.tags}
        if values and value not in values and not list(names(value)):
            words = f"no problem of {loop.pool!r} has {name} {value!r}{suggestion(value, values)}"
            yield ValidationIssue(f"{at}.where", words)


def _pick(study: Study, loop: Loop, pick: ByFactor, at: str) -> Iterator[ValidationIssue]:
    factor = loop.vary.get(pick.by) or study.file.factors.get(pick.by)
    if factor is None:
        yield ValidationIssue(f"{at}.do.by", unknown("factor", pick.by, [*study.file.factors, *loop.vary]))
    elif not isinstance(factor, FromTag):
        values = weights(factor)
        for value in [value for value in values if value not in pick.pick]:
            yield ValidationIssue(f"{at}.do.pick", f"has no protocol for {pick.by} = {value!r}")
        for value in [value for value in pick.pick if value not in values]:
            hint = suggestion(value, values)
            yield ValidationIssue(f"{at}.do.pick", f"{value!r} is not a value of {pick.by}{hint}")


def _may_reply(texts: Sequence[str], models: Sequence[str], scope: NameScope) -> tuple[str, ...]:
    """The models, also unknown ones; a value of `model` that is no model is an error of its factor or loop."""
    found: dict[str, None] = {}
    for text in texts:
        slot = SLOT.fullmatch(text.strip())
        if slot and slot[1] in scope.values:
            possible = scope.possible(slot[1])
            found |= dict.fromkeys(name for name in possible if slot[1] != "model" or name in models)
        else:
            found |= dict.fromkeys(models if "{{" in text else [text])
    return tuple(found)


def _prompts(models: Mapping[str, ModelSpec], uses: Sequence[ModelUse]) -> Iterator[ValidationIssue]:
    """Errors in the system prompts of the models that reply anywhere in the study, each reported once."""
    reported: set[tuple[str, str]] = set()
    for use in uses:
        model = models[use.model]
        for where, name, fault in (*_undefined_in_prompt(model, use), *_picked_prompt(model, use)):
            if (where, name) not in reported:
                reported.add((where, name))
                yield ValidationIssue(where, fault)
    for model_name in dict.fromkeys(use.model for use in uses):
        scopes = [use.names for use in uses if use.model == model_name]
        yield from _stray_prompts(models[model_name], f"models.{model_name}.system", scopes)


def _undefined_in_prompt(model: ModelSpec, use: ModelUse) -> Iterator[tuple[str, str, str]]:
    where, system = f"models.{use.model}.system", model.system
    texts = {"": system} if isinstance(system, str) else {f".pick.{key}": text for key, text in system.pick.items()}
    for at, text in texts.items():
        for name in names(text):
            if name not in use.names.known:
                hint = suggestion(name, use.names.known)
                yield where + at, name, f"{{{{{name}}}}} is not defined at {use.at}, where the model replies{hint}"


def _picked_prompt(model: ModelSpec, use: ModelUse) -> Iterator[tuple[str, str, str]]:
    if not isinstance(model.system, PromptByFactor):
        return
    by, where = model.system.by, f"models.{use.model}.system"
    if by not in use.names.values:
        hint = suggestion(by, use.names.values)
        yield f"{where}.by", by, f"no factor or loop is called {by!r} at {use.at}, where the model replies{hint}"
        return
    for value in use.names.possible(by):
        if value not in model.system.pick:
            yield f"{where}.pick", value, f"has no prompt for {by} = {value!r}"


def _stray_prompts(model: ModelSpec, where: str, scopes: Sequence[NameScope]) -> Iterator[ValidationIssue]:
    if not isinstance(model.system, PromptByFactor):
        return
    by = model.system.by
    known = {value for scope in scopes for value in scope.values.get(by, ())}
    for value in model.system.pick if known else ():
        if value not in known:
            words = f"{value!r} is not a value of {by}{suggestion(value, known)}"
            yield ValidationIssue(f"{where}.pick.{value}", words)


def _blank(study: Study) -> Iterator[ValidationIssue]:
    if not study.file.title.strip():
        yield ValidationIssue("title", BLANK)
    for where, nodes in study.flows.items():
        yield from _blank_nodes(nodes, where)


def _blank_nodes(nodes: Sequence[Node], where: str) -> Iterator[ValidationIssue]:
    for number, node in enumerate(nodes):
        at = f"{where}[{number}]"
        if isinstance(node, Phase | Loop):
            if isinstance(node, Phase) and not node.phase.strip():
                yield ValidationIssue(f"{at}.phase", BLANK)
            yield from _blank_nodes(node.flow, f"{at}.flow")
        else:
            yield from _blank_texts(node, at)
            for field in node.questions_asked():
                for value, label in field.options.items() if isinstance(field, ChoiceField) else ():
                    if not label.strip():
                        yield ValidationIssue(at, f"{field.name!r}: the label of the option {value!r} {BLANK}")


def _blank_texts(model: StrictModel, at: str) -> Iterator[ValidationIssue]:
    """The texts of a step that are blank: required ones, labels of buttons and speakers. Others are then left out."""
    for name, info in type(model).model_fields.items():
        value, needed = getattr(model, name), info.is_required() or name == "button" or name.endswith("_label")
        if isinstance(value, StrictModel):
            yield from _blank_texts(value, f"{at}.{name}")
        elif needed and isinstance(value, str) and not value.strip():
            yield ValidationIssue(f"{at}.{name}", BLANK)


def _dices_options(step: Step) -> Iterator[str]:
    for asked in step.questions_asked():
        allowed = DICES_VALUES.get(asked.name)
        if allowed is None:
            continue
        if not isinstance(asked, ChoiceField):
            yield f"asks {asked.name!r}, a column of DICES, without options{suggestion('', allowed)}"
            continue
        for option in asked.options:
            if option not in allowed:
                yield f"{option!r} is not a value of {asked.name!r} in DICES{suggestion(option, allowed)}"


def _conversations(study: Study) -> Iterator[ValidationIssue]:
    for name, pool in study.pools.items() if _exports_dices(study) else ():
        for problem in pool:
            faults = list(label_faults(problem.tags)) if problem.dialogue else []
            if faults:
                yield ValidationIssue(f"problems.{name}", f"problem {problem.id!r}: {'; '.join(faults)}")
                break


def _integrity(study: Study) -> Iterator[ValidationIssue]:
    checks = study.file.integrity
    if checks is None:
        return
    steps = [step for _, step in study.steps]
    if checks.hides and not any(step.step == "consent" for step in steps):
        yield ValidationIssue("integrity", "needs a `consent` step: its form discloses what pages hide", absent=True)
    if checks.honeypot and not study.file.telemetry:
        words = "needs `telemetry: true`: that something was written in the hidden box is a part of it"
        yield ValidationIssue("integrity.honeypot", words)
    asked = (field for step in steps for field in step.questions_asked())
    if checks.hidden_instruction and not any(isinstance(field, LongText) for field in asked):
        words = "needs a question of type `long_text`, beside which it stands"
        yield ValidationIssue("integrity.hidden_instruction", words, absent=True)
