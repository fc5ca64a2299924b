# SPDX-License-Identifier: Apache-2.0
"""Writes the table of the papers' plans in virtual time into docs/explanation/papers.md: `make docs`.

It is what the last `make test` and `make test-long` noted in tests/runs/papers_test.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tools.bench.speed_tables import put_if_complete

PAGE: Final = Path("docs/explanation/papers.md")
PLANS: Final = Path("plans/paper")
MEASURED: Final = (Path("build/tests/parallel.xml"), Path("build/tests/long-parallel.xml"))


def rows(plans: Path, measured: Sequence[Path]) -> Iterator[str]:
    """Yields the table as Markdown: a line for each published column, in the order of the plans.

    Raises ValueError when a test of them did not pass, or a plan has none.
    """
    lines: dict[str, list[str]] = {file.stem: [] for file in sorted(plans.glob("*.yaml"))}
    for case in (case for junit in measured for case in ElementTree.parse(junit).iter("testcase")):
        compared = [each.get("value", "") for each in case.iter("property") if each.get("name") == "compared"]
        failures = [*case.iter("failure"), *case.iter("error")]
        if compared and failures:
            raise ValueError(f"{case.get('name')} did not pass")
        for plan, what, published, found in map(json.loads, compared):
            cells = (plan, what, _numbers(published), f"{100 * _difference(published, found):.2f} %")
            lines[plan].append(f"| {' | '.join(cells)} |")
    if missing := [plan for plan, of_plan in lines.items() if not of_plan]:
        raise ValueError(f"no test noted results of {', '.join(missing)}: run `make test` and `make test-long`")
    yield "| plan | experiment and figure | published | found to within |"
    yield "|---|---|---|---:|"
    for of_plan in lines.values():
        yield from of_plan


def _numbers(values: Sequence[float]) -> str:
    return " · ".join(f"{value:,.0f}" if value >= 1000 else f"{value:.4g}" for value in values)


def _difference(published: Sequence[float], found: Sequence[float]) -> float:
    """Returns the greatest relative difference."""
    return max(abs(b - a) / abs(a) for a, b in zip(published, found, strict=True))


def main() -> None:
    """Writes the table; leaves the page as it is, and says why, where a plan has no result."""
    if all(file.exists() for file in MEASURED):
        put_if_complete(PAGE, "papers", rows(PLANS, MEASURED))


if __name__ == "__main__":
    main()
