# SPDX-License-Identifier: Apache-2.0
"""The JSON Schema of a plan, for editors, for the fields that may be swept, and for error messages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from natxy.plan.model.json_schema import Schema, schema_text, simplified, without_null
from natxy.plan.model.problems import Location
from natxy.plan.written import Plan
from natxy.plan.yaml.frame_size_lists import FRAME_SIZE_LISTS

Path = tuple[str, ...]
"""The path of a field within an experiment, such as ("gateway", "conntrack_max")."""

# Fields that an experiment cannot take from `defaults`.
OWN_FIELDS: Final = frozenset({"name", "sweep", "cell", "whole"})
_EXPERIMENT: Final = "ExperimentPlan"
_ANY_DRIVER: Final = ""


@cache
def plan_schema() -> Schema:
    """Returns the schema of the YAML file.

    It extends the schema of the model by what loading resolves: `defaults`, which it merges into every experiment, and
    lists, which it sweeps.
    """
    schema = simplified(Plan.model_json_schema())
    experiment = schema["$defs"][_EXPERIMENT]
    # Several fields of an experiment may share a model.
    for name, owner in {(path[-1], id(owner)): (path[-1], owner) for path, owner in _single_fields(schema)}.values():
        owner["properties"][name] = _one_or_list(schema, owner["properties"][name])
    fields = experiment["properties"]
    fields["frame_size"]["anyOf"].append({"enum": [*FRAME_SIZE_LISTS]})
    schema["$defs"]["Defaults"] = {
        "type": "object",
        "description": "Settings of every experiment that does not give its own.",
        "additionalProperties": False,
        "properties": {
            name: {"$ref": f"#/$defs/{_EXPERIMENT}/properties/{name}"} for name in fields if name not in OWN_FIELDS
        },
    }
    schema["properties"]["defaults"] = {
        "$ref": "#/$defs/Defaults",
        "description": "Fields of every experiment that does not give its own; default: none.",
    }
    fields["sweep"]["anyOf"].append({"type": "array", "items": {"$ref": "#/$defs/Defaults"}, "minItems": 1})
    # `defaults` may give the other fields that the model requires.
    experiment["required"] = ["name"]
    schema["$defs"] = dict(sorted(schema["$defs"].items()))
    return schema


def takes_single_value(path: Path, driver: str) -> bool:
    """Returns whether a field of an experiment, such as ("search", "max_rate"), takes a single value and may be swept.

    A field with a single value in one gateway may be a list of commands in another, which the `driver` decides.
    """
    return not _takers().get(path, frozenset()).isdisjoint({_ANY_DRIVER, driver})


@cache
def _takers() -> Mapping[Path, frozenset[str]]:
    """Returns the drivers of gateways with which each field takes a single value; _ANY_DRIVER elsewhere."""
    found: dict[Path, frozenset[str]] = {}
    for path, owner in _single_fields(simplified(Plan.model_json_schema())):
        driver = owner["properties"].get("driver", {}).get("const", _ANY_DRIVER)
        found[path] = found.get(path, frozenset()) | {driver}
    return found


def plan_schema_text() -> str:
    """Returns the text of docs/reference/plan.schema.json."""
    return schema_text("natxy plan", plan_schema())


def field_names(schema: Schema, location: Location) -> list[str]:
    """Returns the fields that the mapping at `location` may have. Parts that name no field or item are skipped."""
    return [*dict.fromkeys(name for node in _at(schema, location) for name in node.get("properties", {}))]


def texts(schema: Schema, location: Location) -> list[str]:
    """Returns the texts that the field at `location` may be, if it takes only certain ones."""
    return [text for node in _at(schema, location) for text in (node.get("enum") or [node.get("const")]) if text]


def _at(schema: Schema, location: Location) -> list[Schema]:
    """Returns the plain schemas of the value at `location`. Parts that name no field or item are skipped."""
    candidates = [schema]
    for part in location:
        forms = alternatives(schema, candidates)
        if isinstance(part, int):
            deeper = [node["items"] for node in forms if "items" in node]
        else:
            # Pydantic names the member of a discriminated union by its tag, which another member may have as a field.
            deeper = [node for node in forms if _has_tag(schema, node, part)] if len(forms) > 1 else []
            deeper = deeper or [node["properties"][part] for node in forms if part in node.get("properties", {})]
            deeper = deeper or [node for node in forms if _has_tag(schema, node, part)]
        candidates = deeper or candidates
    return alternatives(schema, candidates)


def _single_fields(schema: Schema) -> Iterator[tuple[Path, Schema]]:
    """Yields the fields that take a single value and may be swept, each with the object whose property it is."""
    within: list[tuple[Path, Schema]] = [((), schema["$defs"][_EXPERIMENT])]
    for path, owner in within:
        for name, field in owner.get("properties", {}).items():
            forms = alternatives(schema, [field])
            if path or name not in OWN_FIELDS | {"title", "boxes_alone"}:
                within += [((*path, name), node) for node in forms if "properties" in node]
                if not any(node.get("type") == "array" for node in forms):
                    yield (*path, name), owner


def _one_or_list(schema: Schema, field: Schema) -> Schema:
    """Returns the field's schema, extended by a list of its values. A value that has a definition gets a second one."""
    if "const" in field:
        # It selects the model, and another value would select another model.
        return field
    about = {key: value for key, value in field.items() if key in {"default", "description"}}
    plain, null = without_null({key: value for key, value in field.items() if key not in about})
    one: Schema = plain[0] if len(plain) == 1 else {"anyOf": plain}
    either = [*plain, {"type": "array", "items": one, "minItems": 1}]
    if reference := one.get("$ref"):
        definition = f"{reference.rsplit('/', 1)[1]}OrList"
        schema["$defs"][definition] = {"anyOf": either}
        either = [{"$ref": f"#/$defs/{definition}"}]
    forms = [*either, *null]
    return (forms[0] if len(forms) == 1 else {"anyOf": forms}) | about


def alternatives(schema: Schema, nodes: list[Schema]) -> list[Schema]:
    """Follows references and unions to the plain schemas behind them."""
    plain: list[Schema] = []
    for node in nodes:
        if "$ref" in node:
            plain += alternatives(schema, [_target(schema, node["$ref"])])
        elif union := node.get("anyOf") or node.get("allOf"):
            plain += alternatives(schema, union)
        else:
            plain.append(node)
    return plain


def _target(schema: Schema, reference: str) -> Schema:
    """Returns the schema that a reference such as `#/$defs/Defaults` points to."""
    node = schema
    for part in reference.split("/")[1:]:
        node = node[part]
    return node


def _has_tag(schema: Schema, node: Schema, tag: str) -> bool:
    """Reports whether the object has a field with the constant `tag`, as a value or in a list."""
    fields = node.get("properties", {}).values()
    return any(each.get("const") == tag for each in alternatives(schema, [*fields]))


if __name__ == "__main__":
    print(plan_schema_text(), end="")
