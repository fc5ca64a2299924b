# SPDX-License-Identifier: Apache-2.0
"""Quantities: reads them as people write them in a plan, and formats them for people.

Rates are frames or connections per second, durations are seconds, bit rates are bits per second. A percentage stays a
`Percent` until its base is known.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, TypeGuard

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from natxy.plan.model.json_schema import named
from natxy.untrusted.validation import got

_NUMBER = r"(?P<number>\d[\d_]*(?:\.[\d_]+)?(?:[eE][+-]?\d+)?)"
_SCALES = {"": 1.0, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9}
# No wire carries more, and no trial lasts longer; the counters of a trial then fit into 64 bits.
_MOST_FPS: Final = 1e12
_MOST_BPS: Final = 1e15
_MOST_COUNTED: Final = 10**15
LONGEST_DURATION_S: Final = 30 * 86_400.0
# Smaller values are mistakes, and their reciprocals may be infinite.
_LEAST_FPS: Final = 1e-3
_LEAST_BPS: Final = 1.0
_SHORTEST_DURATION_S: Final = 1e-9
_RATE = re.compile(_NUMBER + r"\s*(?P<scale>[kKMG]?)\s*(?:fps|pps|cps)?")
_PERCENT = re.compile(_NUMBER + r"\s*%")
_COUNT = re.compile(_NUMBER + r"\s*(?P<scale>[kKMG]?)")
_BIT_RATE = re.compile(_NUMBER + r"\s*(?P<scale>[kKMG]?)\s*(?:bps|bit/s)?")
_DURATION = re.compile(_NUMBER + r"\s*(?P<unit>ns|us|µs|ms|s|min|h)?")
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_NS_STEPS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"))
# 999.5 ms and more would round to 1000 ms.
_LEAST_SECONDS: Final = 0.9995
_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}


class Unit(StrEnum):
    """The unit of a result. Frame rates are per direction."""

    FPS = "fps"
    CPS = "cps"
    QPS = "qps"
    BPS = "bit/s"
    HZ = "Hz"
    NS = "ns"
    SECONDS = "s"
    FRAMES = "frames"
    SEGMENTS = "segments"
    CONNECTIONS = "connections"
    BINDINGS_PER_S = "bindings/s"
    INSTRUCTIONS = "instructions"
    CYCLES = "cycles"
    PERCENT = "percent"


@dataclass(frozen=True)
class Percent:
    """A percentage of a base that is not known yet; `value` is 50 for 50 %."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:g}%"


def parse_rate(given: object) -> float | Percent:
    """Reads `812 kfps`, `1.5M`, `1_000_000` or `50%`."""
    if isinstance(given, Percent):
        return given
    if isinstance(given, str) and (percent := _PERCENT.fullmatch(given.strip())):
        share = _number(percent)
        if not 0 < share <= 100:
            raise ValueError(f"expected a percentage above 0 % and up to 100 %{got(given)}")
        return Percent(share)
    rate = _scaled(given, _RATE, "a rate such as 1.5M, 812 kfps, 1_000_000 or 50%")
    if not _LEAST_FPS <= rate <= _MOST_FPS:
        raise ValueError(f"expected a rate from 0.001 to 1000G{got(given)}")
    return rate


def parse_absolute_rate(given: object) -> float:
    """Reads `812 kfps`, `1.5M` or `1_000_000`."""
    rate = parse_rate(given)
    if isinstance(rate, Percent):
        raise ValueError(f"expected a rate such as 1.5M or 812 kfps{got(given)}")
    return rate


def parse_duration(given: object) -> float:
    """Reads `60s`, `500ms` or `2 min`; a bare number is seconds."""
    expected = "a duration such as 60s, 500ms or 2 min"
    if is_number(given):
        seconds = float(given)
    elif isinstance(given, str) and (match := _DURATION.fullmatch(given.strip())):
        seconds = _number(match) * _SECONDS[match["unit"] or "s"]
    else:
        raise ValueError(f"expected {expected}{got(given)}")
    if seconds and not _SHORTEST_DURATION_S <= seconds <= LONGEST_DURATION_S:
        raise ValueError(f"expected {expected}, 0 or from 1 ns to 30 days{got(given)}")
    return seconds


