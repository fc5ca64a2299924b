# SPDX-License-Identifier: Apache-2.0
"""Compares ways to carry frames over a veth pair, the wire of a lab, with one core on either side of it.

Usage: `python -m tools.bench.wire_benchmark`, as root, on two cores that nothing else uses; it takes a minute and a
half. Writes build/bench/wire.json, a list of {name, sent_fps, arrived_fps, cpu, isa}: frames per second of wall-clock
time, medians of ROUNDS. The sender is that of `send-addresses-ports-ipv4`, on the first core; the kernel steers frames
to the other one, or testpmd receives there. `make docs` makes a table of it.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console
from rich.progress import track

from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.testbeds.ports import Io
from natxy.testbeds.loop import LoopTestbed
from tools.bench.peer_benchmark import SCALED, save_rows, show
from tools.bench.programs import task
from tools.bench.session import machine_given_back
from tools.bench.speed_tables import MEASURED
from tools.bench.testpmd import Testpmd, Wiring

SECONDS: Final = 0.5
ROUNDS: Final = 3
_OTHER_END: Final = "right"
_AS_IN_LABS: Final = "busy_budget=0"


@dataclass(frozen=True)
class Wire:
    """Describes how frames are sent, and what happens to them at the other end. A `busy_budget` above 0 is the number
    of frames for which af_xdp polls the kernel at each call, instead of waiting for its interrupts."""

    name: str
    io: Io = "af_xdp"
    busy_budget: int = 0
    #: Commands in the namespace of the pair before frames are sent.
    settings: tuple[str, ...] = ()
    #: The I/O of the testpmd that receives on the other core; none: the kernel discards the frames.
    receiver_io: Io | None = None
    receiver_busy_budget: int = 0


def _steered(core: int) -> str:
    return f"echo {1 << core:x} > /sys/class/net/{_OTHER_END}/queues/rx-0/rps_cpus"


def _in_thread(core: int) -> str:
    """Makes a kernel thread on `core` receive, which needs the interface's NAPI, and that GRO."""
    return (
        f"ethtool -K {_OTHER_END} gro on && echo 1 > /sys/class/net/{_OTHER_END}/threaded && "
        f"for thread in $(pgrep ^napi/{_OTHER_END}); do taskset -pc {core} $thread; done"
    )


def wires(other: int) -> Sequence[Wire]:
    discarded = "the kernel discards them"
    return (
        Wire(f"af_xdp; {discarded}"),
        Wire(f"af_xdp, busy polling; {discarded}", busy_budget=64),
        Wire(f"af_packet; {discarded}", io="af_packet"),
        Wire("af_xdp; steered to the other core (RPS)", settings=(_steered(other),)),
        Wire("af_packet; steered to the other core (RPS)", io="af_packet", settings=(_steered(other),)),
        Wire("af_xdp; NAPI in a thread on the other core", settings=(_in_thread(other),)),
        Wire("af_xdp; received by af_xdp", receiver_io="af_xdp"),
        Wire("af_xdp; received by af_xdp, busy polling", receiver_io="af_xdp", receiver_busy_budget=64),
        Wire("af_xdp, busy polling; received by af_xdp", busy_budget=64, receiver_io="af_xdp"),
        Wire("af_xdp; received by af_packet", receiver_io="af_packet"),
        Wire("af_packet; received by af_packet", io="af_packet", receiver_io="af_packet"),
    )


class Bench:
    """Holds the two cores, one for the sender and one for what receives."""

    def __init__(self, core: int, other: int) -> None:
        self._core = core
        self._receiver = Testpmd(other, core, hugepages=False)

    def rates(self, wire: Wire) -> tuple[float, float]:
        """Returns how many frames per second were sent, and how many arrived."""
        with LoopTestbed(LoopConfig(kind="loop", io=wire.io)) as testbed:
            namespace = tuple(testbed.engine_argv()[:4])
            for setting in wire.settings:
                subprocess.run([*namespace, "sh", "-c", setting], check=True, capture_output=True)
            sender = Wiring(_with_budget(testbed.port_specs()[0].device, wire.busy_budget), prefix=namespace)

            def send() -> float:
                return float(task(SCALED, [self._core], SECONDS, sender)["frames"]) / SECONDS

            if wire.receiver_io is None:
                sent = send()
                counter = f"/sys/class/net/{_OTHER_END}/statistics/rx_packets"
                counted = subprocess.run([*namespace, "cat", counter], check=True, capture_output=True, text=True)
                return sent, int(counted.stdout) / SECONDS
            right = LoopTestbed(LoopConfig(kind="loop", io=wire.receiver_io)).port_specs()[1].device
            receiving = Wiring(_with_budget(right, wire.receiver_busy_budget), prefix=namespace)
            with self._receiver.forwarding("rxonly", receiving) as process:
                sent = send()
                return sent, self._receiver.stopped(process, "rxonly") / SECONDS


def _with_budget(device: str, busy_budget: int) -> str:
    return device.replace(_AS_IN_LABS, f"busy_budget={busy_budget}")


def main() -> None:
    if os.geteuid() != 0:
        sys.exit("wire_benchmark: needs root, to make network namespaces; start it with sudo")
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2:
        sys.exit("wire_benchmark: needs two cores, one for either end of the wire")
    bench = Bench(cores[0], cores[-1])
    measured: dict[str, list[tuple[float, float]]] = {}
    with machine_given_back():
        for _ in track(range(ROUNDS), "the ways in turns", console=Console(stderr=True)):
            for wire in wires(cores[-1]):
                measured.setdefault(wire.name, []).append(bench.rates(wire))
    rows = [
        {"name": name, "sent_fps": _median(found, 0), "arrived_fps": _median(found, 1)}
        for name, found in measured.items()
    ]
    MEASURED.mkdir(parents=True, exist_ok=True)
    save_rows("wire", rows)
    show("wire", rows)


def _median(found: Sequence[tuple[float, float]], which: int) -> int:
    return round(statistics.median(rates[which] for rates in found))


if __name__ == "__main__":
    main()
