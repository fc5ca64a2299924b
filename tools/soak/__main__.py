# SPDX-License-Identifier: Apache-2.0
"""Keeps one engine busy for a long time and judges whether it stays as it is: `make soak`.

The engine's two ports are the ends of a veth pair, without a gateway in between; this needs root. A cycle is one trial
of each kind, and between cycles the ports are opened anew, as evenly as the number of reopenings allows. After each
cycle a sample goes to FOLDER/samples.csv: memory, file descriptors, threads and clocks. Ctrl-C ends the soak early. The
exit code is 1 unless everything is shown to stay within its bound, or if more than 1 in 100 trials did not pass.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from itertools import count
from pathlib import Path
from typing import Final

from natxy.engine.client import EngineClient
from natxy.engine.messages.ports import PortsOpen
from natxy.engine.messages.results import Verdict
from natxy.plan.model.terms import Family
from natxy.plan.testbeds.loop import LoopConfig
from natxy.system.machine import describe_machine
from natxy.testbeds.loop import LoopTestbed
from tools.bench.session import machine_given_back
from tools.soak.clocks import Clocks
from tools.soak.cycle import neighbors, trials
from tools.soak.process import holdings
from tools.soak.table import CONDITIONS, FOLDER, SAMPLES, Soak

SHOWN_EVERY_S: Final = 60.0

Sample = dict[str, float]


def soak(engine: EngineClient, ports: PortsOpen, duration_s: float, reopenings: int) -> Iterator[Sample]:
    """Runs cycles for so long, and yields a sample after each."""
    verdicts: Counter[Verdict] = Counter()
    opened = 0
    begin, origin = time.monotonic(), Clocks.read(engine)
    for number in count():
        elapsed_s = time.monotonic() - begin
        if elapsed_s >= duration_s:
            return
        while opened <= math.ceil(reopenings * elapsed_s / duration_s):
            engine.open_ports(ports)
            engine.resolve_neighbors(neighbors())
            opened += 1
        for result in trials(engine, [*Family][number % len(Family)], seed=number):
            verdicts[result.verdict] += 1
            if result.verdict != Verdict.PASS:
                print(f"cycle {number}: {result.verdict}: {result.reason}", file=sys.stderr)
        yield {
            "elapsed_s": round(time.monotonic() - begin, 3),
            "reopenings": opened - 1,
            "trials": verdicts.total(),
            "not_passed": verdicts.total() - verdicts[Verdict.PASS],
            **asdict(holdings(engine.pid)),
            **asdict(Clocks.read(engine) - origin),
        }


def write(samples: Iterator[Sample], path: Path) -> None:
    """Writes each sample at once, so that a soak that is killed leaves what it found."""
    shown_s = 0.0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        for number, sample in enumerate(samples):
            if number == 0:
                writer.writerow(sample)
            writer.writerow(sample.values())
            file.flush()
            if sample["elapsed_s"] >= shown_s:
                print(", ".join(f"{name} {value:,}" for name, value in sample.items()), file=sys.stderr)
                shown_s += SHOWN_EVERY_S


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tools.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--reopenings", type=int, default=1000)
    parser.add_argument("--io", choices=("af_packet", "af_xdp"), default="af_packet", help="driver of the ports")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with machine_given_back(), LoopTestbed(LoopConfig(kind="loop", io=asked.io)) as testbed:
        engine = EngineClient(testbed.engine_argv(), asked.folder / "engine.log")
        try:
            conditions = describe_machine() | engine.info().model_dump(mode="json") | {"io": asked.io}
            (asked.folder / CONDITIONS).write_text(json.dumps(conditions, indent=1) + "\n", encoding="utf-8")
            ports = PortsOpen(ports=testbed.port_specs())
            write(soak(engine, ports, 60 * asked.minutes, asked.reopenings), asked.folder / SAMPLES)
        except KeyboardInterrupt:
            print("interrupted: what was sampled before is judged", file=sys.stderr)
        finally:
            engine.close()
    found = Soak.read(asked.folder)
    try:
        print(*found.rows(), sep="\n")
    except ValueError as error:
        sys.exit(str(error))
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