def parse_count(given: object) -> int:
    """Reads `50_000`, `100k` or `1.5M`: a whole number of at least 1."""
    expected = "a whole number of at least 1 such as 50_000, 100k or 1.5M"
    count = _scaled(given, _COUNT, expected)
    if not 1 <= count < math.inf or abs(count - round(count)) > 1e-6:
        raise ValueError(f"expected {expected}{got(given)}")
    if count > _MOST_COUNTED:
        raise ValueError(f"expected at most 1_000_000G{got(given)}")
    return round(count)


def parse_share(given: object) -> float:
    """Reads `0.01%` as 0.0001. The only bare number is 0, because another could mean a ratio or a percentage."""
    expected = "a percentage from 0% to below 100%, such as 0.01%"
    if is_number(given) and given == 0:
        return 0.0
    if isinstance(given, str) and (percent := _PERCENT.fullmatch(given.strip())) and _number(percent) < 100:
        return _number(percent) / 100
    raise ValueError(f"expected {expected}{got(given)}{meant_percent(given)}")


def meant_percent(given: object) -> str:
    """Returns the end of an error that suggests a percentage where a bare number was given; empty for other values."""
    bare = re.fullmatch(_NUMBER, str(given).strip())
    number = _number(bare) if bare else 0.0
    if not 0 < number <= 100:
        return ""
    # A number below 1 may be a share, too.
    share = f" or {100 * number:.10g}%" if number < 1 else ""
    return f"; did you mean {str(given).strip()}%{share}?"


def parse_bit_rate(given: object) -> float:
    """Reads `10Gbps` or `100 Mbps`."""
    rate = _scaled(given, _BIT_RATE, "a line rate such as 10Gbps")
    if not _LEAST_BPS <= rate <= _MOST_BPS:
        raise ValueError(f"expected a line rate from 1bps to 1_000_000Gbps{got(given)}")
    return rate


def format_rate(rate: float, unit: str) -> str:
    """Formats a rate in `unit` (fps, cps, qps, bit/s or Hz) with at most four significant digits: `812.5 kfps`."""
    scale, prefix = _prefix(rate)
    return f"{rate / scale:.4g} {prefix}{unit}"


def _prefix(rate: float) -> tuple[float, str]:
    return next((step for step in _PREFIXES if rate >= step[0] * 0.99995), (1.0, ""))


def format_quantity(value: float, unit: str) -> str:
    """Formats a value of any `Unit`: `812.5 kfps`, `35.2 µs`, `4,194,304 connections`, `99.97 %`."""
    match Unit(unit):
        case Unit.FPS | Unit.CPS | Unit.QPS | Unit.BPS | Unit.HZ:
            return format_rate(value, unit)
        case Unit.NS:
            scale, name = _ns_step(value)
            return f"{value / scale:.4g} {name}"
        case Unit.SECONDS:
            return format_duration(value)
        case Unit.PERCENT:
            return f"{value:.4g} %"
        case Unit.FRAMES | Unit.SEGMENTS | Unit.CONNECTIONS | Unit.BINDINGS_PER_S | Unit.INSTRUCTIONS | Unit.CYCLES:
            return f"{value:,.0f} {unit}"


def format_ends(ends: tuple[float, float], unit: str, value: float) -> tuple[str, str]:
    """Formats the ends of an interval without the unit, in the one that `format_quantity` writes `value` with."""
    match Unit(unit):
        case Unit.FPS | Unit.CPS | Unit.QPS | Unit.BPS | Unit.HZ:
            scale, _ = _prefix(value)
        case Unit.NS:
            scale, _ = _ns_step(value)
        case Unit.SECONDS:
            scale = 1e-3 if value < _LEAST_SECONDS else 1.0
        case _:
            scale = 1.0
    low, high = (f"{end / scale:.4g}" if abs(end / scale) < 9999.5 else f"{end / scale:,.0f}" for end in ends)
    return low, high


