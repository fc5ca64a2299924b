# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.model.units import (
    Percent,
    Unit,
    counted,
    enumerated,
    format_duration,
    format_ends,
    format_quantity,
    format_rate,
    format_share,
    meant_percent,
    parse_absolute_rate,
    parse_bit_rate,
    parse_count,
    parse_duration,
    parse_rate,
    parse_share,
    times,
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
        # A unit changes where a number would become unreadable.
        (999_949, Unit.FPS, "999.9 kfps"),
        (999_950, Unit.FPS, "1 Mfps"),
        (1e9, Unit.BPS, "1 Gbit/s"),
        (999, Unit.NS, "999 ns"),
        (1000, Unit.NS, "1 µs"),
        (1e6, Unit.NS, "1 ms"),
        (1e9, Unit.NS, "1 s"),
        (0.999, Unit.SECONDS, "999 ms"),
        (0.9995, Unit.SECONDS, "1 s"),
        (60.6, Unit.SECONDS, "1 min 01 s"),
        (3599, Unit.SECONDS, "59 min 59 s"),
        (3600, Unit.SECONDS, "1 h 00 min"),
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


@pytest.mark.parametrize(
    ("parse", "accepted", "refused"),
    [
        (parse_rate, ["0.001", "1000G", "100%", "0.001%"], ["0.00099", "1000.1G", "100.1%", "0%"]),
        (parse_absolute_rate, ["0.001", "1000G"], ["0.00099", "50%", Percent(50)]),
        (parse_duration, [0, "1ns", "720h"], ["0.9ns", "720.1h"]),
        (parse_count, [1, "1", "0.001k"], ["0.9", "1.0015k", "1.1"]),
        (parse_share, [0, 0.0, "0%", "99.9%"], ["100%", 0.1, 1, False]),
        (parse_bit_rate, ["1bps", "1_000_000Gbps"], ["0.9bps", "1_000_001Gbps"]),
    ],
)
def test_each_quantity_has_limits(parse: Callable[[object], Any], accepted: list[Any], refused: list[Any]) -> None:
    for text in accepted:
        parse(text)
    for text in refused:
        with pytest.raises(ValueError, match="expected"):
            parse(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7 ns", 7e-9), ("7 us", 7e-6), ("7 µs", 7e-6), ("7 ms", 7e-3), ("7 s", 7), ("7 min", 420), ("7 h", 25_200)],
)
def test_every_unit_of_a_duration_is_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == pytest.approx(seconds)


@pytest.mark.parametrize(("text", "rate"), [("7", 7), ("7k", 7e3), ("7K", 7e3), ("7 M", 7e6), ("7G", 7e9)])
def test_every_prefix_of_a_rate_is_read(text: str, rate: float) -> None:
    assert parse_rate(text) == parse_absolute_rate(text) == parse_bit_rate(text) == parse_count(text) == rate


@given(st.floats(min_value=1e-6, max_value=0.99))
def test_a_printed_share_reads_back(share: float) -> None:
    assert parse_share(format_share(share)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("given_instead", "suggestion"),
    [
        (5, "; did you mean 5%?"),
        (1, "; did you mean 1%?"),
        (100, "; did you mean 100%?"),
        (0.25, "; did you mean 0.25% or 25%?"),
        ("5", "; did you mean 5%?"),
        (101, ""),
        (0, ""),
        ("5%", ""),
        (None, ""),
    ],
)
def test_a_bare_number_is_answered_with_the_percentage_that_was_meant(given_instead: object, suggestion: str) -> None:
    assert meant_percent(given_instead) == suggestion


@pytest.mark.parametrize(
    ("ends", "unit", "value", "text"),
    [
        ((9999.4, 9999.5), Unit.CONNECTIONS, 9999, ("9999", "10,000")),
        ((0.9, 1.1), Unit.SECONDS, 0.9994, ("900", "1100")),
        ((0.9, 1.1), Unit.SECONDS, 0.9995, ("0.9", "1.1")),
    ],
)
def test_ends_change_their_unit_with_their_value(
    ends: tuple[float, float], unit: Unit, value: float, text: tuple[str, str]
) -> None:
    assert format_ends(ends, unit, value) == text


def test_numbers_agree_with_their_nouns() -> None:
    assert (counted(0, "queue"), counted(1, "queue"), counted(2000, "queue")) == ("0 queues", "1 queue", "2,000 queues")
    assert (times(1), times(2), times(2000)) == ("once", "2 times", "2,000 times")


def test_words_are_enumerated() -> None:
    texts = [enumerated(words) for words in ([], ["a"], ["a", "b"], ["a", "b", "c"])]
    assert texts == ["", "a", "a and b", "a, b and c"]
