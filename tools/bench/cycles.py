# SPDX-License-Identifier: Apache-2.0
"""Measures the cycles that the parts of the engine's tasks take, by `perf`: `make profile`.

Writes build/bench/cycles.json, a list of {name, unit, parts: {part: cycles or ns per frame}}, for user space only.
Where perf cannot count cycles, as in most virtual machines, the kernel's clock takes the samples and the unit is ns.
Without perf, it prints so and leaves the file unchanged.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import Counter
from typing import Any, Final

from rich.console import Console
from rich.progress import track

from natxy.system.temporary_folder import temporary_folder
from tools.bench.hugepages import reserved
from tools.bench.programs import printed, task_argv
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED

SECONDS: Final = 2.0
TASKS: Final = (
    "send-addresses-ports-ipv4",
    "send-addresses-ports-ipv6",
    "send-enumerated-ipv4",
    "respond-4M-ipv4",
    "respond-4M-ipv6",
    "receive-ipv4",
    "receive-ipv6",
    "receive-learn-4M-ipv4",
    "receive-learn-4M-ipv6",
)
# Options of perf by the unit of a sample's period. The clock takes a sample each millisecond: in a virtual machine its
# interrupts cost so much that denser ones would be a part of what they measure.
EVENTS: Final = {"cycles": ("--event=cycles:u",), "ns": ("--event=cpu-clock:u", "--count=1000000")}
WORKER: Final = "rte-worker-1"
REST: Final = "rest"
# Patterns of the functions of each part; the first that matches "library|function" decides.
_MAKING: Final = {
    r"\bFrameTemplate<": "writing the frame: template, fields, two checksums",
    r"\b(\w+Flows|TupleSpace|AddressSet|Permutation|Cycle)\b": "the four-tuple",
}
_SENDING: Final = _MAKING | {
    r"\b(StreamFrames<|Sender::|Worker::)": "buffers from the pool, schedule, clock, lateness",
    r"^librte_|\b__tls_get_addr": "the port, which gives each buffer back to its pool",
}
_RECEIVING: Final = {
    r"\b(Receiver::take|TestFrameForm|classify)": "judging it and reading its signature",
    r"\bReceiver::(record|Statistics)": "its sequence number and delay",
    r"\bRecordAround": "writing its connection to the state table",
    r"^librte_net_ring|\bReceiver::poll": "the port",
    r"^librte_|\bPort::give_back|\b__tls_get_addr": "giving its buffer back",
}
# Functions that prepare the frames of the receiving benchmarks.
_NO_PART: Final = "|".join((*_MAKING, r"\bPort::allocate", r"\breceive<"))


def parts(report: str, name: str, frames: int) -> dict[str, float]:
    """Returns cycles or ns per frame by part, the greatest first. The report has lines
    "period|thread|library|function"."""
    receives = name.startswith("receive")
    belongs = (_RECEIVING if receives else _SENDING).items()
    total: Counter[str] = Counter()
    for line in report.splitlines():
        period, _, rest = line.partition("|")
        thread, _, function = rest.partition("|")
        if thread.strip() != WORKER or (receives and re.search(_NO_PART, function)):
            continue
        found = (part for pattern, part in belongs if re.search(pattern, function))
        total[next(found, REST)] += int(period)
    return {part: round(of_part / frames, 1) for part, of_part in total.most_common()}


def profile(name: str, core: int, unit: str) -> dict[str, Any]:
    """Samples one task on a core, and returns its row of cycles.json."""
    with temporary_folder("natxy-profile-") as folder:
        samples = str(folder / "samples")
        record = ["perf", "record", "--quiet", *EVENTS[unit], "--output", samples, "--"]
        result = printed([*record, *task_argv(name, [core], SECONDS)])[0]
        report = ["perf", "report", "--stdio", "--input", samples, "-t", "|", "--fields=period,comm,dso,sym"]
        lines = subprocess.run(report, capture_output=True, text=True, check=True).stdout
    return {"name": name, "unit": unit, "parts": parts(lines, name, result["frames"])}


def countable_unit() -> str:
    """Returns the first unit of EVENTS that perf can count on this machine."""
    stat = ["perf", "stat", *EVENTS["cycles"], "true"]
    tried = subprocess.run(stat, capture_output=True, text=True, check=False)
    counts = tried.returncode == 0 and "<not " not in tried.stderr
    return "cycles" if counts else "ns"


def main() -> None:
    if shutil.which("perf") is None:
        print("make profile: skipped: perf is not installed: apt-get install linux-perf")
        return
    unit = countable_unit()
    core = min(os.sched_getaffinity(0))
    with machine_given_back(), reserved():
        profiles = [profile(name, core, unit) for name in track(TASKS, "perf", console=Console(stderr=True))]
    MEASURED.mkdir(parents=True, exist_ok=True)
    (MEASURED / "cycles.json").write_text(json.dumps(profiles, indent=1) + "\n", encoding="utf-8")
    for found in profiles:
        print(f"{found['name']}: {sum(found['parts'].values()):.1f} {unit} a frame")
        for part, of_part in found["parts"].items():
            print(f"{of_part:8.1f}  {part}")


if __name__ == "__main__":
    main()
