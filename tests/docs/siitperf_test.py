# SPDX-License-Identifier: Apache-2.0
"""Tests that the tables for siitperf's users name every key of siitperf.conf, and fields that plans have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from natxy.plan.yaml.schema import field_names, plan_schema
from natxy_siitperf.keys import KEYS
from natxy_siitperf.program import PROCEDURES
from natxy_siitperf.trial.usage import VARIABLES
from tests.support.pages import REPOSITORY

_TEXT: Final = (REPOSITORY / "docs" / "how-to" / "from-siitperf.md").read_text(encoding="utf-8")
# Where the tables' fields are: in the plan, its testbed and times, and within an experiment.
_EXPERIMENT: Final = ("experiments", 0)
_PLACES: Final[list[tuple[str | int, ...]]] = [
    (), ("testbed",), ("testbed", "left"), ("timing",), _EXPERIMENT, (*_EXPERIMENT, "gateway"),
    (*_EXPERIMENT, "procedure"), (*_EXPERIMENT, "addresses"), (*_EXPERIMENT, "addresses", "left"),
]  # fmt: skip
# What the tables quote besides: commands, a folder, numbers, and siitperf's own words.
_NO_FIELDS: Final = re.compile(r"natxy .*|runs|\d+|Stateful|to|xpts|delay")
_YAML: Final = YAML(typ="safe")


def rows(title: str) -> list[list[str]]:
    """Returns the cells of the table whose first column has a title."""
    table = re.search(rf"^\| {re.escape(title)} \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", _TEXT, re.MULTILINE)
    assert table
    return [row.strip("| ").split(" | ") for row in table[1].splitlines()]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def words_of_schema(node: object) -> Iterator[str]:
    """Yields the values that a schema allows by name."""
    if isinstance(node, Mapping):
        yield from (str(each) for each in (*node.get("enum", []), *([node["const"]] if "const" in node else [])))
        for each in node.values():
            yield from words_of_schema(each)
    elif isinstance(node, list):
        for each in node:
            yield from words_of_schema(each)


@cache
def words() -> frozenset[str]:
    return frozenset(words_of_schema(plan_schema()))


def is_field(text: str) -> bool:
    """Returns whether a field, with those within it, is one of a plan: `search: {max_rate}`."""
    written = _YAML.load(text)
    fields = written if isinstance(written, dict) else {text: None}
    return any(_fit(fields, place) for place in _PLACES)


def _fit(fields: Mapping[str, object], place: tuple[str | int, ...]) -> bool:
    known = field_names(plan_schema(), place)
    deeper = {name: within for name, within in fields.items() if isinstance(within, dict)}
    return {*fields} <= {*known} and all(_fit(within, (*place, name)) for name, within in deeper.items())


def test_the_table_of_keys_has_every_key() -> None:
    patterns = [
        name.split()[0].replace("…", ".+") for first, _ in rows("key of siitperf.conf") for name in quoted(first)
    ]
    unknown = [each for each in patterns if not any(re.fullmatch(each, key) for key in KEYS)]
    missing = [key for key in KEYS if not any(re.fullmatch(each, key) for each in patterns)]
    assert (unknown, missing) == ([], [])


@pytest.mark.parametrize("title", ["key of siitperf.conf", "argument", "script", "variable"])
def test_the_tables_name_fields_that_plans_have(title: str) -> None:
    for first, *_, last in rows(title):
        for text in quoted(last):
            assert is_field(text) or text in words() or _NO_FIELDS.fullmatch(text), (first, text)


def test_values_in_the_tables_are_those_of_plans() -> None:
    validator = Draft202012Validator(plan_schema())
    written = [
        text for title in ("key of siitperf.conf", "script") for *_, last in rows(title) for text in quoted(last)
    ]
    for text in written:
        fields = _YAML.load(text)
        if isinstance(fields, dict) and re.search(r": [^{]", text):
            assert validator.is_valid({"name": "plan", "experiments": [{"name": "one", **fields}]}), text


def test_the_table_of_scripts_has_every_procedure() -> None:
    named = [quoted(last)[0] for _, last in rows("script") if quoted(last)]
    of_scripts = {name for *_, last in rows("script") for name in quoted(last) if name in PROCEDURES}
    assert {*named} <= of_scripts == {*PROCEDURES}


# All that siitperf comes with.
_SCRIPTS: Final = {
    "binary-rate-alg.sh", "binary-rate-alg.sh-pdv", "binary-rate-alg.sh-sf", "binary-rate-alg.sh-R",
    "frame-loss.sh-scan", "latency.sh", "pdv.sh", "cttc.sh", "dpdk-bind-interfaces", "abort",
}  # fmt: skip
# The variables of each script, by the names that the table gives to scripts; D is calculated within them.
_COMMON: Final = {"impl", "no_exp", "to", "n", "m", "sleept", "res_dir"}
_SEARCH: Final = {*_COMMON, "fs", "dir", "max", "xpts", "e"}
_VARIABLES: Final = {
    "rate": _SEARCH,
    "-pdv": _SEARCH | {"fto"},
    "-sf": _SEARCH | {"N", "M", "R", "T", "D"},
    "-R": _COMMON | {"fs", "max", "e", "N", "M", "T", "D"},
    "loss": _COMMON | {"fsizes", "dir", "xpts", "rate_start", "rate_end", "rate_step"},
    "latency": _COMMON | {"fs", "dir", "xpts", "r", "delay", "tags"},
    "pdv": _COMMON | {"fs", "dir", "xpts", "r"},
    "cttc.sh": _COMMON | {
        "fs", "C0", "alpha", "beta", "gamma", "E", "e", "max", "conntrack", "x", "timeout", "T", "D", "DUT_IP",
    },
}  # fmt: skip
# What belongs to traffic over connections, of which these scripts measure none.
_MEASURING_CONNECTIONS: Final = ("-R", "cttc.sh")
_OF_TRAFFIC: Final = {"trial", "background", "learning_pause", "active_connections", "directions", "phase1_rate"}


def test_the_table_of_scripts_has_every_script() -> None:
    scripts = {name for first, _ in rows("script") for name in re.split(", ", first)}
    assert scripts - {"none; by hand", "from the duration of a deletion"} == _SCRIPTS


def scripts_of(cell: str) -> set[str]:
    """Returns the scripts that a cell names: `all`, `all but -R, cttc.sh` or `-sf, -R`."""
    named = {*re.sub("^all(?: but )?", "", cell).split(", ")} - {""}
    assert named <= {*_VARIABLES}, cell
    return {*_VARIABLES} - named if cell.startswith("all") else named


@pytest.mark.parametrize("script", _VARIABLES)
def test_the_table_of_variables_has_those_of_each_script_once(script: str) -> None:
    named = [name for first, where, _ in rows("variable") if script in scripts_of(where) for name in quoted(first)]
    assert sorted(named) == sorted(_VARIABLES[script])


def fields_of(script: str) -> list[str]:
    """Returns the fields, or those within `search` and `timing`, that the rows of a script begin with."""
    cells = [last for _, where, last in rows("variable") if script in scripts_of(where)]
    return [re.findall(r"\w+", quoted(cell)[0])[-1] for cell in cells if cell.startswith("`")]


@pytest.mark.parametrize("script", _VARIABLES)
def test_no_two_rows_of_a_script_give_the_same_field(script: str) -> None:
    fields = fields_of(script)
    assert len(fields) == len({*fields})


@pytest.mark.parametrize("script", _MEASURING_CONNECTIONS)
def test_scripts_that_measure_connections_give_no_field_of_traffic(script: str) -> None:
    cells = [last for _, where, last in rows("variable") if script in scripts_of(where)]
    found = {word for cell in cells for text in quoted(cell) for word in re.findall(r"\w+", text)}
    assert not found & _OF_TRAFFIC


def test_the_table_of_variables_has_all_that_the_programs_read() -> None:
    named = [name for first, _ in rows_of_programs() for name in quoted(first)]
    assert named == [*VARIABLES]


def rows_of_programs() -> list[list[str]]:
    """Returns the cells of the table of variables whose names begin with NATXY_SIITPERF_."""
    return [row.strip("| ").split(" | ") for row in re.findall(r"^\| `NATXY_SIITPERF_.*\|$", _TEXT, re.MULTILINE)]
