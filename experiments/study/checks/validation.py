"""Errors of meaning in a well-formed study: undefined names, loops without enough problems.

Runs over the resolved tree with the names that are in scope at each place, in the order of the flow, and collects all
errors. Whether each path through the study can be finished is tried out by simulated participants (`parley check`).

A system prompt is filled where its model replies, so each name in it must be known at every such place. A prompt for
each value of a factor or of a loop's variable must cover all values that are possible there. A fallback model is given
the prompt of the model that it replaces.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from experiments.errors import ValidationIssue, suggestion
from experiments.instruments.dices_raters import CLOSED, RAW_RACE_COLUMNS, RAW_RACES
from experiments.instruments.dices_safety import REASONS
from experiments.study.ai_alone_questions import validate_ai_alone
from experiments.study.base_model import StrictModel
from experiments.study.cells import MOST_CELLS, outside_cell
from experiments.study.checks.embed_check import embed_faults
from experiments.study.checks.plan_check import plan_faults
from experiments.study.fields import KINDS, ChoiceField, Field, LongText
from experiments.study.instrument import ItemOnLine, ItemOnPoints
from experiments.study.latin_square import LATIN, MOST_ROWS, of_companions, of_items, size_of
from experiments.study.schema import ByFactor, FromTag, Loop, Node, Phase, weights
from experiments.study.scope import ModelUse, NameScope, Values, as_words, drawn_values, factor_values
from experiments.study.sections.integrity import IntegrityChecks, IntegrityThresholds
from experiments.study.sections.model_spec import ModelSpec, PromptByFactor
from experiments.study.sections.two_step_simulator import DEFAULT, validate_prompts
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.template import SLOT, names
from problems.dices import label_faults
from problems.problem import Problem

MOST_UNFIT = 10
PROBLEM_NAMES = ("id", "text", "dataset")
REPLY = frozenset({"reply"})
"""In scope once a model may have replied: after a conversation, and in a loop only after one in the same turn."""
BLANK = "is blank, and participants need to read it; write a text"
DICES_VALUES = {**CLOSED, **dict.fromkeys(RAW_RACE_COLUMNS, tuple(RAW_RACES))}
HIDDEN_INSTRUCTION = "integrity.hidden_instruction"
FROM_PAGES = ("paste_share", "typing_speed")
NEEDS_TELEMETRY = "needs `telemetry: true`: that something was written in the hidden box is a part of it"


def validate(study: Study) -> list[ValidationIssue]:
    known = frozenset({"language", *study.constants, *study.factors})
    have = frozenset({"model"} & known)
    values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in study.constants.items()}
    values["language"] = study.file.offered
    values |= {name: factor_values(factor, study.pools) for name, factor in study.factors.items()}
    factors = [*_factors(study)]
    cells = factors or [*_cells(study)]
    faults = [*_fallbacks(study), *_prices(study), *factors, *cells, *_caps(study), *_bonus(study), *_same_ids(study)]
    faults += [*validate_ai_alone(study), *(conversation_faults(study.pools) if _exports_dices(study) else ())]
    faults += validate_prompts(study.file.simulator_prompts or DEFAULT)
    scope, found = _flow(study, study.flow, NameScope(known, frozenset(), have, values), "flow")
    faults += [*found, *prompt_faults(study.file.models, scope.asked)]
    faults += [*plan_faults(study), *integrity_faults(study), *embed_faults(study), *blank_faults(study)]
    last = study.flow[-1] if study.flow else None
    if getattr(last, "step", None) != "finish":
        faults.append(ValidationIssue("flow", "must end with a `finish` step, which shows the completion code"))
    elif last and last.when:
        faults.append(
            ValidationIssue(f"flow[{len(study.flow) - 1}].when", "the last `finish` must not have a condition")
        )
    return faults


def _fallbacks(study: Study) -> Iterator[ValidationIssue]:
    for name, model in study.file.models.items():
        for other in model.fallback:
            if other == name or other not in study.file.models:
                others = [known for known in study.file.models if known != name]
                yield ValidationIssue(
                    f"models.{name}.fallback", f"{other!r} is not another model of the study{suggestion(other, others)}"
                )


def _prices(study: Study) -> Iterator[ValidationIssue]:
    missing = [name for name, model in study.file.models.items() if model.price is None]
    if study.file.cost_limit is not None and missing:
        yield ValidationIssue("cost_limit", f"needs a `price` for each model; there is none for {', '.join(missing)}")


def _bonus(study: Study) -> Iterator[ValidationIssue]:
    for number, rule in enumerate(study.file.bonus):
        for place, pool in enumerate(rule.pools):
            yield from _pool(study, pool, f"bonus[{number}].pools[{place}]")


def _factors(study: Study) -> Iterator[ValidationIssue]:
    for number, (name, factor) in enumerate(study.file.factors.items()):
        where = f"factors.{name}"
        if isinstance(factor, FromTag):
            yield from _pool(study, factor.one_of, f"{where}.one_of", tag_needed=True)
            earlier = frozenset(list(study.file.factors)[:number])
            yield from _unknown(factor.where.values(), earlier, f"{where}.where")
        elif name == "model":
            for value in weights(factor):
                if value not in study.file.models:
                    yield ValidationIssue(
                        where, f"no model is called {value!r}{suggestion(value, list(study.file.models))}"
                    )


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
                yield ValidationIssue(where, f"{name!r} is not a factor{suggestion(name, list(study.factors))}")
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
                    "as the data know a problem by its id",
                )


def _pool(study: Study, of: str, where: str, *, tag_needed: bool = False) -> Iterator[ValidationIssue]:
    pool, _, tag = of.partition(".")
    if pool not in study.pools:
        yield ValidationIssue(where, f"no pool of problems is called {pool!r}{suggestion(pool, list(study.pools))}")
        return
    tags = {key for item in study.pools[pool] for key in item.tags}
    if tag and tag not in tags:
        yield ValidationIssue(where, f"no problem of {pool!r} has the tag {tag!r}{suggestion(tag, sorted(tags))}")
    elif tag_needed and not tag:
        yield ValidationIssue(where, f"needs a tag after the pool, such as `{pool}.{min(tags, default='batch')}`")


def _unknown(texts: Iterable[str], known: frozenset[str], where: str) -> Iterator[ValidationIssue]:
    for text in texts:
        for name in names(text):
            if name not in known:
                yield ValidationIssue(where, f"{{{{{name}}}}} is not defined here{suggestion(name, sorted(known))}")


def _flow(study: Study, nodes: Sequence[Node], scope: NameScope, where: str) -> tuple[NameScope, list[ValidationIssue]]:
    """The names defined after these nodes, and the errors of the nodes."""
    faults: list[ValidationIssue] = []
    ids: dict[str, Node] = {}
    for number, node in enumerate(nodes):
        at = f"{where}[{number}]"
        if node.id in ids and not _exclusive(ids[node.id], node):
            faults.append(
                ValidationIssue(
                    at, f"{node.id!r} is the id of an earlier step beside it; give one of them another `id`"
                )
            )
        ids[node.id] = node
        for name in node.when or {}:
            if name not in scope.known:
                faults.append(
                    ValidationIssue(
                        f"{at}.when", f"{name!r} is not defined here{suggestion(name, sorted(scope.known))}"
                    )
                )
        scope, found = _node(study, node, scope, at)
        faults += found
    return scope, faults


def _exclusive(one: Node, other: Node) -> bool:
    """Whether two nodes can never both run: their conditions need different values of the same name."""
    a, b = one.when or {}, other.when or {}
    return any(name in b and not as_words(a[name]) & as_words(b[name]) for name in a)


def _node(study: Study, node: Node, scope: NameScope, at: str) -> tuple[NameScope, list[ValidationIssue]]:
    if isinstance(node, Phase):
        inner, faults = _flow(study, node.flow, scope.within(node.when), f"{at}.flow")
        return replace(inner, have=scope.have | (inner.have & REPLY), limits=scope.limits), faults
    if isinstance(node, Loop):
        return _each(study, node, scope, at)
    return _step(study, node, scope, at)


def _step(study: Study, node: Step, scope: NameScope, at: str) -> tuple[NameScope, list[ValidationIssue]]:
    faults = list(_unknown(node.references(), scope.known, at))
    missing = node.requires() - scope.have
    for need in sorted(missing - {"options", "answer"} if "problem" in missing else missing):
        reason = {
            "model": "needs a model: a factor `model`, `vary: {model: [...]}`, or a study with a single model",
            "problem": "must be inside an `each` over a pool of problems",
            "options": "needs problems with options; some problems here have none. For numbers as answers add `number`",
            "answer": "needs problems whose correct answer is known; some problems here have none",
            "dialogue": "needs finished conversations, such as those of the source dices; some problems here are not",
            "reply": "needs a conversation with a model before it; within a loop, in the same turn",
            "response": "needs finished conversations that end with the chatbot; some problems here do not",
        }[need]
        faults.append(ValidationIssue(at, f"a {node.step!r} step {reason}"))
    models = list(study.file.models)
    inside = scope.within(node.when)
    asked = node.asks_models(models)
    scope.asked.extend(ModelUse(model, at, inside) for model in may_reply(asked, models, inside))
    faults += [ValidationIssue(at, words) for words in (*node.faults(models), *_not_shown(node))]
    faults += [ValidationIssue(at, words) for words in option_faults(node)] if _exports_dices(study) else []
    for key in ("number", "advice") if "chatbench" in study.file.export_schemas else ():
        if getattr(node, key, None):
            words = "is unknown to the files of `chatbench`; take that out of `export_schemas`, and export tidy tables"
            faults.append(ValidationIssue(f"{at}.{key}", words))
    unfit = ((problem.id, words) for problem in scope.problems for words in node.problem_faults(problem))
    faults += [ValidationIssue(at, f"the problem {name!r} {words}") for name, words in islice(unfit, MOST_UNFIT)]
    for other in node.depends_on():
        if other not in scope.steps:
            faults.append(
                ValidationIssue(
                    at,
                    f"refers to {other!r}, which is not an earlier step{suggestion(other, sorted(scope.steps))}",
                )
            )
    known = scope.known | {f"{node.id}.{name}" for name in node.provides()}
    have = scope.have | REPLY if asked else scope.have
    return replace(scope, known=known, steps=scope.steps | {node.id}, have=have), faults


def _exports_dices(study: Study) -> bool:
    return not REASONS.keys().isdisjoint(study.file.export_schemas)


def _not_shown(node: Step) -> Iterator[str]:
    """Questions of a type that no page can show, which a package's own kind of step may have."""
    for asked in node.questions_asked():
        if type(asked) not in (Field, *KINDS, ItemOnPoints, ItemOnLine):  # a Field alone stands for a problem's options
            known = ", ".join(kind.__name__ for kind in KINDS)
            yield f"asks {asked.name!r} by a {type(asked).__name__}, which no page can show; allowed: {known}"


