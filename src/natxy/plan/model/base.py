# SPDX-License-Identifier: Apache-2.0
"""What every model of a plan is made of."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema


class PlanModel(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Shorthand:
    """Lets a scalar stand for a mapping with the one key `key`."""

    def __init__(self, key: str, *types: str) -> None:
        self._key = key
        self._types = types or ("string",)

    def _expand(self, given: object) -> object:
        return given if given is None or isinstance(given, dict | BaseModel) else {self._key: given}

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_before_validator_function(self._expand, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        full = handler(schema)
        if "discriminator" in full:
            return {"anyOf": [{"enum": list(full["discriminator"]["mapping"])}, full]}
        return {"anyOf": [*({"type": name} for name in self._types), full]}
