# SPDX-License-Identifier: Apache-2.0
"""The plan's JSON Schema, for editors and for the error messages of `load_plan`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from natxy.plan.model.frame_sizes import FRAME_SIZE_LISTS
from natxy.plan.written import Plan

Schema = dict[str, Any]
Path = tuple[str, ...]

# No experiment has these from `defaults`.
OWN_FIELDS: Final = frozenset({"name", "sweep", "cell"})


def plan_schema() -> Schema:
    """Of the YAML file: the model's schema plus what loading resolves: `defaults`, which it merges into every
    experiment, and lists, which it sweeps."""
    schema = Plan.model_json_schema()
    experiment = schema["$defs"]["ExperimentPlan"]
    # Several fields of an experiment may be of one model.
    for name, owner in {(path[-1], id(owner)): (path[-1], owner) for path, owner in _single_fields(schema)}.values():
        owner["properties"][name] = _or_list(owner["properties"][name])
    experiment["properties"]["frame_size"]["anyOf"].append({"enum": list(FRAME_SIZE_LISTS)})
    properties = {name: field for name, field in experiment["properties"].items() if name not in OWN_FIELDS}
    schema["$defs"]["Defaults"] = {
        "type": "object",
        "title": "Defaults",
        "description": "What every experiment has unless it says otherwise.",
        "additionalProperties": False,
        "properties": properties,
    }
    schema["properties"]["defaults"] = {"$ref": "#/$defs/Defaults"}
    rows = {"type": "array", "items": {"$ref": "#/$defs/Defaults"}, "minItems": 1}
    experiment["properties"]["sweep"]["anyOf"].append(rows)
    # Defaults may give what the model requires of an experiment.
    experiment["required"] = ["name"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "natxy plan"} | schema


def single_fields() -> frozenset[Path]:
    """The fields of an experiment, such as ("search", "max_rate"), that take a single value and may be swept."""
    return frozenset(path for path, _ in _single_fields(Plan.model_json_schema()))


def plan_schema_text() -> str:
    """What docs/reference/plan.schema.json holds."""
    return json.dumps(plan_schema(), indent=2, ensure_ascii=False) + "\n"


def field_names(schema: Schema, location: tuple[str | int, ...]) -> list[str]:
    """The fields that the mapping at `location` may have; parts that name no field or item are passed over."""
    candidates = [schema]
    for part in location:
        alternatives = _alternatives(schema, candidates)
        if isinstance(part, int):
            deeper = [node["items"] for node in alternatives if "items" in node]
        else:
            deeper = [node["properties"][part] for node in alternatives if part in node.get("properties", {})]
            if not deeper:
                # Pydantic names a discriminated union's member by its tag.
                deeper = [node for node in alternatives if _has_tag(schema, node, part)]
        candidates = deeper or candidates
    names = (name for node in _alternatives(schema, candidates) for name in node.get("properties", {}))
    return [*dict.fromkeys(names)]


def _single_fields(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """Each with the object that has it in its `properties`."""
    within: list[tuple[Path, Schema]] = [((), schema["$defs"]["ExperimentPlan"])]
    for path, owner in within:
        for name, field in owner.get("properties", {}).items():
            alternatives = _alternatives(schema, [field])
            if path or name not in OWN_FIELDS | {"title"}:
                within += [((*path, name), node) for node in alternatives if "properties" in node]
                if not any(node.get("type") == "array" for node in alternatives):
                    yield (*path, name), owner


def _or_list(field: Schema) -> Schema:
    about = {key: value for key, value in field.items() if key in {"default", "title", "description"}}
    one = {key: value for key, value in field.items() if key not in about}
    return {"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]} | about


def _alternatives(schema: Schema, nodes: list[Schema]) -> list[Schema]:
    """Follows references and unions to the plain schemas behind them."""
    plain: list[Schema] = []
    for node in nodes:
        if "$ref" in node:
            plain += _alternatives(schema, [schema["$defs"][node["$ref"].rsplit("/", 1)[1]]])
        elif union := node.get("anyOf") or node.get("oneOf") or node.get("allOf"):
            plain += _alternatives(schema, union)
        else:
            plain.append(node)
    return plain


def _has_tag(schema: Schema, node: Schema, tag: str) -> bool:
    """Also where the tag may be swept."""
    fields = node.get("properties", {}).values()
    return any(each.get("const") == tag for each in _alternatives(schema, [*fields]))


if __name__ == "__main__":
    print(plan_schema_text(), end="")
