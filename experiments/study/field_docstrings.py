"""The docstrings under the fields of models, read from their source only where they are shown: pydantic would read them
whenever a class is made, a tenth of each start."""

from __future__ import annotations

import ast
import inspect
from itertools import pairwise
from textwrap import dedent
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue


def field_docstrings(model: type[BaseModel]) -> dict[str, str]:
    """By field, those of the classes that it extends too; none of a class whose source is not there."""
    found: dict[str, str] = {}
    for cls in reversed(model.__mro__):
        if issubclass(cls, BaseModel) and cls is not BaseModel:
            found |= _own(cls)
    return found


def _own(cls: type[BaseModel]) -> dict[str, str]:
    found: dict[str, str] = {}
    try:
        source = inspect.getsource(cls)
    except OSError:
        return found
    for pair in pairwise(ast.iter_child_nodes(ast.parse(dedent(source)).body[0])):
        match pair:
            case (ast.AnnAssign(target=ast.Name(name)), ast.Expr(value=ast.Constant(str(text)))):
                found[name] = inspect.cleandoc(text)
            case _:
                pass
    return found


def describe(schema: JsonSchemaValue, model: type[BaseModel]) -> JsonSchemaValue:
    """A model's JSON Schema in which the docstring of a field is its description."""
    for name, text in field_docstrings(model).items():
        schema["properties"][model.model_fields[name].alias or name]["description"] = text
    return schema


class DocumentedSchema(GenerateJsonSchema):
    def model_schema(self, schema: Any) -> JsonSchemaValue:
        return describe(super().model_schema(schema), schema["cls"])
