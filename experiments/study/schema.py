"""A study file, as people write it: pydantic models, and nothing that acts.

A study is a tree of steps in phases, with loops over problems (`each`), the factors drawn for a participant, the
problems asked and the models that reply. `experiments.study.resolve` turns it into what the engine interprets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, Union

from pydantic import Discriminator, Field, GetCoreSchemaHandler, Tag, WithJsonSchema, field_validator, model_validator
from pydantic_core import CoreSchema

from experiments.study.base_model import Condition, Level, Slug, StrictModel
from experiments.study.field_docstrings import DocumentedSchema
from experiments.study.option_order import Order
from experiments.study.sections.ai_alone import AiAloneSpec
from experiments.study.sections.annotators import AnnotatorSpec
from experiments.study.sections.dataset_info import DatasetInfo
from experiments.study.sections.embed import EmbedSpec
from experiments.study.sections.fidelity import FidelityRule
from experiments.study.sections.integrity import IntegrityChecks
from experiments.study.sections.memory import MemorySpec
from experiments.study.sections.model_spec import ModelSpec
from experiments.study.sections.plan import Plan
from experiments.study.sections.privacy import PrivacyInfo
from experiments.study.sections.prolific import ProlificRecruitment
from experiments.study.sections.recruitment import (
    Bonus,
    EndPage,
    OutcomeName,
    Paste,
    Period,
    Quota,
    Recruitment,
    SessionLimits,
)
from experiments.study.sections.reminders import Reminders
from experiments.study.sections.tools import ToolSet
from experiments.study.sections.two_step_simulator import SimulatorPrompts
from experiments.study.sections.waves import Missed, Opening, Span
from experiments.study.step import kinds
from problems.items import Columns


class ProblemGroups(StrictModel):
    """Divide problems into numbered groups (batches, sets), in the order of the file. Left-over problems have no
    group."""

    tag: Slug
    """The name of the tag that holds the group's number, such as `batch`."""
    within: Slug
    """The tag within which groups are formed, such as `subject`."""
    size: int | dict[str, int]
    """The number of problems in a group, or the number from each dataset."""
    numbered: Literal["within", "across"] = "within"
    """The numbering: from 0 again for each value of the tag in `within`, or continued."""


class ProblemSource(StrictModel):
    """A pool of problems and its source."""

    source: str = "items"
    """The kind of source: `items` for a table of your own, chatbench, checkmate, dices, jsonl, or one that a package
    adds."""
    path: str = "sample"
    """A file or folder, relative to the study file; `sample` comes with Parley. For `items`: CSV with any
    separator, .xlsx, .jsonl, .json, .parquet, or a folder of such files or of Markdown."""
    columns: Columns | None = None
    """The columns of the table by their content, if their names do not say it. Check it with `parley show items
    FILE`."""
    items: list[dict[str, Any]] = []
    """The items themselves, in place of a path: `question`, and if there are any `options`, `answer`, `id`, and any
    other key as a tag."""
    groups: ProblemGroups | None = None
    """The division of the problems into batches or sets."""
    options: Order = "listed"
    """The order in which participants see the options. `listed`: as they are here. `shuffled`: for each participant and
    problem another random order. `shuffled_once`: for each participant one random order of places for all problems
    with as many options. A step's own `options` takes precedence."""


# The greatest weight of a value: sums and shares of weights stay exact.
HEAVIEST = 1e6


class FromTag(StrictModel):
    """A factor whose values are the values of a tag of the problems, such as their batches."""

    one_of: str
    """The pool and the tag, as `pool.tag`."""
    where: dict[str, str] = {}
    """Only problems with these tags count. `{{factor}}` refers to a factor defined above this one."""


def _form_of_factor(raw: Any) -> str:
    """In which of its forms a factor is written, so that errors are about that one alone."""
    if isinstance(raw, FromTag) or (isinstance(raw, Mapping) and not raw.keys().isdisjoint(FromTag.model_fields)):
        return "values of a tag"
    return "weighted values" if isinstance(raw, Mapping) else "listed values"


Factor = Annotated[
    Annotated[tuple[Level, ...], Tag("listed values")]
    | Annotated[dict[Level, Annotated[float, Field(ge=0, le=HEAVIEST)]], Tag("weighted values")]
    | Annotated[FromTag, Tag("values of a tag")],
    Discriminator(_form_of_factor),
    Field(description="Equally likely values, values with weights, or the values of a tag of the problems."),
]


Changes = Annotated[
    Annotated[dict[str, Any], Tag("changes")] | Annotated[Literal[False], Tag("left out")],
    Discriminator(lambda raw: "left out" if raw is False else "changes"),
]


