# SPDX-License-Identifier: Apache-2.0
"""Writes the table in docs/how-to/install.md of what each way of installing takes: `make docs`.

The tests in this folder leave their figures in build/install. Those are first kept in docs/how-to/install.json, where
ways that were not measured since stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from natxy.plan.model.units import format_duration
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/how-to/install.md")
KEPT: Final = Path("docs/how-to/install.json")
MEASURED: Final = Path("build/install")

_TITLES: Final = {
    "clone-bookworm": "a clone",
    "deb": "the Debian package",
    "wheel": "a wheel with its engine",
    "container": "a container",
    "clone-trixie": "a clone, on Debian 13",
    "clone-noble": "a clone, on Ubuntu 24.04",
}

# For each way its figures by kind and name.
Way = Mapping[str, Mapping[str, str]]


def figures(lines: str) -> Way:
    """Returns the figures of one way from the lines of its file: a kind, a name and a value, separated by tabs."""
    way: dict[str, dict[str, str]] = {}
    for line in lines.splitlines():
        kind, name, value = line.split("\t")
        way.setdefault(kind, {})[name] = value
    return way


def rows(ways: Mapping[str, Way]) -> Iterator[str]:
    """Yields the lines of the table, and what the machines were like."""
    yield "| | to install | to measure once | from nothing to a report | natxy's own download | installed | load |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for name, title in _TITLES.items():
        if way := ways.get(name):
            install, measure = (sum(map(float, way[kind].values())) for kind in ("install_s", "measure_s"))
            times = " | ".join(format_duration(round(each)) for each in (install, measure, install + measure))
            sizes = f"{_mib(way, 'file_mib')} | {_mib(way, 'installed_mib')}"
            verbs = "".join(f", `{step}`" for step in way["install_s"] if step.startswith("make "))
            yield f"| {title}{verbs} | {times} | {sizes} | {float(way['condition']['load']):.0f} |"
    machines = {(way["condition"]["processor"], way["condition"]["cores"]) for way in ways.values()}
    where = "; ".join(f"{processor}, {cores} cores" for processor, cores in sorted(machines))
    yield f"\nMeasured on {where}. The load is how many programs ran or waited for a core, in the mean of 15 minutes."


def _mib(way: Way, kind: str) -> str:
    return f"{sum(map(int, way[kind].values()))} MiB"


def main() -> None:
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    measured = {file.stem: figures(file.read_text(encoding="utf-8")) for file in MEASURED.glob("*.tsv")}
    if measured:
        KEPT.write_text(json.dumps(kept | measured, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "ways", _lines(kept | measured)), encoding="utf-8")


def _lines(ways: Mapping[str, Way]) -> Iterable[str]:
    return rows(ways) if ways else []


if __name__ == "__main__":
    main()