def _each(study: Study, node: Loop, scope: NameScope, at: str) -> tuple[NameScope, list[ValidationIssue]]:
    faults = [*_unknown(node.where.values(), scope.known, f"{at}.where"), *_draws(study, node, at)]
    faults += _pool(study, node.of, f"{at}.of") if node.of else ()
    if isinstance(node.do, ByFactor):
        faults += _pick(study, node, node.do, at)
    pool = study.pools.get(node.pool, ())
    inside = {node.each, "number", "last", *node.vary}
    have = (scope.have - REPLY) | ({"model"} & frozenset(node.vary))
    if node.over_problems:
        tags = {key for item in pool for key in item.tags} | set(PROBLEM_NAMES)
        inside |= {f"{head}.{tag}" for head in (node.each, "problem") for tag in tags}
        have |= {"problem", *_common_properties(pool)}
    if isinstance(node.do, ByFactor):
        inside.add(node.do.by)  # an unknown factor is reported once, not for every step
    inner = replace(
        scope.within(node.when),
        known=scope.known | inside,
        have=frozenset(have),
        values={**scope.values, **_loop_values(node, pool), **node.vary},
        problems=pool if node.over_problems else scope.problems,
    )
    after, found = _flow(study, node.flow, inner, f"{at}.flow")
    for name in node.until or {}:
        if name not in after.known:
            faults.append(
                ValidationIssue(f"{at}.until", f"{name!r} is not defined here{suggestion(name, sorted(after.known))}")
            )
    return replace(scope, steps=scope.steps | {node.id}, have=scope.have | (after.have & REPLY)), faults + found


