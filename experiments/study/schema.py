"""A study file, as people write it: pydantic models, and nothing that acts.

A study is a tree of steps in phases, with loops over problems (`each`), the factors drawn for a participant, the
problems asked and the models that reply. `experiments.study.resolve` turns it into what the engine interprets.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, Union

from pydantic import Discriminator, Field, Tag, WithJsonSchema, field_validator, model_validator

from experiments.study.ai_alone import Alone
from experiments.study.annotators import Annotating
from experiments.study.base_model import Condition, Config, Slug
from experiments.study.model_spec import Model
from experiments.study.recruitment import Bonus, Cap, Ending, OutcomeName, Paste, Recruitment, Times
from experiments.study.step import kinds


class Groups(Config):
    """Deal problems into numbered groups (batches, sets), in the order of the file; what is left over has no group."""

    tag: Slug
    """The name of the new tag, such as `batch`."""
    within: Slug
    """The tag inside which groups are dealt, such as `subject`."""
    size: int | dict[str, int]
    """How many problems in a group; or how many of each dataset."""
    numbered: Literal["within", "across"] = "within"
    """Whether numbers start again at 0 for each value of `within`."""


class Source(Config):
    """A pool of problems, and where it comes from."""

    source: str
    """The kind of source: chatbench, checkmate, jsonl, or one that a package adds."""
    path: str = "sample"
    """A file or folder beside the study file; `sample` is the set that comes with Parley."""
    groups: Groups | None = None
    """Batches or sets to deal the problems into."""


HEAVIEST = 1e6
"""The greatest weight of a value: sums and shares of weights stay exact."""


class OneOf(Config):
    """A factor whose values are those of a tag of the problems, such as their batches."""

    one_of: str
    """`pool.tag`."""
    where: dict[str, str] = {}
    """Only problems with these tags count; `{{factor}}` refers to a factor above."""


Factor = Annotated[
    tuple[Slug, ...] | dict[str, Annotated[float, Field(ge=0, le=HEAVIEST)]] | OneOf,
    Field(description="Equally likely values, values with weights, or the values of a tag of the problems."),
]


class Pick(Config):
    """A protocol for each value of a factor."""

    by: Slug
    """The factor."""
    pick: dict[str, str]
    """Its values, each with the name of a protocol."""


class Phase(Config):
    """A part of the study with a heading; questions are counted within it."""

    phase: str
    """Its name, as people see it: "Phase 1"."""
    id: Slug = ""
    """Its name in paths; made from the heading unless given."""
    when: Condition | None = None
    """Only done if this holds."""
    flow: tuple[Node, ...]
    """Its steps, loops and inner phases, in order."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, raw: Any) -> Any:
        if not isinstance(raw, Mapping):
            return raw
        words = "".join(c if c.isascii() and c.isalnum() else " " for c in str(raw.get("phase", ""))).lower().split()
        return {"id": "-".join(words), **raw}


class Each(Config):
    """A loop: its steps once for each problem of a pool, or for each group of problems, drawn for the participant; or
    just so many times.

    A problem is never given twice to one participant by loops over the same pool.
    """

    each: Slug
    """The name of what is drawn, such as `question`; texts may say `{{question.text}}`."""
    of: str = ""
    """The pool; or `pool.tag` to loop over the groups of a pool. Without it the steps are done `take` times."""
    where: dict[str, str] = {}
    """Only problems with these tags; `{{name}}` refers to a factor, an outer loop or an answer."""
    take: Annotated[int, Field(ge=1)] | None = None
    """How many, exactly; all unless given."""
    up_to: Annotated[int, Field(ge=1)] | None = None
    """How many at most, where there may be fewer."""
    order: Literal["shuffled", "listed", "latin_square"] = "shuffled"
    """In an order of the participant's own; in the order of the pool; or in one of the rows of a Latin square, so that
    over all participants each stands equally often at each place, and after each other."""
    target: Annotated[int, Field(ge=1)] | None = None
    """How many times each is wanted over all participants: those with the fewest so far are drawn first, equal ones by
    chance; none is refused when all have enough."""
    strata: Slug | None = None
    """A tag over which the draw is spread as evenly as the supply allows, and by which it is ordered."""
    vary: dict[Slug, tuple[str, ...]] = {}
    """What goes with each draw, another for each, in an order of the participant's own: `model: [a, b, c]`."""
    vary_order: Literal["shuffled", "latin_square"] = "shuffled"
    """Whether that order is by chance, or one of the rows of a Latin square."""
    until: Condition | None = None
    """The loop ends early once this holds after a turn of it."""
    do: str | Pick | None = None
    """The protocol for each: its name, with `@version` if it must be that one; or one for each value of a factor."""
    with_: dict[str, dict[str, Any]] = Field(default={}, alias="with")
    """Changes to the protocol's steps: the step's id, then what is different."""
    flow: tuple[Node, ...] = ()
    """The steps themselves, in place of `do`."""
    when: Condition | None = None
    """Only done if this holds."""

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
        """Its name in paths."""
        return self.each

    @property
    def over_problems(self) -> bool:
        """Whether each turn has a problem of its own; not so for groups of problems, or for mere repetition."""
        return bool(self.of) and self.tag is None

    @property
    def pool(self) -> str:
        """The pool that it draws from."""
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