class ByFactor(StrictModel):
    """A protocol for each value of a factor, or of what the loop varies."""

    by: Slug
    """The factor, or a name in the loop's `vary`."""
    pick: dict[str, str]
    """Its values, each with the name of a protocol."""


class _Installed:
    """Stands for the kinds of nodes, which are looked for when the first file is read."""

    @staticmethod
    def __get_pydantic_core_schema__(_: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(Annotated[kinds_of_nodes(), Discriminator(tag_of)])


# A phase, an `each` or a step.
Node = Annotated[Any, _Installed]


def kinds_of_nodes() -> Any:
    """The union of phases, loops and every kind of step that is installed."""
    members = {**kinds(), "phase": Phase, "each": Loop}
    return Union[tuple(Annotated[cls, Tag(name)] for name, cls in members.items())]  # noqa: UP007


class Phase(StrictModel):
    """A part of the study with a heading. Questions are numbered within it."""

    phase: str
    """The heading that participants see, such as "Phase 1"."""
    id: Slug = ""
    """The name of the phase in paths. Made from the heading by default."""
    when: Condition | None = None
    """The condition under which it is run. Always by default."""
    flow: tuple[Node, ...]
    """The steps, loops and inner phases, in order."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        return _with_id(raw, "phase")


def _with_id(raw: Any, heading: str) -> Any:
    if not isinstance(raw, Mapping):
        return raw
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in str(raw.get(heading, ""))).lower().split()
    return {"id": "-".join(words), **raw}


class Wave(StrictModel):
    """A visit of the same people: a session of its own, with a `finish` step at its end."""

    wave: str
    """The heading that participants see, such as "Week 1"."""
    id: Slug = ""
    """The name of the wave in paths and data. Made from the heading by default."""
    opens: Opening | None = None
    """The time at which it opens for a participant. As soon as the wave before is over by default; the first opens with
    the study."""
    open_for: Span | None = None
    """The time for which it can be started, such as `3 days`. A session that is not finished by the end of this time,
    and the grace, ends as timed out. Without an end by default."""
    grace: Span | None = None
    """The further time in which it can still be taken, with the flag `late` in the data. None by default."""
    missed: Missed = "go_on"
    """The action if it is not completed in time. `go_on`: later waves open as planned; the missed one counts as over
    when it closed. `drop`: no further wave. `invite_again`: if it was not even started, it opens once more, for as
    long; then `go_on`."""
    factors: dict[Slug, Factor] = {}
    """Factors that are drawn, not balanced, in this wave alone. Those of the study are drawn once, in the first."""
    flow: tuple[Node, ...]
    """The phases, loops and steps, in order. The last is a `finish` step."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        return _with_id(raw, "wave")


class Loop(StrictModel):
    """A loop: its steps once for each problem of a pool, or for each group of problems, drawn for the participant; or
    just so many times.

    A problem is never given twice to one participant by loops over the same pool.
    """

    each: Slug
    """The name of the loop's variable, such as `question`; texts can then refer to `{{question.text}}`."""
    label: str | None = None
    """The participants' word for a turn, such as `case` in “Case 2 of 3”. By default the loop's name if it is
    `question`, `problem`, `conversation`, `item`, `theorem`, `check` or `set`, and `task` otherwise."""
    of: str = ""
    """The pool, or `pool.tag` to loop over the groups of a pool. Without it the steps are run `take` times."""
    where: dict[str, str] = {}
    """Only problems with these tags are drawn. `{{name}}` refers to a factor, an outer loop or an answer."""
    take: Annotated[int, Field(ge=1)] | None = None
    """The exact number to draw. All by default."""
    up_to: Annotated[int, Field(ge=1)] | None = None
    """The largest number to draw, where fewer may be available."""
    order: Literal["shuffled", "listed", "latin_square"] = "shuffled"
    """`shuffled`: in random order. `listed`: in the order of the pool. `latin_square`: across participants each
    appears equally often at each position and after each of the others."""
    target: Annotated[int, Field(ge=1)] | None = None
    """The number of times each is wanted across all participants. Those with the fewest so far are drawn first,
    ties at random."""
    strata: Slug | None = None
    """A tag over whose values the draw is spread as evenly as the pool allows; it is ordered by the tag."""
    vary: dict[Slug, tuple[Level, ...]] = {}
    """Values that vary within a participant: each draw gets another one, in random order, such as `model: [a, b,
    c]`."""
    vary_order: Literal["shuffled", "latin_square"] = "shuffled"
    """The order of these values: random, or a row of a Latin square."""
    until: Condition | None = None
    """The loop ends early once this condition holds at the end of a turn."""
    do: str | ByFactor | None = None
    """The protocol to run for each, with `@version` to require that version; or one for each value of a factor
    (between participants) or of `vary` (within)."""
    with_: dict[str, Changes] = Field(default={}, alias="with")
    """Changes to the protocol's steps: the id of a step, then the keys that differ, or `false` to leave it out."""
    flow: tuple[Node, ...] = ()
    """The steps themselves, instead of `do`."""
    when: Condition | None = None
    """The condition under which it is run. Always by default."""

    @model_validator(mode="after")
    def _one_body(self) -> Self:
        if bool(self.do) == bool(self.flow):
            raise ValueError("needs either `do` (a protocol) or `flow` (steps)")
        if self.take and self.up_to:
            raise ValueError("has both `take` and `up_to`; keep one")
        if not self.of and not self.take:
            raise ValueError("needs `of` (a pool of problems) or `take` (how many times)")
        for name in ("where", "target", "strata"):
            if not self.of and getattr(self, name):
                raise ValueError(f"has `{name}`, which needs `of`: there are no problems to choose from")
        return self

    @property
    def id(self) -> str:
        return self.each

    @property
    def over_problems(self) -> bool:
        """True if each turn has a problem of its own; not for groups of problems, or for mere repetition."""
        return bool(self.of) and self.tag is None

    @property
    def pool(self) -> str:
        return self.of.split(".")[0]

    @property
    def tag(self) -> str | None:
        """The tag whose values it loops over; None where it loops over problems."""
        return self.of.split(".", 1)[1] if "." in self.of else None


Translations = Annotated[
    dict[str, dict[str, str]],
    WithJsonSchema(
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [{"type": "string"}, {"type": "object", "additionalProperties": {"type": "string"}}]
            },
        },
        mode="validation",
    ),
]