def _loop_values(node: Loop, pool: Sequence[Problem]) -> Values:
    """The values that can be drawn for a loop's variable; none if the loop only repeats."""
    return {node.each: drawn_values(pool, node.tag, node.where)} if node.of else {}


def _common_properties(pool: Sequence[Problem]) -> Iterator[str]:
    for name in ("options", "answer", "dialogue", "response"):
        if all(getattr(item, name) not in (None, ()) for item in pool):
            yield name


def _draws(study: Study, node: Loop, at: str) -> Iterator[ValidationIssue]:
    for value in node.vary.get("model", ()):
        if value not in study.file.models:
            yield ValidationIssue(
                f"{at}.vary", f"no model is called {value!r}{suggestion(value, list(study.file.models))}"
            )
    pool = study.pools.get(node.pool)
    if pool is None:
        return
    if not pool:
        yield ValidationIssue(f"{at}.of", f"the pool {node.pool!r} has no problem")
    tags = {key for item in pool for key in item.tags}
    for name in (*node.where, *((node.strata,) if node.strata else ())):
        if name not in tags and pool:
            yield ValidationIssue(
                at, f"no problem of {node.pool!r} has the tag {name!r}{suggestion(name, sorted(tags))}"
            )
    yield from _wheres(node, pool, at)
    yield from _target(node, f"{at}.target")
    yield from _square(study, node, at)
    if node.take and node.tag is None and node.take > len(pool):
        yield ValidationIssue(f"{at}.take", f"{node.take} is more than the {len(pool)} problems of {node.pool!r}")