def _ns_step(value: float) -> tuple[float, str]:
    return next((step for step in _NS_STEPS if abs(value) >= step[0]), (1.0, "ns"))


def format_duration(seconds: float) -> str:
    """Formats a duration: `350 ms`, `12.5 s`, `3 min 20 s`, `2 h 05 min`."""
    if seconds < _LEAST_SECONDS:
        return f"{seconds * 1000:.3g} ms"
    if seconds <= 60:
        return f"{seconds:.3g} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def counted(count: int, word: str, words: str = "") -> str:
    """Returns the number with its noun: `1 queue`, `2 queues`; with `words` where an `s` makes no plural."""
    return f"{count:,} {word if count == 1 else words or f'{word}s'}"


def enumerated(words: Sequence[str]) -> str:
    """Returns the words as an enumeration: `a`, `a and b`, `a, b and c`; empty without words."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def times(count: int) -> str:
    """Returns `once` or `3 times`."""
    return "once" if count == 1 else f"{count:,} times"


def is_number(given: object) -> TypeGuard[int | float]:
    """Reports whether a value from YAML is a number; `true` is not, although Python takes it for 1."""
    return isinstance(given, int | float) and not isinstance(given, bool)


def _number(match: re.Match[str]) -> float:
    return float(match["number"].replace("_", ""))


def _scaled(given: object, pattern: re.Pattern[str], expected: str) -> float:
    if is_number(given):
        return float(given)
    if isinstance(given, str) and (match := pattern.fullmatch(given.strip())):
        return _number(match) * _SCALES[match["scale"]]
    raise ValueError(f"expected {expected}{got(given)}")


def format_share(share: float) -> str:
    """Formats a share as a plan writes it: `0.01%`."""
    return f"{100 * share:.10g}%"


def _plain(value: float | Percent) -> float | str:
    return str(value) if isinstance(value, Percent) else value


def _number_or_text(name: str, number: str, text: str, pattern: str) -> dict[str, Any]:
    """Returns the JSON Schema of a number in the unit `number` or text of the form `text`."""
    written = rf"^\d[\d_.eE+-]*\s*{pattern}$"
    forms = [{"type": "number", "description": number}, {"type": "string", "pattern": written, "description": text}]
    return named(name, {"anyOf": forms})


Rate = Annotated[
    float | Percent,
    BeforeValidator(parse_rate),
    PlainSerializer(_plain),
    WithJsonSchema(
        _number_or_text("Rate", "per second", "such as 1.5M, 812 kfps or 50%", r"([kKMG]?\s*(fps|pps|cps)?|%)")
    ),
]
AbsoluteRate = Annotated[
    float,
    BeforeValidator(parse_absolute_rate),
    Unit.FPS,
    WithJsonSchema(
        _number_or_text("AbsoluteRate", "per second", "such as 1.5M or 812 kfps", r"[kKMG]?\s*(fps|pps|cps)?")
    ),
]
Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    Unit.SECONDS,
    WithJsonSchema(_number_or_text("Duration", "seconds", "such as 60s, 500ms or 2 min", "(ns|us|µs|ms|s|min|h)?")),
]
COUNT_SCHEMA: Final = _number_or_text("Count", "at least 1", "such as 50_000, 100k or 1.5M", "[kKMG]?")
Count = Annotated[int, BeforeValidator(parse_count), WithJsonSchema(COUNT_SCHEMA)]
PERCENTAGE_SCHEMA: Final = {
    "type": "string",
    "pattern": r"^\d[\d_.eE+-]*\s*%$",
    "description": "below 100%, such as 0.01%",
}
Share = Annotated[
    float,
    BeforeValidator(parse_share),
    PlainSerializer(format_share),
    WithJsonSchema(named("Share", {"anyOf": [{"const": 0}, PERCENTAGE_SCHEMA]})),
]
BitRate = Annotated[
    float,
    BeforeValidator(parse_bit_rate),
    WithJsonSchema(_number_or_text("BitRate", "bits per second", "such as 10Gbps", r"[kKMG]?\s*(bps|bit/s)?")),
]
