# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.model.problems import PlanProblems, field_path
from natxy.plan.model.thresholds import Thresholds, quantity_in
from natxy.plan.model.units import Percent, Unit
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


@pytest.mark.parametrize(
    ("unit", "written", "value", "wrong"),
    [
        (Unit.FPS, "300k", 300e3, "3ms"),
        (Unit.CPS, "1.5M", 1.5e6, "5%"),
        (Unit.BPS, "10Gbps", 10e9, "5%"),
        (Unit.SECONDS, "3ms", 0.003, "300k"),
        (Unit.NS, "3ms", 3e6, "5%"),
        (Unit.PERCENT, "5%", 5, 5),
        (Unit.PERCENT, "0 %", 0, 0),
        (Unit.FRAMES, "10k", 10_000, "1.5"),
        (Unit.FRAMES, 0, 0, "0%"),
        (Unit.FRAMES, "0", 0, ""),
        (Unit.SEGMENTS, 7, 7, "5%"),
        (Unit.CONNECTIONS, "4M", 4_000_000, "3ms"),
    ],
)
def test_a_quantity_is_in_the_unit_of_its_figure(unit: Unit, written: Any, value: float, wrong: Any) -> None:
    assert quantity_in(unit, written) == pytest.approx(value)
    with pytest.raises(ValueError, match="expected"):
        quantity_in(unit, wrong)


@pytest.mark.parametrize(
    ("accepted", "refused"),
    [
        ({"at_least": 5}, {"at_least": True}),
        ({"at_most": "3ms"}, {"at_most": ["3ms"]}),
        ({"ratio_at_least": "100%"}, {"ratio_at_least": 60}),
        ({"ratio_at_least": " 60 % "}, {"ratio_at_least": "101%"}),
        ({"no_worse_than": {"baseline": "runs/a", "by": "5%"}}, {"no_worse_than": {"baseline": "", "by": "5%"}}),
        ({"no_worse_than": {"baseline": "runs/a", "by": "5%"}}, {"no_worse_than": {"baseline": "runs/a"}}),
    ],
)
def test_what_may_be_expected(accepted: dict[str, Any], refused: dict[str, Any]) -> None:
    Thresholds.model_validate(accepted)
    with pytest.raises(ValidationError):
        Thresholds.model_validate(refused)


def test_without_a_ratio_the_rest_remains() -> None:
    both = Thresholds.model_validate({"ratio_at_least": "60%", "ratio_at_most": "90%", "at_least": "1k"})
    assert both.without_ratio() == Thresholds(at_least="1k")
    assert Thresholds.model_validate({"ratio_at_least": "60%"}).without_ratio() is None


def problems(expect: dict[str, Any], **fields: Any) -> dict[str, str]:
    base = {"gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "1M"}}
    experiments = [base | {"name": "base"}, base | {"name": "x", "expect": expect} | fields]
    try:
        resolve(Plan.model_validate({"name": "p", "experiments": experiments}))
    except PlanProblems as found:
        return {field_path(each.location).removeprefix("experiments[1]."): each.message for each in found.problems}
    return {}


@pytest.mark.parametrize(
    ("expect", "fields", "found"),
    [
        ({"at_least": "300k", "at_most": "400k"}, {}, []),
        ({"ratio_at_least": "60%"}, {"baseline": "base"}, []),
        ({"ratio_at_least": "60%"}, {}, ["expect.ratio_at_least"]),
        ({"ratio_at_most": "130%"}, {}, ["expect.ratio_at_most"]),
        ({}, {}, ["expect"]),
        ({"at_least": "3ms"}, {}, ["expect.at_least"]),
        ({"at_least": "300k", "at_most": "5%"}, {}, ["expect.at_most"]),
    ],
)
def test_an_expectation_fits_the_headline(expect: dict[str, Any], fields: dict[str, Any], found: list[str]) -> None:
    assert [*problems(expect, **fields)] == found


def test_the_limit_of_which_figure_is_said() -> None:
    said = problems({"at_least": "3ms"})["expect.at_least"]
    assert (
        said == "expected a rate such as 1.5M, 812 kfps, 1_000_000 or 50%, got '3ms'; it is the limit of 'Throughput'"
    )


@pytest.mark.parametrize("given", ["0%", "-5%", "1e3%", "130", 130, None, "100000%"])
def test_a_ratio_may_be_more_than_the_baseline(given: object) -> None:
    found = Thresholds.model_validate({"ratio_at_most": " 132.5 % "})
    assert found.ratios == (("ratio_at_most", Percent(132.5)),)
    assert Thresholds.model_validate(found.model_dump()) == found
    if given is not None:
        with pytest.raises(ValidationError, match="expected a percentage such as 130%"):
            Thresholds.model_validate({"ratio_at_most": given})