def _target(node: Loop, at: str) -> Iterator[ValidationIssue]:
    if node.target is None:
        return
    if node.tag is not None:
        yield ValidationIssue(at, f"counts problems, but this loop is over groups ({node.of}); write `of: {node.pool}`")
    if not node.take and not node.up_to:
        yield ValidationIssue(
            at, "needs `take` or `up_to`: when every participant gets all problems there is nothing to balance"
        )
    if node.order != "shuffled":
        yield ValidationIssue(at, f"draws by chance and does not go with `order: {node.order}`; leave `order` out")
    if node.strata:
        yield ValidationIssue(at, "does not go with `strata`; keep one of them")


def _square(study: Study, node: Loop, at: str) -> Iterator[ValidationIssue]:
    if node.order == LATIN:
        size = size_of(node, study.pools)
        if size is None:
            yield ValidationIssue(f"{at}.order", "needs `take`: how many there are differs between participants")
        elif size > MOST_ROWS:
            yield ValidationIssue(
                f"{at}.order", f"a Latin square of {size} is too large; at most {MOST_ROWS}: use `shuffled`"
            )
        if node.strata:
            yield ValidationIssue(f"{at}.order", "a Latin square does not go with `strata`; keep one of them")
    for name in (of_items(node), *(of_companions(node, other) for other in node.vary)):
        if name in study.file.factors:
            yield ValidationIssue(
                at, f"has an order named {name!r}, which is also the name of a factor; rename the factor"
            )


