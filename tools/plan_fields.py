# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of a plan's fields into docs/reference, from the docstrings of the models: `make docs`.

A table stands below a comment such as `<!-- fields: SearchPlan -->`. That of several models, as in `<!-- fields:
BurstConfig ResetConfig -->`, says whose field each is. A docstring may end with `; default: RULE.` where the model does
not have the default.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from natxy.plan.model.json_schema import Schema, simplified
from natxy.plan.model.timing import PRESETS, TimingPlan
from natxy.plan.model.units import format_duration, format_share
from natxy.plan.written import Plan
from natxy.plan.yaml.schema import plan_schema
from tools.bench.speed_tables import put

_FOLDER: Final = Path("docs/reference")
PAGES: Final = (*sorted(_FOLDER.glob("plan*.md")), _FOLDER / "gateways.md")
_PLACE: Final = re.compile(r"<!-- (fields: (\w+(?: \w+)*)) -->")
_DOCSTRING: Final = re.compile(r"(?P<meaning>.+?)(?:; default: (?P<rule>.+))?\.")
# A sentence ends, and another one begins.
_SECOND_SENTENCE: Final = re.compile(r"(?<!e\.g)\. ")


def filled(page: str) -> str:
    """Returns the page with every table that it has a place for."""
    for place, models in _PLACE.findall(page):
        page = put(page, place, rows(*models.split()))
    return page


def rows(*models: str) -> Iterator[str]:
    """Yields the table as Markdown: a line for each field. Fields with the same texts share a line.

    Raises ValueError when a field has no docstring, or one of several sentences.
    """
    defaults = [f"`{preset}`" for preset in PRESETS] if models == (TimingPlan.__name__,) else ["default"]
    head = ["field", *(["of"] if len(models) > 1 else []), *defaults, "what it is"]
    yield f"| {' | '.join(head)} |"
    yield f"|{len(head) * '---|'}"
    alike: dict[tuple[str, ...], dict[str, list[str]]] = {}
    for model in models:
        for name, texts in _texts(model):
            alike.setdefault(texts, {}).setdefault(name, []).append(_selected_by(model))
    for texts, named in alike.items():
        owners = list(dict.fromkeys(owner for of_name in named.values() for owner in of_name))
        cells = [", ".join(map(_code, named)), *([", ".join(map(_code, owners))] if len(models) > 1 else []), *texts]
        yield f"| {' | '.join(cells)} |"


def _code(word: str) -> str:
    return f"`{word}`"


def _texts(model: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yields each field with its default, or that of each preset, and what it is. A field that selects the model is
    none."""
    definition = _definitions()[model]
    for name, field in definition["properties"].items():
        if "const" in field:
            continue
        text = " ".join(field.get("description", "").split())
        found = _DOCSTRING.fullmatch(text)
        if not found or _SECOND_SENTENCE.search(text):
            raise ValueError(f"{model}.{name}: expected a docstring of one sentence, got {text!r}")
        if model == TimingPlan.__name__:
            defaults = [_shown(getattr(preset, name), field) for preset in PRESETS.values()]
        elif "default" in field:
            defaults = [_shown(field["default"], field)]
        else:
            defaults = [found["rule"] or ("required" if name in definition.get("required", ()) else "–")]
        yield name, tuple(cell.replace("|", r"\|") for cell in (*defaults, found["meaning"]))


def _selected_by(model: str) -> str:
    """Returns the value by which a plan selects the model, such as `lab`; empty for a model that is not selected."""
    fields = _definitions()[model]["properties"].values()
    return next((str(field["const"]) for field in fields if "const" in field), "")


@cache
def _definitions() -> Mapping[str, Schema]:
    """Returns the objects of a plan by the names of their models. Some may be written as plain values, too."""
    # The schema for editors has lists of sweeps too, and calls no field required that `defaults` may give.
    every = {**simplified(Plan.model_json_schema())["$defs"], Plan.__name__: plan_schema()}
    forms = {name: next((form for form in _forms(node) if "properties" in form), None) for name, node in every.items()}
    return {name: form for name, form in forms.items() if form}


def _forms(node: Schema) -> list[Schema]:
    return [node, *node.get("anyOf", ())]


def _shown(value: Any, field: Schema) -> str:
    """Returns a default as a plan has it, in the unit of the field's type."""
    types = {form.get("$ref", "").rpartition("/")[2] for form in _forms(field)}
    match value:
        case None | "":
            return "–"
        case bool():
            return str(value).lower()
        case 0:
            return "0"
        case int() | float() if "Duration" in types:
            return format_duration(value)
        case int() | float() if "Share" in types:
            return format_share(value)
        case int() | float():
            return f"{value:,.10g}"
    return _code(value)


def main() -> None:
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
