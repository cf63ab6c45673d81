"""Build step by step: a form of what most studies need, and beside it the study file that it writes, and its check.

The form writes the file; it never reads one. Its button makes a draft of the file, and from then on the editor's text
is the study.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import gradio as gr
from gradio.components import Component
from pydantic import ValidationError

from app.backends.model_ref import ModelRef
from app.backends.providers import PROVIDERS
from app.backends.registry import asks_servers, configuration_errors
from app.errors import SettingsError
from app.session.replies.model_check import UNOPENED
from app.studies import builder_choices as choices
from app.studies.builder import (
    MOST_MODELS,
    PARTS,
    WITH_OPTIONS,
    Across,
    Answers,
    BuilderCheck,
    Confidence,
    FieldIssue,
    ItemsFrom,
    ModelAnswers,
    QuestionAnswers,
    Use,
    check_answers,
    spec_of,
)
from app.studies.builder_choices import Choice, ProtocolChoice
from app.studies.drafts import NAME, save_draft
from app.studies.loader import FILE
from app.studies.outline import outline
from app.web.console.context import ConsoleContext
from app.web.console.current_user import CurrentUser
from app.web.console.study_tab.base import Updates, new_name
from app.web.console.study_tab.editor import MOST_REPLY, TESTING
from app.web.console.tab import dropdown, text
from problems.errors import ParleyError

UNNAMED = "new-study"
ACROSS: Mapping[Across, str] = {
    "between": "one of them (between participants)",
    "within": "all of them, in random order (within participants)",
}
ITEMS: Mapping[ItemsFrom, str] = {
    "sample": "a sample set that comes with Parley",
    "typed": "a table typed or pasted here",
    "file": "a file, which you upload to the draft",
    "none": "nothing: participants choose what to talk about",
}
CONFIDENCE: Mapping[Confidence, str] = {
    "": "as the protocol says",
    "before": "before the answer",
    "after": "after it",
    "both": "before and after",
}
USES: Mapping[Use, str] = {
    "before": "survey before the items",
    "after": "survey after the items",
    "screening": "screening (others are screened out)",
    "comprehension": "comprehension check",
    "attention": "attention check",
}
TABLE = "question,A,B,answer,topic\nWhat is 2 + 2?,4,5,A,sums"
LINES: Mapping[str, int] = {
    "consent": 6,
    "instructions": 4,
    "finish": 2,
    "system": 2,
    "table": 5,
    "text": 2,
    "correct": 2,
}
KEPT = "(name, ...values) => [name, ...window.parleyConsole.keptAnswers(values)]"
KEEP = "(...values) => { window.parleyConsole.keepAnswers(values); return []; }"
FORGET = "(name) => { if (!name) window.parleyConsole.keepAnswers([]); return []; }"
"""The page keeps the answers, so that a reload loses none, until a study is made of them, which clears its name."""
NUMBERS = ("take", "places", "reward", "bonus", "bonus_most")
MORE = "more_protocols"
COUNTS = tuple(f"{part}_count" for part in PARTS)
"""Keys of the form that are no answers of their own: how many models, factors and questions are shown."""


@dataclass(frozen=True, slots=True)
class StudiesBeside:
    """What the form is wired to in its tab: the button that opens it, the name typed beside that and the chosen study;
    the title and the tabs, in whose place the form is; what shows a new draft, or the chosen study again; and the
    outputs of both."""

    start: gr.Button
    name: gr.Textbox
    study: Component
    title: gr.HTML
    tabs: gr.Tabs
    created: Callable[[CurrentUser, str], Updates]
    back: Callable[[CurrentUser, str], Updates]
    outputs: Sequence[Component]


class StudyBuilder:
    """The form. `fields` has its components by the keys of `field_keys`."""

    def __init__(self, desk: ConsoleContext) -> None:
        self._desk = desk
        self.fields: dict[str, Any] = {}
        self.labels: dict[str, str] = {}
        self._places: dict[str, list[Any]] = {part: [] for part in PARTS}

    def build(self) -> None:
        with gr.Column(visible=False, elem_id="builder") as self.panel:
            gr.HTML(self._desk.html("builder_head.html.j2"), padding=False, apply_default_css=False)
            with gr.Row(elem_id="builder-row"):
                with gr.Column(scale=3, min_width=300, elem_id="builder-form"):
                    for number, (title, part) in enumerate(self._parts().items(), 1):
                        with gr.Column(elem_classes="part", elem_id=f"part-{number}"):
                            gr.HTML(f"<h3>{number}. {title}</h3>", padding=False, apply_default_css=False)
                            part()
                with gr.Column(scale=2, min_width=300, elem_id="builder-file"):
                    nav = self._desk.html("builder_parts.html.j2", parts=list(self._parts()))
                    gr.HTML(nav, elem_id="builder-parts", padding=False, apply_default_css=False)
                    self._verdict = gr.HTML(elem_id="builder-verdict", padding=False, apply_default_css=False)
                    with gr.Row(elem_classes="actions"):
                        self._create = gr.Button("Open in the editor", size="sm", variant="primary", elem_id="b-create")
                        self._cancel = gr.Button("Cancel", size="sm", elem_id="b-cancel")
                    self._text = gr.HTML(elem_id="builder-text", padding=False, apply_default_css=False)

    def _parts(self) -> dict[str, Callable[[], None]]:
        return {
            "Design": self._design,
            "Items": self._items,
            "Models": self._models,
            "Factors": self._factors,
            "Questions and checks": self._questions,
            "Recruitment and pay": self._recruitment,
            "Texts": self._texts,
        }

    def _design(self) -> None:
        self._line("name", "Name of the study", "A letter, then letters, digits, - and _. It is part of the links.")
        label = "What happens with each item"
        known = choices.protocols()
        self._protocols("protocols", label, [known[name] for name in choices.COMMON], list(Answers().protocols))
        with gr.Accordion("More protocols", open=False, elem_id="b-more") as self._more:
            others = [one for one in known.values() if one.name not in choices.COMMON]
            self._protocols(MORE, f"{label}: more", others, [])
        with self._shown() as self._protocols_across:
            self._pick("protocols_across", "With several, each participant gets", _labelled(ACROSS), "between")
        self._pick("confidence", "Confidence in the answer is asked for", _labelled(CONFIDENCE), "")

    def _protocols(self, key: str, label: str, offered: Sequence[ProtocolChoice], chosen: list[str]) -> None:
        pairs = [(f"{one.name}: {one.about}", one.name) for one in offered]
        self._add(gr.CheckboxGroup, key, label, choices=pairs, value=chosen)

    def _items(self) -> None:
        self._pick("items", "Participants work on", _labelled(ITEMS), "sample")
        with self._shown(visible=True) as self._source:
            self._list("source", "Kind of items", choices.sources(), Answers().source)
        with self._shown() as self._path:
            what = "Once the draft is open, upload the file under Items. Until then the check misses it."
            self._line("path", "Name of the file", what, placeholder="questions.csv")
        with self._shown() as self._table:
            what = (
                "The first line names the columns: question, one for each option (A, B, …), answer. Other columns are "
                "tags. Cells copied from a spreadsheet can be pasted."
            )
            self._area("table", "Table", what, placeholder=TABLE)
        with gr.Row():
            self._number("take", "Items for each participant", "All if empty.", precision=0)
            self._list("order", "Order", choices.orders(), "shuffled")

    def _models(self) -> None:
        self._hints, self._prompts = [], []
        for number, (at, called) in enumerate(self._slots("model", "How many models reply", "1")):
            with gr.Row():
                server = {"choices": self._servers(), "value": ModelAnswers().server}
                self._add(dropdown, f"{at}.server", f"{called}: server", **server)
                self._line(f"{at}.model", f"{called}: name on its server")
                self._line(f"{at}.name", f"{called}: name in the data")
            hint = gr.HTML(elem_id=f"b-hint-{number}", elem_classes="hint", padding=False, apply_default_css=False)
            self._hints.append(hint)
            with self._shown() as own:
                what = "The system prompt of all models, below, if empty."
                self._area(f"{at}.system", f"{called}: system prompt", what)
            self._prompts.append(own)
        with self._shown() as self._models_across:
            self._pick("models_across", "Each participant gets", _labelled(ACROSS), "between")
        what = "Of all models that have none of their own. “You are a helpful AI assistant.” if empty."
        self._area("system", "System prompt", what)
        self._test = gr.Button("Test models", size="sm", elem_id="b-test")
        self._tested = gr.HTML(elem_id="b-tested", padding=False, apply_default_css=False)

    def _factors(self) -> None:
        gr.HTML(
            '<p class="quiet">What else differs between conditions. Write <code>{{tone}}</code> in a text or the '
            "system prompt to insert the level of a factor called <code>tone</code>.</p>",
            padding=False,
            apply_default_css=False,
        )
        for at, called in self._slots("factor", "How many factors of your own", "0"):
            with gr.Row():
                self._line(f"{at}.name", f"{called}: name", placeholder="tone")
                self._area(f"{at}.levels", f"{called}: levels, one a line", placeholder="warm\ncold")
            self._pick(f"{at}.across", f"{called}: each participant gets", _labelled(ACROSS), "between")

    def _questions(self) -> None:
        self._options, self._correct = [], []
        for at, called in self._slots("question", "How many questions of your own", "0"):
            with gr.Row():
                self._list(f"{at}.use", f"{called}: part of", _labelled(USES), QuestionAnswers().use)
                self._list(f"{at}.type", f"{called}: answer", _labelled(choices.QUESTIONS), QuestionAnswers().type)
            self._area(f"{at}.text", f"{called}: text")
            with self._shown() as options:
                self._area(f"{at}.options", f"{called}: options, one a line", placeholder="Yes\nNo")
            with self._shown() as correct:
                what = "One a line. Of a number also a range, such as 18-99, or 18- for 18 and more."
                self._area(f"{at}.correct", f"{called}: answers that pass", what)
            self._line(f"{at}.name", f"{called}: name in the data", f"{called.lower().replace(' ', '_')} if empty.")
            self._options.append(options)
            self._correct.append(correct)

    def _recruitment(self) -> None:
        with gr.Row():
            anyone = Choice("", "any link is accepted")
            self._list("recruiter", "Recruiter", (anyone, *choices.recruiters()), "")
            self._number("places", "Places", "Participants wanted. No limit if empty.", precision=0)
        with gr.Row():
            self._number("reward", "Reward", "Paid by the recruiter; recorded with the data.")
            self._line("currency", "Currency", "Of the reward and of models’ prices.", value="USD")
        with gr.Row():
            self._list("bonus_per", "Bonus", (Choice("", "none"), *choices.bonuses()), "")
            self._number("bonus", "Amount of the bonus")
            self._number("bonus_most", "At most in all")
        what = "<h4>Completion codes</h4><p class='quiet'>A different one for each end of a session, if the recruiter \
asks for codes.</p>"
        gr.HTML(what, padding=False, apply_default_css=False)
        with gr.Row(elem_id="builder-codes"):
            for one in choices.outcomes():
                self._line(f"codes.{one.value}", f"Code: {one.label}")

    def _texts(self) -> None:
        self._line("title", "Title", "Participants see it on every page.")
        self._line(
            "contact", "Contact", "An address for participants’ questions.", placeholder="you@university.example"
        )
        self._area("consent", "Consent", "In Markdown. Without it there is no consent page.")
        self._area("instructions", "Instructions", "A page before the first item.")
        self._area("finish", "Last page", "A standard sentence if empty.")

    # ---- The form's components.

    def _add(self, kind: Callable[..., Component], key: str, label: str, **options: Any) -> None:
        self.labels[key] = label
        self.fields[key] = kind(label=label, elem_id=anchor(key), **options)

    def _line(self, key: str, label: str, info: str | None = None, **options: Any) -> None:
        self._add(gr.Textbox, key, label, info=info, **options)

    def _area(self, key: str, label: str, info: str | None = None, **options: Any) -> None:
        lines = LINES.get(key.rpartition(".")[2], 3)
        self._add(gr.Textbox, key, label, info=info, lines=lines, max_lines=4 * lines, **options)

    def _number(self, key: str, label: str, info: str | None = None, **options: Any) -> None:
        self._add(gr.Number, key, label, info=info, value=None, **options)

    def _pick(self, key: str, label: str, offered: Sequence[Choice], value: str) -> None:
        self._add(gr.Radio, key, label, choices=_pairs(offered), value=value)

    def _list(self, key: str, label: str, offered: Sequence[Choice], value: str) -> None:
        self._add(gr.Dropdown, key, label, choices=_pairs(offered), value=value)

    def _slots(self, part: str, label: str, value: str) -> Iterator[tuple[str, str]]:
        """The number of something, and as many places for it as there may be: the key of each, and what it is called.
        What is added before the next is in that place."""
        most = PARTS[part][1]
        self._pick(f"{part}_count", label, _labelled({f"{number}": f"{number}" for number in range(most + 1)}), value)
        for number in range(most):
            with self._shown(visible=number < int(value)) as slot:
                yield f"{part}s.{number}", f"{part.capitalize()} {number + 1}"
            self._places[part].append(slot)

    @contextmanager
    def _shown(self, *, visible: bool = False) -> Iterator[Any]:
        with gr.Column(visible=visible, elem_classes="depends") as column:
            yield column

    # ---- What happens.

    @property
    def outputs(self) -> list[Component]:
        return [self.panel]

    def wire(self, beside: StudiesBeside) -> None:
        """Wire the events; only owners build."""
        on, inputs, name = self._desk.bind, list(self.fields.values()), self.fields["name"]
        depending = self._depending()
        reach = [self.fields[f"models.{number}.server"] for number in range(MOST_MODELS)]

        def open_(_: CurrentUser, typed: str, *values: Any) -> Updates:
            given = self._given(values)
            given["name"] = typed.strip() or given["name"]
            given |= {key: given[key] or None for key in NUMBERS}  # Gradio shows 0 where nothing is set
            offered, keys = self._servers(), [f"models.{number}.server" for number in range(MOST_MODELS)]
            there = {server for _, server in offered}
            given |= {key: given[key] if given[key] in there else "" for key in keys}  # one may have been removed
            filled = {field: given[key] for key, field in self.fields.items()}
            more = {self._more: gr.update(open=bool(given[MORE]))}
            front = {
                **more,
                beside.title: "",
                beside.tabs: gr.update(visible=False),
                self.panel: gr.update(visible=True),
            }
            servers = [given[key] for key in keys]
            hints = dict(zip(self._hints, map(self._server_hint, servers), strict=True))
            reached = {
                one: gr.update(choices=offered, value=at or None) for one, at in zip(reach, servers, strict=True)
            }
            return {**front, **filled, **reached, **hints, **self._refresh(given)}

        def refresh(_: CurrentUser, *values: Any) -> Updates:
            return self._refresh(self._given(values))

        def create(visitor: CurrentUser, *values: Any) -> Updates:
            made = beside.created(visitor, self._draft(visitor, answers_of(self._given(values))))
            return {**{field: field.value for field in inputs}, name: "", **made}  # the next study begins as the first

        def cancel(visitor: CurrentUser, study: str) -> Updates:
            return beside.back(visitor, study)

        def test(visitor: CurrentUser, *values: Any) -> Updates:
            try:
                found = self._test_models(visitor, answers_of(self._given(values)))
            except ParleyError as error:  # said here, where it says that the models are being tested
                found = self._desk.html("study_models.html.j2", tests=(), why=str(error))
            return {self._tested: found}

        front = [beside.title, beside.tabs, self.panel, self._more, *inputs, *self._hints]
        on(beside.start.click, open_, [beside.name, *inputs], [*front, *depending], owner=True, js=KEPT)
        typed = [field.input for field in inputs]
        gr.on(typed, fn=None, inputs=inputs, outputs=[], js=KEEP, api_visibility="private")
        on(typed, refresh, inputs, depending, owner=True)
        made = on(self._create.click, create, inputs, [*inputs, *beside.outputs], owner=True)
        made.then(None, inputs=[name], outputs=[], js=FORGET, api_visibility="private")
        on(self._cancel.click, cancel, [beside.study], beside.outputs)
        gr.on([self._test.click], fn=None, inputs=[], outputs=[self._tested], js=TESTING, api_visibility="private")
        on(self._test.click, test, inputs, [self._tested], owner=True)
        for server, hint in zip(reach, self._hints, strict=True):
            on(server.input, self._describe(hint), [server], [hint], owner=True)

    def _servers(self) -> list[tuple[str, str]]:
        return _pairs(choices.server_choices(self._desk.settings.server_names))

    def _given(self, values: Sequence[Any]) -> dict[str, Any]:
        return dict(zip(self.fields, values, strict=True))

    def _depending(self) -> list[Component]:
        slots = [slot for slots in self._places.values() for slot in slots]
        own = [*slots, *self._prompts, *self._options, *self._correct, self._verdict, self._text]
        return [self._protocols_across, self._source, self._path, self._table, self._models_across, *own]

    def _describe(self, hint: gr.HTML) -> Callable[..., Updates]:
        return lambda _, server: {hint: self._server_hint(text(server))}

    def _server_hint(self, server: str) -> str:
        if not server:
            return ""
        backend, _, name = server.partition("@")
        lacking = asyncio.run(configuration_errors([spec_of(ModelAnswers(server=server), "")], self._desk.settings))
        return self._desk.html(
            "builder_server.html.j2",
            provider=PROVIDERS.get(name),
            name=name,
            asks=asks_servers(backend),
            lacking=lacking,
        )

    def _refresh(self, given: Mapping[str, Any]) -> Updates:
        answers = answers_of(given)
        found = self._checked(answers)
        tree = outline(found.study) if found.study else ()
        verdict = self._desk.html("builder_verdict.html.j2", found=found, tree=tree, label=self.labels, anchor=anchor)
        several = len(answers.protocols) > 1
        return {
            self._verdict: verdict,
            self._text: self._desk.html("builder_text.html.j2", lines=found.text.splitlines()),
            self._protocols_across: gr.update(visible=several),
            self._source: gr.update(visible=answers.items in ("sample", "file")),
            self._path: gr.update(visible=answers.items == "file"),
            self._table: gr.update(visible=answers.items == "typed"),
            self._models_across: gr.update(visible=len(answers.models) > 1),
            **{prompt: gr.update(visible=len(answers.models) > 1) for prompt in self._prompts},
            **{
                slot: gr.update(visible=number < len(getattr(answers, f"{part}s")))
                for part, slots in self._places.items()
                for number, slot in enumerate(slots)
            },
            **{
                options: gr.update(visible=one.type in WITH_OPTIONS)
                for options, one in zip(self._options, answers.questions, strict=False)
            },
            **{
                correct: gr.update(visible=one.is_check)
                for correct, one in zip(self._correct, answers.questions, strict=False)
            },
        }

    def _checked(self, answers: Answers) -> BuilderCheck:
        """The check, as for a draft in its folder; a name that is taken is an issue too."""
        named = NAME.fullmatch(answers.name)
        found = check_answers(answers, self._desk.drafts.folder(answers.name if named else UNNAMED))
        if answers.name not in self._desk.names():
            return found
        taken = FieldIssue("name", f"{answers.name!r} is the name of another study here; choose another.")
        return replace(found, study=None, issues=(taken, *found.issues))

    def _draft(self, visitor: CurrentUser, answers: Answers) -> str:
        name = new_name(answers.name, self._desk.names())
        save_draft(self._desk.drafts.reserve(name) / FILE, self._checked(answers).text)
        self._desk.audit(visitor, "created a study with the builder", name)
        return name

    def _test_models(self, visitor: CurrentUser, answers: Answers) -> str:
        """Send one message to each model, and show what came of it."""
        try:
            refs = [ModelRef(model.label, spec_of(model, answers.system)) for model in answers.models]
        except ValidationError:
            raise SettingsError("A model is not complete. Correct what is listed beside the form first.") from None
        self._desk.audit(visitor, "tested models in the builder", answers.name)
        return self._desk.html(
            "study_models.html.j2",
            tests=self._desk.model_tests.run(visitor, refs, self._desk.settings),
            why="The study has no model.",
            currency=answers.currency,
            at_us=self._desk.clock.now_us(),
            most=MOST_REPLY,
            unopened=UNOPENED,
        )


def anchor(key: str) -> str:
    return f"b-{key.replace('.', '-')}"


def answers_of(given: Mapping[str, Any]) -> Answers:
    """The form's values, by key, as answers: texts without blanks at their ends, and an empty one where nothing is
    chosen."""
    values = {
        key: text(value).strip() if value is None or isinstance(value, str) else value for key, value in given.items()
    }
    values |= {key: None for key in NUMBERS if given[key] is None}
    plain: dict[str, Any] = {key: value for key, value in values.items() if "." not in key and key not in COUNTS}
    plain |= {"protocols": (*(values["protocols"] or ()), *(plain.pop(MORE) or ())), "codes": _part(values, "codes.")}
    for part, (kind, _) in PARTS.items():
        numbers = range(int(values[f"{part}_count"] or 0))
        plain[f"{part}s"] = tuple(kind(**_part(values, f"{part}s.{number}.")) for number in numbers)
    if len(plain["models"]) == 1:  # one model has no field for a prompt of its own
        plain["models"] = (replace(plain["models"][0], system=""),)
    return Answers(**plain)


def _part(values: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {key.removeprefix(prefix): value for key, value in values.items() if key.startswith(prefix)}


def _pairs(offered: Sequence[Choice]) -> list[tuple[str, str]]:
    return [(one.label, one.value) for one in offered]


def _labelled(labels: Mapping[Any, str]) -> tuple[Choice, ...]:
    return tuple(Choice(value, label) for value, label in labels.items())
