# SPDX-License-Identifier: Apache-2.0
"""Writes the tables in docs/explanation/speed.md from what was measured on each kind of machine: `make docs`.

The last `make bench` and `make profile` of this machine are first kept in docs/explanation/speed, in a file that is
named after the processor, so that another machine's columns stay.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from natxy.plan.model.units import format_duration
from natxy.system.machine import describe_machine

PAGE: Final = Path("docs/explanation/speed.md")
MEASURED: Final = Path("build/bench")
KEPT: Final = Path("docs/explanation/speed")

Kept = Mapping[str, Any]


def below_goal(row: Mapping[str, Any]) -> bool:
    """Returns whether a ratio, rounded as shown, a lateness or a start misses its goal. Without a goal it does not."""
    if "ratio_median" in row:
        return row["goal"] is not None and bool(round(row["ratio_median"], 2) < row["goal"])
    if "median_s" in row:
        return bool(row["median_s"] >= row["goal_s"])
    goal_ns = row.get("goal_p999_ns")
    return goal_ns is not None and bool(row["p999_ns"] > goal_ns)


def keep(measured: Path, kept: Path, here: Mapping[str, str]) -> None:
    """Writes the results in `measured` to the file of their processor in `kept`; other tables of that file stay.

    `here` describes this machine. Its processor is that of results without conditions, such as those of a single
    benchmark; they are kept only where a whole `make bench` is.
    """
    found = {name: _load(measured / f"{name}.json") for name in TABLES if (measured / f"{name}.json").exists()}
    processor = _processor({"conditions": here, **found})
    file = kept / f"{re.sub('[^a-z0-9]+', '-', processor.lower())}.json"
    before = _load(file) if file.exists() else {}
    if "conditions" in before | found:
        kept.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(before | found, indent=1) + "\n", encoding="utf-8")


def condition_rows(machines: Sequence[Kept]) -> Iterable[str]:
    for machine in machines:
        measured = machine["conditions"]
        memory = "huge pages" if measured["hugepages"] else "pages of 4 KiB, because the machine had no huge pages free"
        yield (
            f"- {_processor(machine)}{_isa(measured)}, {measured['cores']} cores, Linux {measured['kernel']}, "
            f"{measured['compiler']}, {measured['dpdk']}; {measured['rounds']} rounds with "
            f"{format_duration(measured['seconds'])} for each task, in {format_duration(measured['took_s'])} "
            f"altogether. natxy and testpmd both had their buffers in {memory}."
        )


def ratio_rows(machines: Sequence[Kept], table: str = "ratios", first: str = "task") -> Iterable[str]:
    """Yields a line for each ratio: its goal and, for each machine, the median, the range and whether it is below."""
    rows = [{row["name"]: row for row in machine[table]} for machine in machines]
    extra = ["siitperf"] if table == "siitperf" else []
    yield f"| {' | '.join([first, 'goal', *extra, *map(_processor, machines)])} |"
    yield "|---|---:|" + "---:|" * (len(machines) + len(extra))
    for name in dict.fromkeys(name for of_machine in rows for name in of_machine):
        newest = next(of_machine[name] for of_machine in reversed(rows) if name in of_machine)
        task, _, peer = name.partition(" / ")
        title = f"`{task}` / {peer}" if peer else name
        cells = [
            _ratio(of_machine[name] | {"goal": newest["goal"]}) if name in of_machine else "" for of_machine in rows
        ]
        others = ["" if newest[key] is None else f"{newest[key]:.2f}" for key in ("goal", *extra)]
        yield f"| {' | '.join([title, *others, *cells])} |"


def form_rows(machines: Sequence[Kept]) -> Iterable[str]:
    return ratio_rows(machines, "forms")


def isa_rows(machines: Sequence[Kept]) -> Iterable[str]:
    return ratio_rows(machines, "isa")


def siitperf_rows(machines: Sequence[Kept]) -> Iterable[str]:
    return ratio_rows(machines, "siitperf", "program, fields that vary")


def start_rows(machines: Sequence[Kept]) -> Iterable[str]:
    """Yields a line for each way of starting a program: the seconds to its first frame, and the range."""
    rows = [{row["name"]: row for row in machine["siitperf_start"]} for machine in machines]
    yield f"| call | goal | {' | '.join(map(_processor, machines))} |"
    yield "|---|---:|" + "---:|" * len(machines)
    for name, newest in rows[-1].items():
        cells = (_seconds(of_machine[name]) if name in of_machine else "" for of_machine in rows)
        yield f"| {name} | {newest['goal_s']:.1f} s | {' | '.join(cells)} |"
    loads = (max(row["load"] for row in machine["siitperf_start"]) for machine in machines)
    said = (
        f"{_processor(machine)}: {load:.1f} on {machine['conditions']['cores']} cores"
        for machine, load in zip(machines, loads, strict=True)
    )
    yield f"\nThe machine's load meanwhile: {'; '.join(said)}."


def pacing_rows(machines: Sequence[Kept]) -> Iterable[str]:
    yield "| processor | how, frames/s | median | 99 % | 99.9 % | max | 99.9 % in the worst round | |"
    yield "|---|---|---:|---:|---:|---:|---:|---|"
    for machine in machines:
        for result in machine["pacing"]:
            values = (result[key] for key in ("median_ns", "p99_ns", "p999_ns", "max_ns", "p999_worst_ns"))
            yield (
                f"| {_processor(machine)} | `{result['name']}` | "
                + " | ".join(f"{value:,}" for value in values)
                + f" | {'below' if below_goal(result) else ''} |"
            )


def phase1_rows(machines: Sequence[Kept]) -> Iterable[str]:
    yield (
        "| processor | | connections | prepared after | first frame left after | the same of 1,000 connections "
        "| delays booked | bytes a connection |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|"
    for machine in machines:
        for result in machine["phase1"]:
            yield (
                f"| {_processor(machine)} | {result['name']} | {result['connections']:,} "
                f"| {result['prepared_ms']:.1f} ms | {result['first_frame_ms']:.1f} ms "
                f"| {result['prepared_of_few_ms']:.1f} ms, {result['first_frame_of_few_ms']:.1f} ms "
                f"| {result['delays']:,} | {result['bytes_per_connection']:.2f} |"
            )


def cycle_rows(machines: Sequence[Kept]) -> Iterable[str]:
    """Yields a table for each machine, because they may count in different units."""
    for machine in machines:
        tasks = machine["cycles"]
        yield f"\n{_processor(machine)}, in {tasks[0]['unit']}:\n"
        yield "| part | " + " | ".join(f"`{task['name']}`" for task in tasks) + " |"
        yield "|---|" + "---:|" * len(tasks)
        for part in dict.fromkeys(part for task in tasks for part in task["parts"]):
            cells = (f"{task['parts'][part]:.1f}" if part in task["parts"] else "" for task in tasks)
            yield f"| {part} | " + " | ".join(cells) + " |"
        yield "| **all** | " + " | ".join(f"**{sum(task['parts'].values()):.1f}**" for task in tasks) + " |"


def wire_rows(machines: Sequence[Kept]) -> Iterable[str]:
    """Yields a line for each way over a veth pair: thousands of frames per second."""
    yield "| processor | sent by; then | sent | arrived |"
    yield "|---|---|---:|---:|"
    for machine in machines:
        for row in machine["wire"]:
            rates = (f"{row[key] / 1000:,.0f} k/s" for key in ("sent_fps", "arrived_fps"))
            yield f"| {_processor(machine)} | {row['name']} | {' | '.join(rates)} |"


TABLES: Final[Mapping[str, Callable[[Sequence[Kept]], Iterable[str]]]] = {
    "conditions": condition_rows,
    "ratios": ratio_rows,
    "forms": form_rows,
    "isa": isa_rows,
    "siitperf": siitperf_rows,
    "siitperf_start": start_rows,
    "pacing": pacing_rows,
    "phase1": phase1_rows,
    "cycles": cycle_rows,
    "wire": wire_rows,
}


def put(page: str, name: str, rows: Iterable[str]) -> str:
    """Returns the page with `rows` between the comments of that name. Raises ValueError if they are not there once."""
    text = "\n".join(rows)
    changed, number = re.subn(
        rf"(<!-- {name} -->\n).*?(<!-- end -->)", lambda found: f"{found[1]}{text}\n{found[2]}", page, flags=re.DOTALL
    )
    if number != 1:
        raise ValueError(
            f"the page has no single place for the table {name}: expected one line <!-- {name} -->, with <!-- end --> "
            f"below it, and found {number}; write them where the table belongs"
        )
    return changed


def put_if_complete(page: Path, name: str, rows: Iterable[str]) -> None:
    """Writes a table into a page; leaves the page as it is, and says why, where `rows` raise ValueError."""
    try:
        changed = put(page.read_text(encoding="utf-8"), name, rows)
    except ValueError as error:
        print(f"{page} stays as it is: {error}", file=sys.stderr)
        return
    page.write_text(changed, encoding="utf-8")


def main() -> None:
    keep(MEASURED, KEPT, describe_machine())
    machines = [_load(file) for file in sorted(KEPT.glob("*.json"))]
    page = PAGE.read_text(encoding="utf-8")
    for name, rows in TABLES.items():
        with_it = [machine for machine in machines if name in machine]
        if with_it:
            page = put(page, name, rows(with_it))
    PAGE.write_text(page, encoding="utf-8")


def _load(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _processor(machine: Kept) -> str:
    """Returns the name of a machine's processor without trade marks, such as "Intel Xeon"."""
    return re.sub(r"\((R|TM)\)|\s+Processor\b", "", machine["conditions"]["processor"])


def _isa(conditions: Mapping[str, Any]) -> str:
    return f" ({conditions['model']}, {conditions['isa']})" if "isa" in conditions else ""


def _ratio(row: Mapping[str, Any]) -> str:
    median, least, most = (row[key] for key in ("ratio_median", "ratio_min", "ratio_max"))
    return f"{median:.2f} ({least:.2f}–{most:.2f}){' below' if below_goal(row) else ''}"


def _seconds(row: Mapping[str, Any]) -> str:
    median, least, most = (row[key] for key in ("median_s", "least_s", "most_s"))
    return f"{median:.2f} ({least:.2f}–{most:.2f}){' above' if below_goal(row) else ''}"


if __name__ == "__main__":
    main()
