# SPDX-License-Identifier: Apache-2.0
"""Writes the table of all figures into docs/reference/figures.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from natxy.plan.procedures import DECLARATIONS
from natxy.plan.procedures.figures import STREAMS, Figure
from natxy.results.analysis.dut_cost import COST
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/reference/figures.md")
_ANY: Final = "{forward,reverse}"


def rows() -> Iterator[str]:
    """Yields the table as Markdown: a line for each figure of each procedure, its two directions as one."""
    yield "| procedure | figure | is | unit | better |"
    yield "|---|---|---|---|---|"
    for name, declaration in DECLARATIONS.items():
        shown = f"`{name}`"
        for figure, title in of_both_directions(declaration.figures):
            yield _row(shown, figure, title, declaration.figures[0].name)
            shown = ""
    yield _row("all", (COST.name, COST), COST.title, "")


def of_both_directions(figures: tuple[Figure, ...]) -> Iterator[tuple[tuple[str, Figure], str]]:
    """Yields the figures with their names and titles; a pair of directions once, with both in its name."""
    forward, reverse = (f"_{stream}" for stream in STREAMS)
    for figure in figures:
        if figure.name.endswith(forward):
            title = figure.title.removesuffix(f", {STREAMS[0]}")
            yield (figure.name.removesuffix(forward) + f"_{_ANY}", figure), f"{title}, of each direction"
        elif not figure.name.endswith(reverse):
            yield (figure.name, figure), figure.title


def _row(procedure: str, named: tuple[str, Figure], title: str, headline: str) -> str:
    name, figure = named
    mark = " (headline)" if name == headline else ""
    better = "–" if figure.of_tester else "more" if figure.is_better_when_higher else "less"
    return f"| {procedure} | `{name}`{mark} | {title} | {figure.unit.value} | {better} |"


def main() -> None:
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "figures", rows()), encoding="utf-8")


if __name__ == "__main__":
    main()