class StudyFile(StrictModel):
    """A study: its participants, problems, models, conditions and steps."""

    study: Slug
    """The name of the study in links and on the command line."""
    title: str
    """The title that participants see."""
    version: Annotated[int, Field(ge=1)] = 1
    """The author's version number. Any change to the study changes its hash, whatever this number is."""
    language: str = "en"
    """The language of the study's texts, as in HTML's `lang`."""
    languages: tuple[str, ...] = ()
    """The languages that participants can choose on the start page. Only `language` by default."""
    translations: Translations = {}
    """For each further language, a mapping from each text of the study to its translation, or the name of a YAML
    file beside the study file. `parley show translations` lists the texts to translate."""
    contact: str = ""
    """The address for participants' questions; shown on every screen."""
    help: Annotated[str, Field(min_length=1)] | None = None
    """Participants can ask the researchers for help from every screen until the study is over for them, and this text
    says when somebody answers. Requests are in the console under Monitoring, and alerts report them. Without it nobody
    can ask."""
    export_schemas: tuple[str, ...] = ()
    """The released schemas whose tables the study fills: arena, chatbench, dices-350, dices-990, mathconverse,
    taxonomy."""
    dollar_maths: bool = False
    r"""True if `$x$` is mathematics, in items, texts and conversations. `\(x\)`, `\[x\]` and `$$x$$` always are."""
    on_identity_leak: Literal["flag", "mask", "regenerate"] = "flag"
    """The action when a reply reveals its model. `flag`: it is flagged in the log. `mask`: the words are masked as
    well. `regenerate`: the model is asked again, and the words are masked if the new reply reveals it too."""
    problems: dict[Slug, ProblemSource] = {}
    """The pools of problems, by the name that `each` refers to."""
    models: dict[str, ModelSpec] = {}
    """The models that reply, by their name in the data."""
    currency: str = "USD"
    """The currency of the models' prices."""
    cost_limit: Annotated[float, Field(gt=0)] | None = None
    """The most that replies to one participant may cost. A participant who reaches it can send no more messages and
    continues without."""
    factors: dict[Slug, Factor] = {}
    """The experimental factors. Each participant is assigned a combination; they are balanced over participants who
    have completed the study or are taking part."""
    quotas: tuple[Quota, ...] = ()
    """The number of participants wanted, in total and for certain values of factors."""
    recruitment: Recruitment = Recruitment()
    """The channels by which participants come, and the rules for those who come again."""
    prolific: ProlificRecruitment | None = None
    """Recruitment at Prolific by its API (`parley recruit prolific`)."""
    keep_ids_for: Period | None = None
    """The time for which a recruiter's id is kept after the last activity in its session, such as `90 days`. The data
    stay. An id with an open bonus payment is kept until it is paid. For ever by default."""
    keep_for: Period | None = None
    """The time for which data are kept after the last activity in their session, such as `10 years`. Then they are
    erased as by a withdrawal. For ever by default."""
    reminders: Reminders | None = None
    """Reminders of the waves after the first. None by default."""
    outcomes: dict[OutcomeName, EndPage] = {}
    """The last page and the completion code for each outcome. The last `finish` step may hold those of `complete`."""
    session_limits: SessionLimits = SessionLimits()
    """The time limits of a session, and the time for which a place is held."""
    paste: Paste = "log"
    """The effect of pasting into a box that does not specify it: `allow` records nothing, `log` the amount, `block`
    prevents it."""
    telemetry: bool = True
    """True to record times of reading and typing, pasting, copying and leaving the page, without any content, after
    consent. The consent form states this."""
    ai_alone: AiAloneSpec | None = None
    """Runs of models on the same questions without people (`parley ai-alone`)."""
    simulator_prompts: SimulatorPrompts | None = None
    """The prompts of simulated users that talk about problems (`parley simulate`)."""
    annotators: dict[Slug, AnnotatorSpec] | None = None
    """The study's own annotators, by name: prompts by which a model labels each finished conversation (`parley
    annotate`)."""
    tools: dict[Slug, ToolSet] | None = None
    """Sets of tools that models may use in conversations, by name."""
    fidelity: tuple[FidelityRule, ...] | None = None
    """Rules on the replies of each condition, and the actions if a reply breaks them."""
    memory: MemorySpec | None = None
    """The models' memory of a person's earlier waves. None by default."""
    bonus: tuple[Bonus, ...] = ()
    """The rules for bonus payments, which `parley payments` computes."""
    plan: Plan | None = None
    """The analysis plan of a trial, decided before data are seen."""
    integrity: IntegrityChecks | None = None
    """A check of how texts were written, which `parley show integrity` reports. The consent form discloses it."""
    embed: EmbedSpec | None = None
    """The pages of other sites in which the study may stand as a frame. None by default."""
    dataset: DatasetInfo | None = None
    """Publication metadata of the study's data. Not part of the study's hash."""
    privacy: PrivacyInfo | None = None
    """Facts that the study does not contain, for the data-protection document (`parley privacy`). Not part of the
    study's hash."""
    waves: tuple[Wave, ...] | None = None
    """The visits of a longitudinal study, in order; each has a `flow` of its own, in place of the study's. People stay
    with the version of their first."""
    flow: tuple[Node, ...] = ()
    """The phases, loops and steps, in order. The last is a `finish` step. Every study has either `flow` or `waves`."""
    schema_: str | None = Field(default=None, alias="$schema")
    """For editors only."""

    @property
    def offered(self) -> tuple[str, ...]:
        return self.languages or (self.language,)

    @field_validator("factors")
    @classmethod
    def _possible(cls, factors: dict[str, Any]) -> dict[str, Any]:
        for name, factor in factors.items():
            if not isinstance(factor, FromTag) and not any(weights(factor).values()):
                raise ValueError(f"{name!r} has no value that can be drawn")
        return factors

    @property
    def tree(self) -> tuple[Node, ...]:
        """The whole flow: in a study with waves, a phase for each."""
        if self.waves is None:
            return self.flow
        return tuple(Phase(phase=wave.wave, id=wave.id, flow=wave.flow) for wave in self.waves)

    @property
    def root(self) -> str:
        """The key of the file that has the tree."""
        return "flow" if self.waves is None else "waves"


