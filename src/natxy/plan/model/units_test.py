# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.model.units import (
    Percent,
    Unit,
    format_duration,
    format_ends,
    format_quantity,
    format_rate,
    parse_bit_rate,
    parse_count,
    parse_duration,
    parse_rate,
)


@pytest.mark.parametrize(
    ("text", "rate"),
    [
        ("1.5M", 1.5e6),
        ("812 kfps", 812e3),
        ("1_000_000", 1e6),
        ("40k", 40e3),
        ("3 Mcps", 3e6),
        ("1e6", 1e6),
        (250, 250.0),
        ("50%", Percent(50)),
        ("0.5 %", Percent(0.5)),
    ],
)
def test_rates(text: object, rate: float | Percent) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "-3k",
        "5 m",
        "1.5 Mbps",
        "0",
        0,
        -1,
        True,
        None,
        "0%",
        "101%",
        [1],
        math.nan,
        math.inf,
        "1e400",
        "10 kk",
    ],
)
def test_bad_rates(text: object) -> None:
    with pytest.raises(ValueError, match="expected"):
        parse_rate(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60s", 60.0), ("500ms", 0.5), ("2 min", 120.0), ("1h", 3600.0), (0.25, 0.25), ("3", 3.0), ("20 us", 2e-5)],
)
def test_durations(text: object, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["1 day", "-1s", -1, True, None, "s", math.nan, math.inf, "1e9h"])
def test_bad_durations(text: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


@pytest.mark.parametrize(("text", "count"), [("100k", 100_000), ("1.5M", 1_500_000), (7, 7), ("50_000", 50_000)])
def test_counts(text: object, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize("text", ["1.5", 0, "0", -3, "many", True, math.nan, math.inf, "1e400"])
def test_bad_counts(text: object) -> None:
    with pytest.raises(ValueError, match="whole number"):
        parse_count(text)


@pytest.mark.parametrize("text", [0, -1, math.nan, math.inf, "1e400", "10 Gfps", True])
def test_bad_line_rates(text: object) -> None:
    with pytest.raises(ValueError, match="expected a line rate"):
        parse_bit_rate(text)


def test_a_bit_rate_is_bits_per_second() -> None:
    assert parse_bit_rate("10Gbps") == 10e9


@pytest.mark.parametrize(
    ("rate", "text"),
    [(812_500, "812.5 kfps"), (1e6, "1 Mfps"), (999_999, "1 Mfps"), (14.2e9, "14.2 Gfps"), (950, "950 fps")],
)
def test_rates_are_printed_with_a_prefix(rate: float, text: str) -> None:
    assert format_rate(rate, "fps") == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (812_500, Unit.FPS, "812.5 kfps"),
        (4_194_304, Unit.CONNECTIONS, "4,194,304 connections"),
        (99.97, Unit.PERCENT, "99.97 %"),
        (0, Unit.NS, "0 ns"),
        (850, Unit.NS, "850 ns"),
        (35_210, Unit.NS, "35.21 µs"),
        (-2.5e6, Unit.NS, "-2.5 ms"),
        (200, Unit.SECONDS, "3 min 20 s"),
    ],
)
def test_every_unit_is_printed(value: float, unit: Unit, text: str) -> None:
    assert format_quantity(value, unit) == text


@pytest.mark.parametrize(
    ("ends", "unit", "value", "text"),
    [
        ((450_130, 1_020_000), Unit.FPS, 812_500, ("450.1", "1020")),
        ((812_000, 11_000_000), Unit.CPS, 900_000, ("812", "11,000")),
        ((34_900, 35_900), Unit.NS, 35_210, ("34.9", "35.9")),
        ((0.09, 1.2), Unit.SECONDS, 0.35, ("90", "1200")),
        ((4_194_000, 4_194_304), Unit.CONNECTIONS, 4_194_304, ("4,194,000", "4,194,304")),
        ((-4.06, 6.5), Unit.PERCENT, 0, ("-4.06", "6.5")),
    ],
)
def test_ends_have_the_unit_of_their_value(
    ends: tuple[float, float], unit: Unit, value: float, text: tuple[str, str]
) -> None:
    assert format_ends(ends, unit, value) == text


@given(st.floats(min_value=1, max_value=1e12))
def test_a_printed_rate_reads_back(rate: float) -> None:
    assert parse_rate(format_rate(rate, "fps")) == pytest.approx(rate, rel=1e-3)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.35, "350 ms"),
        (0.9999, "1 s"),
        (12.5, "12.5 s"),
        (60, "60 s"),
        (200, "3 min 20 s"),
        (180, "3 min"),
        (7500, "2 h 05 min"),
    ],
)
def test_durations_are_printed(seconds: float, text: str) -> None:
    assert format_duration(seconds) == text
