# SPDX-License-Identifier: Apache-2.0
"""Lists every field that a plan may have at any depth, from the schema of its models, and plans that have it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any, Final

from natxy.plan.model.json_schema import Schema, simplified
from natxy.plan.written import Plan
from natxy.plan.yaml.schema import alternatives

# The schema nests a list of pairs of ports with ssh so deeply; nothing in it refers to itself.
_DEEPEST: Final = 9

VALUES: Final[tuple[Any, ...]] = (
    None, True, 0, 5, -1, 1.5, 10**30, -(10**30), 1e308, float("nan"), float("inf"), date(2020, 1, 2),
    "", "x", "x" * 300, "5", "10.0.0.1", "10.0.0.1/24", "fd00::1", "fd00::1/64",
    [], ["x"], [1, 2], [None], [[1]], [{}], {}, {"x": 1}, {1: 2}, {"x": {"x": [1]}},
)  # fmt: skip
"""Has what somebody may write in any place: nothing, numbers, dates, texts, addresses of both families, lists and
mappings."""

_EXPERIMENT: Final = {
    "name": "first",
    "gateway": "nftables",
    "procedure": "throughput",
    "connections": 1000,
    "phase1_rate": "1k",
    "search": {"max_rate": "1M"},
}


@dataclass(frozen=True)
class PlanField:
    """Names a field; `within` has the path of the mapping that it is in, without the items of lists."""

    within: tuple[str, ...]
    name: str
    place: Callable[[Any], Any]

    def plan(self, value: Any) -> dict[str, Any]:
        """Returns a plan in which the field has this value, and all others are as plain as they can be."""
        placed: dict[str, Any] = self.place(value)
        match placed:
            case {"experiments": [{"gateway": {"driver": "simulated"}}]}:
                placed = {"testbed": {"kind": "simulated"}, **placed}
        match placed:
            case {"experiments": [dict(own)]}:
                placed = {**placed, "experiments": [{**_EXPERIMENT, **own}]}
        return {"name": "fields", "experiments": [_EXPERIMENT], **placed}


def plan_fields() -> list[PlanField]:
    """Returns every field of every model that a plan may be made of."""
    schema = simplified(Plan.model_json_schema())
    return [*_fields(schema, schema, (), lambda value: value)]


def _fields(schema: Schema, node: Schema, within: tuple[str, ...], place: Callable[[Any], Any]) -> Iterator[PlanField]:
    assert len(within) < _DEEPEST
    for form in alternatives(schema, [node]):
        if "items" in form:
            yield from _fields(schema, form["items"], within, lambda value: place([value]))
        fields = form.get("properties", {})
        # They select the model, as the driver does a gateway's.
        selectors = {name: field["const"] for name, field in fields.items() if "const" in field}
        for name, field in fields.items():
            own = _placed(place, selectors, name)
            yield PlanField(within, name, own)
            yield from _fields(schema, field, (*within, name), own)


def _placed(place: Callable[[Any], Any], selectors: Mapping[str, Any], name: str) -> Callable[[Any], Any]:
    return lambda value: place({**selectors, name: value})
