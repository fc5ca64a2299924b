# SPDX-License-Identifier: Apache-2.0
"""Writes the table of the last `make faults` into docs/explanation/faults.md."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

from tools.bench.speed_tables import put_if_complete

PAGE: Final = Path("docs/explanation/faults.md")
MEASURED: Final = Path("build/tests/faults.xml")
# `make faults` also runs tests that break nothing.
TESTS: Final = "tests.testbeds.faults_test"


def rows(junit: Path) -> Iterator[str]:
    """Yields the table as Markdown: a line for each test. ValueError when one did not pass, or did not note its end."""
    yield "| | exit code | seconds | from the fault to the end | left |"
    yield "|---|---:|---:|---:|---|"
    for case in ElementTree.parse(junit).iter("testcase"):
        if case.get("classname") != TESTS:
            continue
        name = case.get("name", "")
        if [*case.iter("failure"), *case.iter("error"), *case.iter("skipped")]:
            raise ValueError(f"{name} did not pass: run `make faults` again")
        noted = {each.get("name"): each.get("value", "") for each in case.iter("property")}
        if missing := {"exit code", "seconds", "left"} - noted.keys():
            raise ValueError(f"{name} noted no {', '.join(sorted(missing))}: run `make faults` again")
        fault = name.removeprefix("test_").replace("_", " ").replace("[", ", ").removesuffix("]")
        cells = (fault, noted["exit code"], noted["seconds"], noted.get("seconds after the fault", ""), noted["left"])
        yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Writes the table; leaves the page as it is, and says why, where a test has no result."""
    if MEASURED.exists():
        put_if_complete(PAGE, "faults", rows(MEASURED))


if __name__ == "__main__":
    main()
