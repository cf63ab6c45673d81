"""The attachments of participants' messages, and their limits."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, Tag

from experiments.study.base_model import StrictModel
from experiments.study.sections.model_spec import ONE_OR_EACH, PickByFactor

Attachable = Literal["image"]
Kinds = tuple[Attachable, ...]


class KindsByFactor(PickByFactor[Kinds]):
    """The kinds that can be attached for each value of a factor or of a loop's variable."""


Attach = Annotated[Annotated[Kinds, Tag("one")] | Annotated[KindsByFactor, Tag("each")], ONE_OR_EACH]


class AttachLimits(StrictModel):
    """The limits of the number and of the size of participants' pictures."""

    per_message: Annotated[int, Field(ge=1, le=10)] = 3
    """The maximum number of pictures of a message."""
    max_mb: Annotated[float, Field(gt=0, le=20)] = 10
    """The largest file that participants can choose, in megabytes."""
    max_side_px: Annotated[int, Field(ge=64, le=4096)] = 1568
    """The maximum width and height of a stored picture in pixels. Larger ones are made smaller."""
    max_resent: Annotated[int, Field(ge=1, le=50)] = 10
    """The number of a conversation's pictures that the model is sent with each message: the newest. Of earlier ones it
    reads that they were there."""
