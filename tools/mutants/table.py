# SPDX-License-Identifier: Apache-2.0
"""Writes the counts of the last `make mutants` into CONTRIBUTING.md: `python -m tools.mutants.table`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools.bench.speed_tables import put
from tools.mutants.baseline import FOLDER

PAGE: Final = Path("CONTRIBUTING.md")
_FILES: Final = ("python.json", "engine.json")


def rows(measured: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yields the table as Markdown, a row for each room and the sum of each part."""
    yield "| | killed | of | | without a reason |"
    yield "|---|---:|---:|---:|---:|"
    for part in measured:
        counts: dict[str, tuple[int, int]] = dict(part["counts"])
        together = counts.pop("together")
        for room, (killed, of) in sorted(counts.items()):
            yield f"| {room} | {killed} | {of} | {killed / of:.0%} | |"
        killed, of = together
        yield f"| **{part['title']}** | {killed} | {of} | {killed / of:.0%} | {part['unexplained']} |"


if __name__ == "__main__":
    files = [FOLDER / name for name in _FILES if (FOLDER / name).exists()]
    if files:
        table = rows(json.loads(file.read_text(encoding="utf-8")) for file in files)
        PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "mutants", table), encoding="utf-8")
