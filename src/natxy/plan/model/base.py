# SPDX-License-Identifier: Apache-2.0
"""The base class of a plan's models, and annotations for fields with a short form or with a pattern."""

from __future__ import annotations

import ast
import inspect
import itertools
import re
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from natxy.plan.model.json_schema import named, without_null
from natxy.untrusted.validation import got


class PlanModel(BaseModel):
    """Forbids unknown fields, and cannot be changed.

    The docstring of a field is its description in the JSON Schema, and in the tables that tools/plan_fields.py writes:
    one sentence, which ends with `; default: RULE.` where the model does not have the default.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    # pydantic can do this too, but at each start of natxy, for all models: that takes a fifth of a second.
    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        own = handler(schema)
        fields = handler.resolve_ref_schema(own).get("properties", {})
        for name, text in _docstrings(cls).items():
            if name in fields:
                fields[name]["description"] = text
        return own


@cache
def _docstrings(model: type[PlanModel]) -> dict[str, str]:
    """Returns the docstrings of a model's fields by name. They stand below the fields in the source."""
    found: dict[str, str] = {}
    for each in reversed(model.__mro__):
        if not issubclass(each, PlanModel):
            continue
        for field, text in itertools.pairwise(_definitions(each.__module__)[each.__name__].body):
            match field, text:
                case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(docstring))):
                    found[name] = inspect.cleandoc(docstring)
    return found


# For a single class, `inspect.getsource` parses the whole file.
@cache
def _definitions(module: str) -> dict[str, ast.ClassDef]:
    """Returns the classes that a module defines, by name."""
    source = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in ast.walk(source) if isinstance(node, ast.ClassDef)}


class Shorthand:
    """Accepts a plain value for a model, as the value of its field `key`: `gateway: nftables`.

    `definition` names both forms together in the JSON Schema.
    """

    def __init__(self, key: str, definition: str) -> None:
        self._key = key
        self._definition = definition

    def _expand(self, given: object) -> object:
        return given if given is None or isinstance(given, dict | BaseModel) else {self._key: given}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        if "discriminator" in full:
            plain: JsonSchemaValue = {"enum": [*full["discriminator"]["mapping"]]}
        else:
            field = handler.resolve_ref_schema(full)["properties"][self._key]
            value = {key: value for key, value in field.items() if key not in {"default", "description"}}
            [plain], _ = without_null(value)
        return named(self._definition, {"anyOf": [plain, full]})


class Pattern:
    """Requires text that matches the regular expression as a whole; `expected` describes it in errors and editors."""

    def __init__(self, pattern: str, expected: str) -> None:
        self._pattern = pattern
        self._expected = expected

    def _matching(self, given: str) -> str:
        if not re.fullmatch(self._pattern, given):
            raise ValueError(f"expected {self._expected}{got(given)}")
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._matching, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^{self._pattern}$", "description": self._expected}
