# SPDX-License-Identifier: Apache-2.0
"""Puts what `make bench` measured last into docs/explanation/speed.md, so that no figure is typed in: `make docs`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

PAGE: Final = Path("docs/explanation/speed.md")
MEASURED: Final = Path("build/bench")


def ratio_rows() -> Iterable[str]:
    yield "| task | median | min | max | goal |\n|---|---:|---:|---:|---:|"
    for result in json.loads((MEASURED / "ratios.json").read_text()):
        task, _, peer = result["name"].partition(" / ")
        values = (result[key] for key in ("ratio_median", "ratio_min", "ratio_max", "goal"))
        yield f"| `{task}` / {peer} | " + " | ".join(f"{value:.2f}" for value in values) + " |"


def pacing_rows() -> Iterable[str]:
    yield "| how, frames/s | median | 99 % | 99.9 % | max |\n|---|---:|---:|---:|---:|"
    for result in json.loads((MEASURED / "pacing.json").read_text()):
        values = (result[key] for key in ("median_ns", "p99_ns", "p999_ns", "max_ns"))
        yield f"| `{result['name']}` | " + " | ".join(f"{value:,}" for value in values) + " |"


def phase1_rows() -> Iterable[str]:
    yield "| | connections | first frame due after | of 1,000 connections | delays booked | bytes a connection |"
    yield "|---|---:|---:|---:|---:|---:|"
    for result in json.loads((MEASURED / "phase1.json").read_text()):
        yield (
            f"| {result['name']} | {result['connections']:,} | {result['start_ms']:.1f} ms "
            f"| {result['start_of_few_ms']:.1f} ms | {result['delays']:,} | {result['bytes_per_connection']:.2f} |"
        )


TABLES: Final = {"ratios": ratio_rows, "pacing": pacing_rows, "phase1": phase1_rows}


def put(page: str, name: str, rows: Iterable[str]) -> str:
    """`page` with `rows` between the comments of that name."""
    text = "\n".join(rows)
    return re.sub(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{text}\n{found[2]}", page, flags=re.DOTALL
    )


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for name, rows in TABLES.items():
        if (MEASURED / f"{name}.json").exists():
            page = put(page, name, rows())
    PAGE.write_text(page, encoding="utf-8")