def _wheres(node: Loop, pool: Sequence[Problem], at: str) -> Iterator[ValidationIssue]:
    for name, value in node.where.items():
        values = sorted({item.tags[name] for item in pool if name in item.tags})
        if values and value not in values and not list(names(value)):
            yield ValidationIssue(
                f"{at}.where", f"no problem of {node.pool!r} has {name} {value!r}{suggestion(value, values)}"
            )


def _pick(study: Study, node: Loop, pick: ByFactor, at: str) -> Iterator[ValidationIssue]:
    factor = node.vary.get(pick.by) or study.file.factors.get(pick.by)
    if factor is None:
        known = [*study.file.factors, *node.vary]
        yield ValidationIssue(f"{at}.do.by", f"no factor is called {pick.by!r}{suggestion(pick.by, known)}")
    elif not isinstance(factor, FromTag):
        for value in [value for value in weights(factor) if value not in pick.pick]:
            yield ValidationIssue(f"{at}.do.pick", f"has no protocol for {pick.by} = {value!r}")
        for value in [value for value in pick.pick if value not in weights(factor)]:
            yield ValidationIssue(
                f"{at}.do.pick", f"{value!r} is not a value of {pick.by}{suggestion(value, list(weights(factor)))}"
            )


def may_reply(texts: Sequence[str], models: Sequence[str], scope: NameScope) -> tuple[str, ...]:
    """The models to which a step's keys can refer at a place."""
    found: dict[str, None] = {}
    for text in texts:
        slot = SLOT.fullmatch(text.strip())
        if slot and slot[1] in scope.values:
            found |= dict.fromkeys(scope.possible(slot[1]))
        else:
            found |= dict.fromkeys(models if "{{" in text else [text])
    return tuple(model for model in found if model in models)


def prompt_faults(models: Mapping[str, ModelSpec], asked: Sequence[ModelUse]) -> Iterator[ValidationIssue]:
    """Errors in the system prompts of the models that reply anywhere in the study, each reported once."""
    reported: set[tuple[str, str]] = set()
    for use in asked:
        for where, name, fault in (
            *_unknown_in_prompt(models[use.model], use),
            *_picked_prompt(models[use.model], use),
        ):
            if (where, name) not in reported:
                reported.add((where, name))
                yield ValidationIssue(where, fault)
    for model in dict.fromkeys(use.model for use in asked):
        yield from _stray_prompts(model, models[model], [use.names for use in asked if use.model == model])