class ProtocolFile(StrictModel):
    """A named, versioned list of steps for one problem, to which studies refer."""

    protocol: Slug
    """The name by which studies refer to it."""
    version: Annotated[int, Field(ge=1)] = 1
    """Increased with every change, so that a study can require a version: `name@2`."""
    about: str = ""
    """Its purpose and its source."""
    flow: tuple[Node, ...]
    """The steps, in order."""
    schema_: str | None = Field(default=None, alias="$schema")
    """For editors only."""


def weights(factor: tuple[str, ...] | Mapping[str, float]) -> dict[str, float]:
    return dict(factor) if isinstance(factor, Mapping) else dict.fromkeys(factor, 1.0)


def tag_of(node: Any) -> str | None:
    """Return the kind of a node: phase, each, or the kind of step; None where it cannot be told."""
    if isinstance(node, Mapping):
        return next((key for key in ("phase", "each") if key in node), None) or node.get("step")
    return next((key for key in ("phase", "each") if hasattr(node, key)), None) or getattr(node, "step", None)


TITLES = {"study": "A Parley study", "protocol": "A Parley protocol"}


def json_schema(kind: Literal["study", "protocol"]) -> dict[str, Any]:
    model = StudyFile if kind == "study" else ProtocolFile
    schema = model.model_json_schema(by_alias=True, schema_generator=DocumentedSchema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": TITLES[kind]}
