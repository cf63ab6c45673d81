"""The JSON Schema of study and protocol files, for completion and validation in editors."""

from __future__ import annotations

from typing import Any, Literal

from experiments.study.schema import models

TITLES = {"study": "A Parley study", "protocol": "A Parley protocol"}


def json_schema(kind: Literal["study", "protocol"]) -> dict[str, Any]:
    schema: dict[str, Any] = models()[kind].model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": TITLES[kind]}
