# SPDX-License-Identifier: Apache-2.0
"""Tables of a self-test: up to which rates the tester can be trusted, by the kind of frames."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.terms import Family
from natxy.plan.model.units import Unit, format_quantity, format_rate
from natxy.report.tables.table import Column, Table
from natxy.report.words.wording import ABSENT
from natxy.results.analysis.ceilings import DOUBTFUL_QUERIES_SHARE, DOUBTFUL_SHARE
from natxy.results.selftest import Ceiling, SelfTest, Variant, Work

_VARIANTS: Final = {
    Variant.FIXED: "one four-tuple",
    Variant.PORTS: "random ports",
    Variant.ADDRESSES: "random addresses, ports",
}
_FAMILIES: Final = {Family.IPV4: "IPv4", Family.IPV6: "IPv6"}


def tables(found: SelfTest) -> list[Table]:
    """Returns all tables of a self-test that have rows."""
    return [table for table in (ceilings(found), over_connections(found), pacing(found)) if table and table.rows]


def ceilings(found: SelfTest) -> Table:
    """Returns the tester's ceilings by kind of traffic, and the rates up to which gateways may be measured."""
    without = [each for each in found.ceilings if each.work == Work.TRAFFIC]
    kinds = dict.fromkeys((each.frame_size, each.variant, each.family) for each in without)
    rows = []
    for size, variant, family in sorted(kinds, key=lambda kind: (kind[2], kind[0], list(Variant).index(kind[1]))):
        alike = [each for each in without if (each.frame_size, each.variant, each.family) == (size, variant, family)]
        one_way, both_ways = (next((each for each in alike if each.both_ways == both), None) for both in (False, True))
        rows.append(
            (
                f"{_FAMILIES[family]}, {size} bytes",
                _VARIANTS[variant],
                _rate(one_way),
                _rate(both_ways),
                _rate(both_ways or one_way, DOUBTFUL_SHARE),
            )
        )
    columns = (
        Column("Frames"),
        Column("What varies"),
        Column("One way", numeric=True),
        Column("Both ways, each", numeric=True),
        Column(f"Trust up to ({DOUBTFUL_SHARE:.0%})", numeric=True),
    )
    return Table("Without a frame lost or late, frames/s", columns, tuple(rows))


def over_connections(found: SelfTest) -> Table | None:
    """Returns the tester's ceilings with connections, by the family of the frames; None if none was measured."""
    limits: dict[tuple[Family, Work, bool], Ceiling] = {
        (each.family, each.work, each.both_ways): each
        for each in found.ceilings
        if each.work not in (Work.TRAFFIC, Work.QUERIES)
    }
    if not limits:
        return None
    columns = {
        "New connections": (Work.PHASE1, False),
        "Validated, α = 1": (Work.VALIDATED, False),
        "Phase 2, one way": (Work.PHASE2, False),
        "Both ways, each": (Work.PHASE2, True),
    }
    rows = []
    for family in sorted({family for family, _, _ in limits}):
        any_of = next(each for (own, _, _), each in limits.items() if own == family)
        measured = [limits.get((family, *kind)) for kind in columns.values()]
        frames = f"{_FAMILIES[family]}, {any_of.frame_size} bytes"
        rows.append((frames, f"{any_of.connections:,}", *map(_rate, measured)))
    numeric = [Column(title, numeric=True) for title in ("Connections", *columns)]
    return Table(
        "Over connections, without a frame lost or late, per second", (Column("Frames"), *numeric), tuple(rows)
    )


def pacing(found: SelfTest) -> Table:
    """Returns how late frames were sent, by rate."""
    rows = tuple(
        (format_rate(each.rate_fps, "fps"), *map(_ns, (each.median_ns, each.p99_ns, each.p999_ns, each.max_ns)))
        for each in found.pacing
    )
    columns = ("Rate", "Median", "p99", "p99.9", "Max")
    return Table("Lateness of frames", tuple(Column(title, title != "Rate") for title in columns), rows)


def sentences(found: SelfTest) -> list[str]:
    bound = "" if found.receive_limited else "at least "
    queries = next((each for each in found.ceilings if each.work == Work.QUERIES), None)
    least = "" if found.least_delay_ns is None else f" Least delay of the loop: {_ns(found.least_delay_ns)}."
    return [
        f"Tester: {found.tester}.",
        f"Most received at one port: {bound}{format_rate(found.receive_fps, 'frames/s')}.{least}",
        *([_answered(queries)] if queries else []),
    ]


def _answered(queries: Ceiling) -> str:
    return (
        f"As the authority of a DNS64 server, the tester answers {_rate(queries)} queries/s within a quarter of the "
        f"server's time: trust up to {_rate(queries, DOUBTFUL_QUERIES_SHARE)} (RFC 8219 §9.2.1)."
    )


def _rate(ceiling: Ceiling | None, share: float = 1.0) -> str:
    if ceiling is None:
        return ABSENT
    return f"{'≥' if ceiling.open else ''}{format_rate(ceiling.rate_fps * share, '').replace(' ', '')}"


def _ns(value: int) -> str:
    return format_quantity(value, Unit.NS)
