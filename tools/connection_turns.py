# SPDX-License-Identifier: Apache-2.0
"""Compares the turns of two testers in which each made connections through the same gateway: natxy, and two hosts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp, log
from statistics import median
from typing import Final

from natxy.results.dut_load import InstructionCount
from natxy.results.intervals import median_interval

COUNTERS: Final = ("invalid", "insert_failed", "drop")
"""Names the counters of `conntrack -S` that stay at 0 while all connections are whole."""


@dataclass(frozen=True)
class Turn:
    """Holds the connections of one tester, and what the gateway spent on them.

    `failed` of them had no whole life; `resent`: segments that hosts sent again. `executed` and `idle` are the
    instructions with traffic and, for about as long, without. `states`: the entries of the table by TCP's state.
    """

    connections: int
    failed: int
    resent: int
    rate_cps: float
    frames: int
    bytes: int
    counters: Mapping[str, int]
    states: Mapping[str, int]
    executed: InstructionCount
    idle: InstructionCount

    @property
    def cost(self) -> float:
        """The instructions that a connection adds."""
        return self._added(self.executed.count, self.idle.count)

    def modules(self) -> dict[str, float]:
        return self._each(self.executed.modules, self.idle.modules)

    def functions(self) -> dict[str, float]:
        return self._each(self.executed.functions, self.idle.functions)

    def problems(self) -> Iterator[str]:
        """Yields what makes the turn no measurement of whole connections."""
        if self.failed:
            yield f"{self.failed} of {self.connections} connections failed"
        if sum(self.states.values()) != self.connections:
            yield f"the table has {said(self.states)} for {self.connections} connections"
        if risen := {name: count for name, count in self.counters.items() if count}:
            yield f"conntrack counted {said(risen)}"

    def _each(self, executed: Mapping[str, int], idle: Mapping[str, int]) -> dict[str, float]:
        return {name: self._added(executed.get(name, 0), idle.get(name, 0)) for name in executed.keys() | idle.keys()}

    def _added(self, executed: int, idle: int) -> float:
        return (executed - idle * self.executed.elapsed_s / self.idle.elapsed_s) / self.connections


Pair = tuple[Turn, Turn]
"""The turns of natxy and of the hosts in one repetition."""


def said(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items()) or "0"


def compared(pairs: Sequence[Pair], of: Callable[[Turn], float], digits: int = 0) -> tuple[list[str], float]:
    """Returns the cells of a row, and the median of the ratios natxy / hosts of all pairs."""
    cells = [f"{median(of(pair[tester]) for pair in pairs):,.{digits}f}" for tester in (0, 1)]
    ratios = [of(natxy) / of(hosts) for natxy, hosts in pairs]
    # An interval of logarithms says the same of a ratio and of its inverse.
    found = median_interval([*map(log, ratios)])
    interval = f" [{exp(found.low):.3f}, {exp(found.high):.3f}]" if found else ""
    return [*cells, f"{median(ratios):.3f}{interval}"], median(ratios)


def table(pairs: Sequence[Pair], apart: float) -> tuple[list[str], bool]:
    """Returns the lines of the first table, and whether natxy and the hosts agree."""
    rows: dict[str, list[str]] = {}
    rows["connections a second"], rates = compared(pairs, lambda turn: turn.rate_cps, 1)
    rows |= {
        "frames of a connection": compared(pairs, lambda turn: turn.frames / turn.connections, 2)[0],
        "bytes of a connection": compared(pairs, lambda turn: turn.bytes / turn.connections)[0],
    }
    rows["instructions of a connection"], costs = compared(pairs, lambda turn: turn.cost)
    rows["instructions of a frame"] = compared(pairs, lambda turn: turn.cost * turn.connections / turn.frames)[0]
    idle = compared(pairs, lambda turn: turn.idle.count / turn.idle.elapsed_s)[0]
    rows["instructions of a second at rest"] = idle
    for name in COUNTERS:
        rows[f"conntrack: {name}"] = _sums(pairs, lambda turn, name=name: {"": turn.counters[name]})  # type: ignore[misc]
    rows["conntrack: entries"] = _sums(pairs, lambda turn: turn.states)
    rows["segments sent again"] = _sums(pairs, lambda turn: {"": turn.resent})
    lines = ["| | natxy | h2load and nginx | ratio |", "|---|---:|---:|---|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    problems = [problem for pair in pairs for turn in pair for problem in turn.problems()]
    good = all(abs(ratio - 1) <= apart / 100 for ratio in (rates, costs)) and not problems
    return [*lines, *(f"\n{problem}" for problem in problems)], good


def _sums(pairs: Sequence[Pair], of: Callable[[Turn], Mapping[str, int]]) -> list[str]:
    """Returns the cells with what all turns of a tester have together."""
    sums = [sum((Counter(of(pair[tester])) for pair in pairs), Counter[str]()) for tester in (0, 1)]
    return [*(said(each).strip() for each in sums), ""]


def parts(pairs: Sequence[Pair], heading: str, of: Callable[[Turn], Mapping[str, float]], most: int) -> Iterable[str]:
    """Yields the lines of a table of those parts whose instructions of a connection differ most."""
    found = [[of(pair[tester]) for pair in pairs] for tester in (0, 1)]
    names = {name for turns in found for each in turns for name in each}
    medians = {name: [median(each.get(name, 0.0) for each in turns) for turns in found] for name in names}
    yield f"\n| {heading} | natxy | h2load and nginx | difference |"
    yield "|---|---:|---:|---:|"
    for name, (natxy, hosts) in sorted(medians.items(), key=lambda part: -abs(part[1][0] - part[1][1]))[:most]:
        yield f"| {name} | {natxy:,.0f} | {hosts:,.0f} | {natxy - hosts:+,.0f} |"
