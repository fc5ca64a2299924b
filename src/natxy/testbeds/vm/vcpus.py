# SPDX-License-Identifier: Apache-2.0
"""Reads how long virtual CPUs have worked, as the machine that executes them counts it.

The system inside cannot tell: while another program has the core, its clocks go on, and without KVM it counts that time
as its own work.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from natxy.system.core_watch import TICK_S

_SCHEDSTAT: Final = "/proc/{}/schedstat"


def read_times(threads: Sequence[int]) -> str:
    """Returns the times of virtual CPUs as lines of /proc/uptime and /proc/stat, each after its file's name.

    `threads`: the process id of each virtual CPU. All of its work counts as that of a user, and the time in which it
    waits for its core as stolen. Returns an empty text when a thread has ended.
    """
    now_s = time.monotonic()
    lines = [f"/proc/uptime:{now_s:.2f} 0"]
    for number, thread in enumerate(threads):
        try:
            ran_ns, waited_ns, _ = Path(_SCHEDSTAT.format(thread)).read_text().split()
        except OSError:
            return ""
        ran_s, waited_s = int(ran_ns) / 1e9, int(waited_ns) / 1e9
        ran, waited, idle = (round(each / TICK_S) for each in (ran_s, waited_s, now_s - ran_s - waited_s))
        lines.append(f"/proc/stat:cpu{number} {ran} 0 0 {idle} 0 0 0 {waited}")
    return "\n".join(lines)
