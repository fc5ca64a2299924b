# SPDX-License-Identifier: Apache-2.0
"""Makes JSON Schemas short enough to read: shared definitions, no generated titles, short values on one line."""

from __future__ import annotations

import json
from typing import Any, Final

Schema = dict[str, Any]

_DIALECT: Final = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
_DEFINITION: Final = "x-definition"
_NULL: Final = {"type": "null"}
_LINE_LENGTH: Final = 120


def named(name: str, schema: Schema) -> Schema:
    """Marks a schema that `simplified` moves to `$defs/NAME` from every field that has it."""
    return {_DEFINITION: name, **schema}


def without_null(schema: Schema) -> tuple[list[Schema], list[Schema]]:
    """Returns the forms of a value, and the one for null, if the schema allows it."""
    forms = schema["anyOf"] if _NULL in schema.get("anyOf", ()) else [schema]
    return [form for form in forms if form != _NULL], [form for form in forms if form == _NULL]


def simplified(schema: Schema) -> Schema:
    """Returns the schema with every `named` part in `$defs`.

    It lacks pydantic's titles, which repeat the names, and defaults that are null or mappings.

    Unions of models become `anyOf`: with `oneOf`, a mapping without the field that selects the model would fit several
    models and be rejected. In a plan, that field may come from the defaults.
    """
    definitions: dict[str, Schema] = {}

    def simple(node: Any) -> Any:
        if isinstance(node, list):
            return [simple(item) for item in node]
        if not isinstance(node, dict):
            return node
        own: Schema = {}
        for key, value in node.items():
            if key in {"properties", "$defs"}:
                own[key] = {name: simple(field) for name, field in value.items()}
            elif key == "oneOf":
                own["anyOf"] = simple(value)
            elif key == "default":
                own |= {key: value} if value is not None and not isinstance(value, dict | list) else {}
            elif key not in {"title", "discriminator"}:
                own[key] = simple(value)
        if name := own.pop(_DEFINITION, None):
            about = {key: own.pop(key) for key in ("default", "description") if key in own}
            definitions[name] = own
            return {"$ref": f"#/$defs/{name}"} | about
        return own

    result: Schema = simple(schema)
    return result | {"$defs": dict(sorted((result.get("$defs", {}) | definitions).items()))}


def schema_text(title: str, schema: Schema) -> str:
    """Returns the text of a schema file. Objects and lists that fit a line are not broken."""
    return _broken(_DIALECT | {"title": title} | schema, indent=0, used=0) + "\n"


def _broken(value: Any, indent: int, used: int) -> str:
    """Breaks a value that starts in column `used` of a line which is indented by `indent`."""
    line = json.dumps(value, ensure_ascii=False)
    # A comma may follow.
    if used + len(line) < _LINE_LENGTH or not isinstance(value, dict | list) or not value:
        return line
    margin, inner = " " * indent, indent + 2
    if isinstance(value, list):
        parts = [_broken(item, inner, inner) for item in value]
        left, right = "[]"
    else:
        keys = [f"{json.dumps(key, ensure_ascii=False)}: " for key in value]
        parts = [key + _broken(item, inner, inner + len(key)) for key, item in zip(keys, value.values(), strict=True)]
        left, right = "{}"
    return left + "".join(f"\n{margin}  {part}," for part in parts).rstrip(",") + f"\n{margin}{right}"
