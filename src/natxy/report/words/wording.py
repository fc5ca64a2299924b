# SPDX-License-Identifier: Apache-2.0
"""Writes numbers, units and the fields of a plan in the words of the RFCs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from natxy.plan.model.terms import CellValue
from natxy.plan.model.units import Unit, format_rate
from natxy.results.analysis.ratios import AT_EQUAL_SPEED, METHOD, UNPAIRED_METHOD, Ratio
from natxy.results.bounded import Bounded
from natxy.results.intervals import Interval
from natxy.results.statistics import Summary

ABSENT: Final = "–"

_UNITS: Final = {
    Unit.FPS: "frames/s per direction",
    Unit.CPS: "connections/s",
    Unit.QPS: "queries/s",
    Unit.BPS: "Mbit/s",
    Unit.HZ: "Hz",
    Unit.NS: "ms",
    Unit.SECONDS: "s",
    Unit.FRAMES: "frames",
    Unit.SEGMENTS: "segments",
    Unit.CONNECTIONS: "connections",
    Unit.BINDINGS_PER_S: "bindings/s",
    Unit.INSTRUCTIONS: "instructions",
    Unit.CYCLES: "cycles",
    Unit.PERCENT: "%",
}

_FIELDS: Final = {
    "cores": "CPU cores", "pairs": "Pairs of interfaces", "frame_size": "Frame size", "alpha": "α",
    "addresses": "IP addresses",
    "ports.source": "Source ports", "ports.destination": "Destination ports", "family": "IP version",
    "gateway.conntrack_max": "Table size", "gateway.hash_size": "Hash table size",
    "procedure.cached_percent": "Percent cached", "procedure.aaaa_percent": "Percent with AAAA",
}  # fmt: skip


def unit(measured: str) -> str:
    """Returns the words for a `Unit`."""
    return _UNITS[Unit(measured)]


def number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"


def quantity(value: float, measured: str) -> str:
    """Writes a value in full, for tables whose title has the unit."""
    if measured == Unit.NS:
        # In milliseconds (RFC 8219 §7.3), to the nanosecond.
        return f"{value / 1e6:,.6f}"
    if measured == Unit.BPS:
        return f"{value / 1e6:,.1f}"
    return f"{value:,.6g}" if measured in (Unit.PERCENT, Unit.SECONDS) else number(value)


def bounded(value: Bounded | None, measured: str) -> str:
    """Writes a value in full, with its bound."""
    return ABSENT if value is None else value.text(lambda plain: quantity(plain, measured))


def dispersion(summary: Summary, gap: str = " ") -> str:
    found = summary.bounded_dispersion
    return ABSENT if found is None else found.text(lambda ratio: percent(100 * ratio), gap)


def short(value: float, measured: str) -> str:
    """Writes a value for a narrow table: rates with four significant digits, others in full."""
    if measured in (Unit.CONNECTIONS, Unit.FRAMES, Unit.SEGMENTS, Unit.NS, Unit.BPS):
        return quantity(value, measured)
    return format_rate(value, "").replace(" ", "")


def interval(value: Interval | None, measured: str) -> str:
    """Writes the ends of an interval in full."""
    return ends(value, lambda end: quantity(end, measured)).strip() or ABSENT


def short_interval(value: Interval | None, measured: str) -> str:
    """Writes the ends of an interval for a narrow table: rates with three significant digits, others in full."""
    rounded = measured in (Unit.FPS, Unit.CPS, Unit.QPS)
    return ends(value, lambda end: short(float(f"{end:.3g}") if rounded else end, measured)).strip() or ABSENT


def ends(value: Interval | None, show: Callable[[float], str]) -> str:
    """Writes the ends of an interval in brackets after a space; without an interval, nothing."""
    return "" if value is None else f" [{show(value.low)}, {show(value.high)}]"


def percent(value: float, digits: int = 1) -> str:
    return f"{value:.{digits}f} %"


def ratio(value: Ratio | None, gap: str = " ") -> str:
    """Writes a ratio in percent, with its bound and its interval, such as `46.4 % [45.1, 47.9]`.

    Without a gap it is for a table that has no room for the interval.
    """
    if value is None:
        return ABSENT
    return value.text(lambda plain: percent(100 * plain), gap) + (
        ends(value.interval, lambda end: f"{100 * end:.1f}") if gap else ""
    )


def ratios_note(ratios: Iterable[Ratio | None]) -> str:
    """Returns the methods of the ratios that have an interval; empty if there are none."""
    known = [each for each in ratios if each and each.interval]
    notes = {METHOD if each.paired else UNPAIRED_METHOD for each in known}
    equal = {AT_EQUAL_SPEED for each in known if each.at_equal_speed}
    return " ".join([*sorted(notes, key=[METHOD, UNPAIRED_METHOD].index), *equal])


def scale_up(value: Ratio | None, gap: str = " ") -> str:
    """Writes a ratio with three decimals, as the source papers do; without a gap also without its interval."""
    return ABSENT if value is None else value.text(share, gap) + (ends(value.interval, share) if gap else "")


def share(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"


def field(path: str) -> str:
    """Returns the words for a field of the plan, such as `ports.source`."""
    plain = path.removeprefix("procedure.").removeprefix("gateway.")
    return _FIELDS.get(path) or plain.replace(".", " ").replace("_", " ").capitalize()


def cell(fields: Iterable[str], coordinates: Mapping[str, CellValue]) -> str:
    """Returns the coordinates of a sweep's cell, such as `CPU cores 2, Frame size 64`."""
    return ", ".join(f"{field(path)} {coordinate(coordinates[path])}" for path in fields)


def coordinate(value: CellValue) -> str:
    """Writes a coordinate of a sweep's cell, large counts in full."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)
