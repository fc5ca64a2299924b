# SPDX-License-Identifier: Apache-2.0
"""The base class of a plan's models, and annotations for fields with a short form or with a pattern."""

from __future__ import annotations

import re
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from natxy.plan.model.json_schema import named, without_null


class PlanModel(BaseModel):
    """Forbids unknown fields, and cannot be changed. The docstring of a field is its description in the JSON Schema."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


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
            raise ValueError(f"expected {self._expected}, got {given!r}")
        return given

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._matching, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return handler(schema) | {"pattern": f"^{self._pattern}$", "description": self._expected}
