# SPDX-License-Identifier: Apache-2.0
"""Measures gateways by siitperf's scripts and by imported plans, in turn, in labs with limits that are known.

    python -m tools.siitperf_replay                         # all: more than an hour
    python -m tools.siitperf_replay --only tayga/latency.sh
    python -m tools.siitperf_replay --table                 # write what was measured into the documentation

The scripts' decisions are those of tests/support/siitperf_scripts.py, and the limits those of tests/replay/limits.py.
Rounds stay beside the page, and a later call adds those that are missing. Rounds with other limits than today's
(`forgets_s`) stay there, and count no longer. The exit code is 1 if the ways of a script differ. Limits need rules of
nftables for frames that leave (Linux 5.16).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, Final

from natxy import __version__
from natxy.system.interrupts import INTERRUPTED, one_interrupt
from natxy.system.machine import describe_machine
from natxy.system.temporary_folder import temporary_folder
from tests.replay.lab import Blamed
from tests.replay.limits import FORGETS_S
from tests.replay.replays import REPLAYS, ROUNDS, Compared, Figures, Replay
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/explanation/scripts-beside-plans.md")
MEASURED: Final = PAGE.with_suffix(".jsonl")

# The figures of a scan over rates, which share a row if the ways agree.
_SCAN: Final = "% lost at "

Name = tuple[str, str]
Rounds = Mapping[Name, list[Mapping[str, Any]]]


def read() -> Rounds:
    found: defaultdict[Name, list[Mapping[str, Any]]] = defaultdict(list)
    if MEASURED.exists():
        for line in MEASURED.read_text(encoding="utf-8").splitlines():
            measured = json.loads(line)
            # The first rounds do not say it.
            if measured.get("forgets_s") == FORGETS_S:
                found[measured["gateway"], measured["script"]].append(measured)
    return found


def measure(replay: Replay) -> None:
    """Measures one round, and stores it with its times and the load of the machine, which tell it from others."""
    began = datetime.now(UTC)
    # In this machine's ledger, `natxy cleanup` finds the lab that a killed measurement left.
    with temporary_folder("natxy-replay-") as folder, replay.standing(folder, None) as ways:
        found = replay.alternating(ways, 1)
        blamed = {each.value: ways.blamed[each] for each in Blamed}
    measured = {
        "gateway": replay.driver, "script": replay.script, "by_script": found.by_script[0], "by_plan": found.by_plan[0],
        **blamed, "forgets_s": FORGETS_S,
        "date": began.date().isoformat(), "began": began.isoformat(timespec="seconds"),
        "ended": datetime.now(UTC).isoformat(timespec="seconds"), "load": os.getloadavg()[0], "natxy": __version__,
        "machine": describe_machine(),
    }  # fmt: skip
    with MEASURED.open("a", encoding="utf-8") as file:
        file.write(json.dumps(measured) + "\n")
    shown = ("gateway", "script", "by_script", "by_plan", *blamed)
    print(json.dumps({name: measured[name] for name in shown}), file=sys.stderr)


def compared(replay: Replay, rounds: Rounds) -> Compared:
    of_replay = rounds[replay.driver, replay.script]
    by_script: list[Figures] = [each["by_script"] for each in of_replay]
    by_plan: list[Figures] = [each["by_plan"] for each in of_replay]
    return replay.compared(by_script, by_plan)


def table(rounds: Rounds) -> Iterator[str]:
    done = [replay for replay in REPLAYS if (replay.driver, replay.script) in rounds]
    yield from conditions([each for replay in done for each in rounds[replay.driver, replay.script]])
    yield ""
    yield "| script | gateway | figure | known | scripts with natxy's programs | plan | rounds | blamed | |"
    yield "|---|---|---|---:|---:|---:|---:|---:|---|"
    for replay in done:
        found = compared(replay, rounds)
        of_row = rounds[replay.driver, replay.script]
        blamed = ", ".join(str(sum(each[kind] for each in of_row)) for kind in Blamed)
        verdicts = {name: found.verdict(name).value for name in replay.known}
        scan = [name for name, verdict in verdicts.items() if name.startswith(_SCAN) and not verdict]
        rows = [[name] for name in verdicts if name not in scan] + ([scan] if scan else [])
        for names in rows:
            of_ways = [_joined([found.values(name)[way] for name in names]) for way in (0, 1)]
            title = _SCAN + "/".join(name.removeprefix(_SCAN).removesuffix("/s") for name in scan) + "/s"
            known = "/".join(_known(*replay.known[name]) for name in names)
            if len(names) > 1:
                known = known.replace(" – ", "–")
            cells = (replay.script, replay.driver, title if names == scan else names[0], known, *of_ways)
            mark = f"{verdicts[names[0]]} |".lstrip()
            yield f"| {' | '.join(cells)} | {len(found.by_plan)} | {blamed} | {mark}"
    missing = [f"{each.script} at {each.driver}" for each in REPLAYS if each not in done]
    if missing:
        yield ""
        yield f"Not measured: {'; '.join(missing)}."


def _known(low: float, high: float) -> str:
    return "–" if high == math.inf else f"{_number(low)} – {_number(high)}"


def _joined(figures: Sequence[Sequence[float]]) -> str:
    """Returns what one figure was, or the medians of several."""
    return _spread(figures[0]) if len(figures) == 1 else "/".join(_number(median(each)) for each in figures)


def _spread(values: Sequence[float]) -> str:
    if not values:
        return "–"
    low, middle, high = map(_number, (min(values), median(values), max(values)))
    return middle if low == high else f"{middle} ({low} – {high})"


def conditions(measured: list[Mapping[str, Any]]) -> Iterator[str]:
    dates = sorted({each["date"] for each in measured})
    machines = {f"{each['machine']['processor']}, Linux {each['machine']['kernel']}" for each in measured}
    yield f"{'; '.join(sorted(machines))}; {' to '.join(dict.fromkeys((dates[0], dates[-1])))}."


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.siitperf_replay",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = [f"{each.driver}/{each.script}" for each in REPLAYS]
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="GATEWAY/SCRIPT")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--table", action="store_true", help=f"write {PAGE} and measure nothing")
    asked = parser.parse_args()
    if asked.table:
        if rounds := read():
            page = put(PAGE.read_text(encoding="utf-8"), "siitperf-replay", table(rounds))
            PAGE.write_text(page, encoding="utf-8")
        return 0
    chosen = [each for each in REPLAYS if f"{each.driver}/{each.script}" in asked.only]
    try:
        with one_interrupt():
            measure_rounds(chosen, asked.rounds)
    except KeyboardInterrupt:
        return INTERRUPTED
    rounds = read()
    print(*table(rounds), sep="\n")
    return int(any(compared(replay, rounds).differences() for replay in chosen))


def measure_rounds(chosen: Sequence[Replay], wanted: int) -> None:
    """Measures the rounds that are missing, a round of each script after the other."""
    for number in range(1, wanted + 1):
        for replay in chosen:
            if len(read()[replay.driver, replay.script]) < number:
                measure(replay)


if __name__ == "__main__":
    sys.exit(main())