class StudyFile(Config):
    """A study: what is asked of whom, in what order, and who replies."""

    study: Slug
    """The study's name, in links and on the command line."""
    title: str
    """Its name as participants read it."""
    version: Annotated[int, Field(ge=1)] = 1
    """The author's count of its editions; any change makes another hash, whatever this says."""
    language: str = "en"
    """The language of its texts, as in HTML's `lang`."""
    languages: tuple[str, ...] = ()
    """The languages in which it is offered; people choose on the start page. Only its own `language` unless given."""
    translations: Translations = {}
    """For each further language: each text of the study, as it stands here, with its translation; or the name of a YAML
    file beside the study's that holds them. `parley translations` lists what is to be translated."""
    contact: str = ""
    """Whom participants may write to; shown on every screen."""
    export_schemas: tuple[str, ...] = ()
    """The released schemas whose tables the study fills: arena, chatbench, dices-350, dices-990, mathconverse,
    taxonomy."""
    dollar_maths: bool = False
    """Whether `$x$` is mathematics in conversations; `\\(x\\)`, `\\[x\\]` and `$$x$$` always are."""
    on_identity_leak: Literal["flag", "mask", "regenerate"] = "flag"
    """What becomes of a reply that tells which model wrote it: it is flagged in the log; or its telling words are
    masked as well; or the model is asked again, and masked if it tells again."""
    problems: dict[Slug, Source] = {}
    """The pools of problems, by the name under which `each` draws from them."""
    models: dict[str, Model] = {}
    """The models that reply, by the name under which the data know them."""
    currency: str = "USD"
    """The currency of the models' prices."""
    cost_limit: Annotated[float, Field(gt=0)] | None = None
    """What the replies to one participant may cost. Who has reached it can send no more messages, and goes on."""
    factors: dict[Slug, Factor] = {}
    """Given to each participant on arrival: balanced over all combinations, by who has completed or is taking part."""
    quotas: tuple[Cap, ...] = ()
    """How many are wanted, in all and with certain factors. `parley quota` changes them in a running study."""
    recruitment: Recruitment = Recruitment()
    """Where participants come from, and what becomes of who comes a second time."""
    outcomes: dict[OutcomeName, Ending] = {}
    """The last page and the completion code of each outcome; the last `finish` may hold those of `complete`."""
    session_limits: Times = Times()
    """How long a session may take, and how long a place is kept."""
    paste: Paste = "log"
    """What pasting into a box does where the box does not say: `allow` it unseen, `log` how much, or `block` it."""
    telemetry: bool = True
    """Whether times of reading and typing, pasting, copying and leaving the page are recorded, without any content; the
    consent tells it, and nothing is recorded before that is given."""
    ai_alone: Alone | None = None
    """How models are asked the same questions without people: `parley ai-alone`."""
    annotators: dict[Slug, Annotating] | None = None
    """Annotators of one's own, by name: what a model is asked about each finished conversation (`parley annotate`)."""
    bonus: tuple[Bonus, ...] = ()
    """What is paid on top, by rules; `parley payments` works it out."""
    flow: tuple[Node, ...]
    """What happens: phases, loops and steps, in order; the last is a `finish`."""
    schema_: str | None = Field(default=None, alias="$schema")
    """For editors only."""

    @property
    def offered(self) -> tuple[str, ...]:
        """The languages that people can choose from."""
        return self.languages or (self.language,)

    @field_validator("factors")
    @classmethod
    def _possible(cls, factors: dict[str, Any]) -> dict[str, Any]:
        for name, factor in factors.items():
            if not isinstance(factor, OneOf) and not any(weights(factor).values()):
                raise ValueError(f"{name!r} has no value that can be drawn")
        return factors


class ProtocolFile(Config):
    """What happens to one problem: a named, versioned list of steps that studies refer to."""

    protocol: Slug
    """Its name, by which studies refer to it."""
    version: Annotated[int, Field(ge=1)] = 1
    """Counted up with every change, so that a study can ask for the one it was written for: `name@2`."""
    about: str = ""
    """What it is for, and where it comes from."""
    flow: tuple[Node, ...]
    """Its steps, in order."""
    schema_: str | None = Field(default=None, alias="$schema")
    """For editors only."""


def weights(factor: tuple[str, ...] | Mapping[str, float]) -> dict[str, float]:
    """The values of a factor that is written out, each with its weight."""
    return dict(factor) if isinstance(factor, Mapping) else dict.fromkeys(factor, 1.0)


def tag_of(node: Any) -> str | None:
    """Which kind of node something is: phase, each, or the kind of step; None where it cannot be told."""
    if isinstance(node, Mapping):
        return next((key for key in ("phase", "each") if key in node), None) or node.get("step")
    return next((key for key in ("phase", "each") if hasattr(node, key)), None) or getattr(node, "step", None)


@cache
def models() -> Mapping[str, Any]:
    """The study file's and the protocol file's models, complete with every kind of step that is installed."""
    members = {**kinds(), "phase": Phase, "each": Each}
    union = Union[tuple(Annotated[cls, Tag(name)] for name, cls in members.items())]  # type: ignore[valid-type]  # noqa: UP007
    names = {"Node": Annotated[union, Discriminator(tag_of)]}
    for model in (Phase, Each, StudyFile, ProtocolFile):
        model.model_rebuild(force=True, _types_namespace=names)
    return MappingProxyType({"study": StudyFile, "protocol": ProtocolFile, "nodes": members})


Node = Any
"""A phase, an `each` or a step; `models()` puts the union of all of them in its place."""