def _prompt_texts(model: ModelSpec, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(model.system, str):
        yield where, model.system
    else:
        yield from ((f"{where}.pick.{value}", text) for value, text in model.system.pick.items())


def _unknown_in_prompt(model: ModelSpec, use: ModelUse) -> Iterator[tuple[str, str, str]]:
    for where, text in _prompt_texts(model, _prompt_at(use.model)):
        for name in names(text):
            if name not in use.names.known:
                hint = suggestion(name, use.names.known)
                yield where, name, f"{{{{{name}}}}} is not defined at {use.at}, where the model replies{hint}"


def _picked_prompt(model: ModelSpec, use: ModelUse) -> Iterator[tuple[str, str, str]]:
    if not isinstance(model.system, PromptByFactor):
        return
    by, where = model.system.by, _prompt_at(use.model)
    if by not in use.names.values:
        hint = suggestion(by, use.names.values)
        yield f"{where}.by", by, f"no factor or loop is called {by!r} at {use.at}, where the model replies{hint}"
        return
    for value in use.names.possible(by):
        if value not in model.system.pick:
            yield f"{where}.pick", value, f"has no prompt for {by} = {value!r}"


def _stray_prompts(name: str, model: ModelSpec, scopes: Sequence[NameScope]) -> Iterator[ValidationIssue]:
    if not isinstance(model.system, PromptByFactor):
        return
    by = model.system.by
    known = {value for scope in scopes for value in scope.values.get(by, ())}
    for value in model.system.pick if known else ():
        if value not in known:
            yield ValidationIssue(
                f"{_prompt_at(name)}.pick.{value}", f"{value!r} is not a value of {by}{suggestion(value, known)}"
            )


def _prompt_at(model: str) -> str:
    return f"models.{model}.system"


def blank_faults(study: Study) -> Iterator[ValidationIssue]:
    """The title, the headings of phases, and the texts and options of steps that are blank."""
    if not study.file.title.strip():
        yield ValidationIssue("title", BLANK)
    yield from _blank_nodes(study.flow, "flow")


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


def _blank_texts(part: StrictModel, at: str) -> Iterator[ValidationIssue]:
    """The texts of a step that are blank: required ones, labels of buttons and speakers. Others are then left out."""
    for name, info in type(part).model_fields.items():
        value, needed = getattr(part, name), info.is_required() or name == "button" or name.endswith("_label")
        if isinstance(value, StrictModel):
            yield from _blank_texts(value, f"{at}.{name}")
        elif needed and isinstance(value, str) and not value.strip():
            yield ValidationIssue(f"{at}.{name}", BLANK)


def option_faults(step: Step) -> Iterator[str]:
    """What is wrong with a step's questions about the rater."""
    for asked in step.questions_asked():
        allowed = DICES_VALUES.get(asked.name)
        if allowed is None:
            continue
        if not isinstance(asked, ChoiceField):
            yield f"asks {asked.name!r}, a column of DICES, without options{suggestion('', allowed)}"
            continue
        for option in asked.options:
            if option not in allowed:
                yield f"{option!r} is no value of {asked.name!r} in DICES{suggestion(option, allowed)}"


def conversation_faults(pools: Mapping[str, Sequence[Problem]]) -> Iterator[ValidationIssue]:
    for name, pool in pools.items():
        for problem in pool:
            faults = list(label_faults(problem.tags)) if problem.dialogue else []
            if faults:
                yield ValidationIssue(f"problems.{name}", f"problem {problem.id!r}: {'; '.join(faults)}")
                break


def integrity_faults(study: Study) -> Iterator[ValidationIssue]:
    """What keeps a check from being disclosed, or from finding anything."""
    checks = study.file.integrity
    if checks is None:
        return
    steps = [step for _, step in study.steps]
    if checks.hides and not any(step.step == "consent" for step in steps):
        yield ValidationIssue("integrity", "needs a `consent` step: its form discloses what pages hide")
    if checks.honeypot and not study.file.telemetry:
        yield ValidationIssue("integrity.honeypot", NEEDS_TELEMETRY)
    asked = (field for step in steps for field in step.questions_asked())
    if checks.hidden_instruction and not any(isinstance(field, LongText) for field in asked):
        yield ValidationIssue(HIDDEN_INSTRUCTION, "needs a question of type `long_text`, beside which it stands")
    yield from _threshold_faults(study, checks)


def _threshold_faults(study: Study, checks: IntegrityChecks) -> Iterator[ValidationIssue]:
    """Thresholds that differ from Parley's, of indicators that can have no figure in this study."""
    changed = checks.thresholds or IntegrityThresholds()
    usual = IntegrityThresholds()
    for name in FROM_PAGES:
        if getattr(changed, name) != getattr(usual, name) and not study.file.telemetry:
            yield ValidationIssue(f"integrity.thresholds.{name}", "needs `telemetry: true`: pages report it")
    if changed.honeypot != usual.honeypot and not checks.honeypot:
        yield ValidationIssue("integrity.thresholds.honeypot", "needs `honeypot: true` beside `thresholds`")
