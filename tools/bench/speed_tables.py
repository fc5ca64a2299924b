# SPDX-License-Identifier: Apache-2.0
"""Writes the tables in docs/explanation/speed.md from the last `make bench` and `make profile`: `make docs`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from natxy.plan.model.units import format_duration

PAGE: Final = Path("docs/explanation/speed.md")
MEASURED: Final = Path("build/bench")


def below_goal(row: Mapping[str, Any]) -> bool:
    """Returns whether a ratio, rounded as shown, or a lateness misses its goal. Without a goal it does not."""
    if "ratio_median" in row:
        return bool(round(row["ratio_median"], 2) < row["goal"])
    goal_ns = row.get("goal_p999_ns")
    return goal_ns is not None and bool(row["p999_ns"] > goal_ns)


def condition_rows(measured: Mapping[str, Any]) -> Iterable[str]:
    memory = "huge pages" if measured["hugepages"] else "pages of 4 KiB, because the machine had no huge pages free"
    yield (
        f"{measured['processor']}, {measured['cores']} cores, Linux {measured['kernel']}, {measured['compiler']}, "
        f"{measured['dpdk']}; {measured['rounds']} rounds with {format_duration(measured['seconds'])} for each task, "
        f"in {format_duration(measured['took_s'])} altogether. natxy and testpmd both had their buffers in {memory}."
    )


def ratio_rows(measured: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    yield "| task | median | min | max | goal | |\n|---|---:|---:|---:|---:|---|"
    for result in measured:
        task, _, peer = result["name"].partition(" / ")
        values = (result[key] for key in ("ratio_median", "ratio_min", "ratio_max", "goal"))
        yield f"| `{task}` / {peer} | " + " | ".join(f"{value:.2f}" for value in values) + f" | {_mark(result)} |"


def siitperf_rows(measured: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    yield "| program, fields that vary | median | min | max | goal | siitperf | |\n|---|---:|---:|---:|---:|---:|---|"
    for result in measured:
        values = (result[key] for key in ("ratio_median", "ratio_min", "ratio_max", "goal", "siitperf"))
        yield f"| {result['name']} | " + " | ".join(f"{value:.2f}" for value in values) + f" | {_mark(result)} |"


def pacing_rows(measured: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    yield "| how, frames/s | median | 99 % | 99.9 % | max | 99.9 % in the worst round | |"
    yield "|---|---:|---:|---:|---:|---:|---|"
    for result in measured:
        values = (result[key] for key in ("median_ns", "p99_ns", "p999_ns", "max_ns", "p999_worst_ns"))
        yield f"| `{result['name']}` | " + " | ".join(f"{value:,}" for value in values) + f" | {_mark(result)} |"


def phase1_rows(measured: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    yield (
        "| | connections | prepared after | first frame left after | the same of 1,000 connections | delays booked "
        "| bytes a connection |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for result in measured:
        yield (
            f"| {result['name']} | {result['connections']:,} | {result['prepared_ms']:.1f} ms "
            f"| {result['first_frame_ms']:.1f} ms "
            f"| {result['prepared_of_few_ms']:.1f} ms, {result['first_frame_of_few_ms']:.1f} ms "
            f"| {result['delays']:,} | {result['bytes_per_connection']:.2f} |"
        )


def cycle_rows(measured: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    tasks = list(measured)
    yield "| part | " + " | ".join(f"`{task['name']}`" for task in tasks) + " |"
    yield "|---|" + "---:|" * len(tasks)
    for part in dict.fromkeys(part for task in tasks for part in task["cycles"]):
        cells = (f"{task['cycles'][part]:.1f}" if part in task["cycles"] else "" for task in tasks)
        yield f"| {part} | " + " | ".join(cells) + " |"
    yield "| **all** | " + " | ".join(f"**{sum(task['cycles'].values()):.1f}**" for task in tasks) + " |"


TABLES: Final[Mapping[str, Callable[[Any], Iterable[str]]]] = {
    "conditions": condition_rows,
    "ratios": ratio_rows,
    "siitperf": siitperf_rows,
    "pacing": pacing_rows,
    "phase1": phase1_rows,
    "cycles": cycle_rows,
}


def put(page: str, name: str, rows: Iterable[str]) -> str:
    """Returns the page with `rows` between the comments of that name."""
    text = "\n".join(rows)
    return re.sub(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{text}\n{found[2]}", page, flags=re.DOTALL
    )


def _mark(row: Mapping[str, Any]) -> str:
    return "below" if below_goal(row) else ""


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    for name, rows in TABLES.items():
        measured = MEASURED / f"{name}.json"
        if measured.exists():
            page = put(page, name, rows(json.loads(measured.read_text(encoding="utf-8"))))
    PAGE.write_text(page, encoding="utf-8")
