"""Errors in, and advice on, sections that stand alone: attachments, embedding, fidelity, memory, reminders, tools."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import product

from experiments.errors import ValidationIssue, suggestion, unknown
from experiments.study.cells import factor_values
from experiments.study.reply_checks import LANGUAGES
from experiments.study.sections.attachments import Attach, KindsByFactor
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.sections.memory import MADE, MemoryByFactor
from experiments.study.sections.model_spec import ModelSpec, PickByFactor, pick_faults
from experiments.study.sections.reminders import BEFORE, PLACEHOLDERS, Reminder
from experiments.study.sections.waves import later_us, zone_of
from experiments.study.step import Step
from experiments.study.study import Study
from experiments.study.texts import fill, names, undefined

SEES_ANYWAY = "scripted"


def attachment_faults(study: Study, step: Step, replying: Iterable[str], at: str) -> Iterator[ValidationIssue]:
    attach: Attach | None = getattr(step, "attach", None)
    models = study.file.models
    for name in replying if attach else ():
        if isinstance(attach, KindsByFactor) and attach.by == "model" and not attach.pick.get(name):
            continue
        for blind in filter(lambda one: one in models and not _sees(models[one]), (name, *_fallbacks(study, name))):
            what = (
                f"the model {blind!r} is not sent pictures. If it sees them, write `sees: [image]` at models.{blind}; "
                "else let another model reply here, or remove `attach`"
            )
            yield ValidationIssue(f"{at}.attach", what)


def _fallbacks(study: Study, name: str) -> tuple[str, ...]:
    return study.file.models[name].fallback if name in study.file.models else ()


def _sees(model: ModelSpec) -> bool:
    return model.backend == SEES_ANYWAY or "image" in (model.sees or ())


def embed_faults(study: Study) -> Iterator[ValidationIssue]:
    embed = study.file.embed
    if embed is None:
        return
    paths = sent_paths(study)
    for number, name in enumerate(embed.send):
        if name not in embed.answers or name in paths:
            continue
        at = f"embed.send[{number}]"
        if name in {f"{step.id}.{asked.name}" for _, step in study.steps for asked in step.questions_asked()}:
            words = f"{name!r} is asked more than once (in an `each`, or in two steps of one id), and has no one answer"
            yield ValidationIssue(at, f"{words}; send answers of steps that are taken once{_known(paths)}")
        else:
            yield ValidationIssue(at, f"{name!r} is not a question of the study{suggestion(name, paths)}")


def _known(paths: Mapping[str, str]) -> str:
    return f": {', '.join(sorted(paths)[:12])}" if paths else ""


def embed_advice(study: Study) -> Iterator[str]:
    embed, last = study.file.embed, study.file.outcomes.get("complete")
    if embed is None:
        return
    if not (last and last.text) and not getattr(study.flow[-1], "text", ""):
        yield (
            "embed: the last page says that it can be closed, and closing it would leave the page around the study, "
            "too. Write how it goes on: `outcomes: {complete: {text: ...}}`."
        )
    if "outcome" not in embed.send:
        yield "embed.send: has no `outcome`, so the page around the study does not learn when it can go on."


def sent_paths(study: Study) -> Mapping[str, str]:
    """The answers as `step.question`, with the path of the step: outside of loops, of an id that no other has."""
    ids = Counter(step.id for _, step in study.steps)
    once: list[tuple[str, Step]] = [
        (path, step) for path, step in study.steps if "[*]" not in path and ids[step.id] == 1
    ]
    return {f"{step.id}.{asked.name}": path for path, step in once for asked in step.questions_asked()}


def fidelity_faults(study: Study, values: Mapping[str, Collection[str]]) -> Iterator[ValidationIssue]:
    """`values` are those of each name at the places where models reply."""
    rules = study.file.fidelity or ()
    if rules and not values:
        yield ValidationIssue("fidelity", "needs a step in which a model replies, such as `chat`", absent=True)
    for name, times in Counter(rule.name for rule in rules).items():
        if times > 1:
            yield ValidationIssue(
                "fidelity",
                f"{times} rules are called {name!r}; give each its own name, which identifies it in the data",
            )
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
    """Yield the reasons why no reply can keep a rule, or why it can never be known."""
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


def memory_faults(study: Study) -> Iterator[ValidationIssue]:
    spec, confirms = study.file.memory, any(step.step == "facts" for _, step in study.steps)
    if confirms != (spec is not None and "facts" in spec.kinds):
        words = "the step `facts` goes with the kind `facts`: participants confirm there what models remember"
        yield ValidationIssue("memory", words)
    if spec is None:
        return
    models, first = study.file.models, f"{study.waves[0].id}/" if study.waves else ""
    later = [step for path, step in study.steps if step.remembers and not path.startswith(first)]
    if not any(step.asks_models(tuple(models)) for step in later):
        words = "needs `waves`, and after the first a step in which a model replies, such as `chat`"
        yield ValidationIssue("memory", words, absent=True)
    if isinstance(spec.kind, MemoryByFactor):
        own = {name: factor for wave in study.waves for name, factor in wave.factors.items()}
        levels = {name: factor_values(one, study.pools) for name, one in {**study.factors, **own}.items()}
        yield from (ValidationIssue("memory.kind", words) for words in pick_faults(spec.kind, levels))
    if (made := sorted(spec.kinds & MADE)) and spec.model not in models:
        words = f"{made[0]} needs a model of the study: {unknown('model', spec.model, models)}"
        yield ValidationIssue("memory.model", words)


def reminder_faults(study: Study) -> Iterator[ValidationIssue]:
    reminders = study.file.reminders
    if reminders is None:
        return
    if len(study.waves) < 2:
        yield ValidationIssue("reminders", "needs `waves`: a reminder is about a wave after the first", absent=True)
    for key in ("channels", "send"):
        if not getattr(reminders, key):
            yield ValidationIssue(f"reminders.{key}", "needs at least one", absent=True)
    whens = [one.when for one in reminders.send]
    for number, one in enumerate(reminders.send):
        at = f"reminders.send[{number}]"
        if one.when in whens[:number]:
            yield ValidationIssue(f"{at}.when", f"{one.when!r} is the time of an earlier one; keep one of them")
        if one.when.endswith(BEFORE) and study.waves[1:] and not any(wave.open_for for wave in study.waves[1:]):
            yield ValidationIssue(f"{at}.when", "never comes: no wave after the first has `open_for`", absent=True)
        yield from (
            *_reminder_text(study, one.subject, f"{at}.subject"),
            *_reminder_text(study, one.text, f"{at}.text"),
        )


def reminder_advice(study: Study) -> Iterator[str]:
    for number, one in enumerate(study.file.reminders.send if study.file.reminders else ()):
        if never := [wave.wave for wave in study.waves[1:] if not _comes(one, wave.open_for)]:
            why = "they have no `open_for`, or are not open then"
            yield f"reminders.send[{number}].when: `{one.when}` never comes in {', '.join(never)}: {why}."


def _comes(reminder: Reminder, open_for: str | None) -> bool:
    zone = zone_of("")
    closes_us = later_us(0, open_for, zone) if open_for else None
    due_us = reminder.due_us(0, closes_us, zone)
    return due_us is not None and due_us >= 0 and (closes_us is None or due_us < closes_us)


def _reminder_text(study: Study, text: str, at: str) -> Iterator[ValidationIssue]:
    for said, language in {study.translate(text, tag): tag for tag in ("", *study.file.offered)}.items():
        where = at if said == text else f"translations.{language}"
        yield from (ValidationIssue(where, fault) for fault in undefined(said, PLACEHOLDERS))
        if not said.strip():
            yield ValidationIssue(where, "is blank, and participants need to read it; write a text")


def tools_faults(study: Study) -> Iterator[ValidationIssue]:
    known = study.file.tools or {}
    used = set[str]()
    for path, step in study.steps:
        given = getattr(step, "tools", None)
        texts = tuple(given.pick.values()) if isinstance(given, PickByFactor) else (given or "",)
        sets = [name for text in texts for name in _filled(text, study)]
        used |= {*sets}
        for name in sets:
            if name and name not in known:
                what = f"no set of tools is called {name!r}{suggestion(name, known)}"
                yield ValidationIssue(f"{path}.tools", what, absent=True)
            elif name and step.side_by_side and known[name].writes:
                what = f"the tools {', '.join(known[name].writes)} of {name!r} change something, once for each column"
                yield ValidationIssue(f"{path}.tools", f"{what}; name a set without `writes`, whose tools only read")
    alone = study.file.ai_alone.tools if study.file.ai_alone else ""
    if alone and alone not in known:
        what = f"no set of tools is called {alone!r}{suggestion(alone, known)}"
        yield ValidationIssue("ai_alone.tools", what, absent=True)
    misspelt = (used | {alone}) - {"", *known}  # which may be meant for those that nothing seems to use
    for name in known if not misspelt else ():
        if name not in used | {alone}:
            yield ValidationIssue(f"tools.{name}", "no conversation has `tools: " + name + "`; remove it, or use it")


def _filled(text: str, study: Study) -> Iterator[str]:
    """Fill a text for all values of the factors in it."""
    factors = [name for name in names(text) if name in study.factors]
    for values in product(*(factor_values(study.factors[name], study.pools) for name in factors)):
        unknown = {name: f"{{{{{name}}}}}" for name in names(text)}
        yield fill(text, {**unknown, **dict(zip(factors, values, strict=True))}.__getitem__)
