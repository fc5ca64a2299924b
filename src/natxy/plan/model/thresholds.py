# SPDX-License-Identifier: Apache-2.0
"""Holds what a plan expects of an experiment's result, which decides the exit code of a run."""

from __future__ import annotations

import re
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, PlainSerializer, WithJsonSchema

from natxy.plan.model.base import PlanModel
from natxy.plan.model.json_schema import named
from natxy.plan.model.units import (
    Percent,
    Unit,
    is_number,
    meant_percent,
    parse_absolute_rate,
    parse_bit_rate,
    parse_count,
    parse_duration,
    parse_rate,
)
from natxy.untrusted.validation import got

_NS_PER_S: Final = 1e9
_RATIO: Final = re.compile(r"\d{1,5}(\.\d{1,9})?\s*%", re.ASCII)


def parse_percent(given: object) -> Percent:
    """Reads `5%`, above 0 % and up to 100 %."""
    if isinstance(given, Percent):
        return given
    if isinstance(given, str) and given.rstrip().endswith("%") and isinstance(percent := parse_rate(given), Percent):
        return percent
    raise ValueError(f"expected a percentage such as 5%{got(given)}{meant_percent(given)}")


def _quantity(given: object) -> float | str:
    if is_number(given) or isinstance(given, str):
        return given
    raise ValueError(f"expected a quantity such as 300k, 3ms or 5%{got(given)}")


Quantity = Annotated[
    float | str,
    BeforeValidator(_quantity),
    WithJsonSchema(
        named("Quantity", {"anyOf": [{"type": "number"}, {"type": "string", "description": "such as 300k, 3ms or 5%"}]})
    ),
]
"""A value in the unit of a figure that the procedure decides, as written."""

_PERCENT_SCHEMA: Final = WithJsonSchema(
    named("Percentage", {"type": "string", "pattern": r"^\d[\d_.eE+-]*\s*%$", "description": "as 5%"})
)
WrittenPercent = Annotated[Percent, BeforeValidator(parse_percent), PlainSerializer(str), _PERCENT_SCHEMA]


def _parse_ratio(given: object) -> Percent:
    """Reads `130%`, above 0 % and below 100,000 %."""
    if isinstance(given, Percent):
        return given
    if isinstance(given, str) and _RATIO.fullmatch(given.strip()) and (value := float(given.strip().rstrip("% "))):
        return Percent(value)
    raise ValueError(f"expected a percentage such as 130%{got(given)}")


WrittenRatio = Annotated[Percent, BeforeValidator(_parse_ratio), PlainSerializer(str), _PERCENT_SCHEMA]


class NoWorseThan(PlanModel):
    """An earlier run of the same experiment, and how much worse the result may be."""

    baseline: Annotated[str, Field(min_length=1)]
    """Folder of the earlier run, seen from where natxy is started."""
    by: WrittenPercent
    """Share of the earlier median that a rate may lose, or a time or a loss may gain."""


class Thresholds(PlanModel):
    """Thresholds of the headline. A run ends with exit code 6 if the interval of a result lies beyond one of them."""

    at_least: Quantity | None = None
    """Smallest median, in the headline's unit, e.g. 300k, 3ms or 5%."""
    at_most: Quantity | None = None
    """Largest median, in the headline's unit."""
    ratio_at_least: WrittenPercent | None = None
    """Smallest median of the shares of the `baseline`."""
    ratio_at_most: WrittenRatio | None = None
    """Largest median of the shares of the `baseline`, for a figure that is better when it is lower."""
    no_worse_than: NoWorseThan | None = None
    """Folder of an earlier run, and by how much a median may be worse."""

    @property
    def ratios(self) -> tuple[tuple[str, Percent], ...]:
        """The thresholds of the shares of the baseline, by the names of their fields."""
        given = (("ratio_at_least", self.ratio_at_least), ("ratio_at_most", self.ratio_at_most))
        return tuple((name, share) for name, share in given if share is not None)

    def without_ratio(self) -> Thresholds | None:
        """Returns what is expected without a baseline; None if that is nothing."""
        left = self.model_copy(update={"ratio_at_least": None, "ratio_at_most": None})
        return left if any(value is not None for _, value in left) else None


def quantity_in(unit: Unit, given: float | str) -> float:
    """Returns a quantity as written in a figure's unit. Raises ValueError when it is of another kind."""
    match unit:
        case Unit.FPS | Unit.CPS | Unit.QPS | Unit.HZ:
            return parse_absolute_rate(given)
        case Unit.BPS:
            return parse_bit_rate(given)
        case Unit.SECONDS:
            return parse_duration(given)
        case Unit.NS:
            return _NS_PER_S * parse_duration(given)
        case Unit.PERCENT:
            return 0.0 if _is_zero(given, "%") else parse_percent(given).value
        case Unit.FRAMES | Unit.SEGMENTS | Unit.CONNECTIONS | Unit.BINDINGS_PER_S | Unit.INSTRUCTIONS | Unit.CYCLES:
            return 0.0 if _is_zero(given) else parse_count(given)


def _is_zero(given: float | str, sign: str = "") -> bool:
    """Returns whether a 0 is written, which elsewhere no percentage and no count may be."""
    text = str(given).strip()
    return text.endswith(sign) and text.removesuffix(sign).strip() in {"0", "0.0"}
