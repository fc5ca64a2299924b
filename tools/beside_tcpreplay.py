# SPDX-License-Identifier: Apache-2.0
"""Searches the same limits by natxy, and by tcpreplay as the sender with a counter of the kernel as the receiver.

    apt install tcpreplay
    python -m tools.beside_tcpreplay FOLDER [--repeat 3]

Both measure two gateways in labs of natxy's: Linux forwarding that nftables limits to a known rate, and Linux
forwarding that compares each frame with many rules of nftables, so that its core is the limit. Frames go from left to
right, by sockets of AF_PACKET, which let the sender wait for a gateway that is behind: a trial of tcpreplay also fails
if tcpreplay says that it sent at a lower rate. nftables counts the test frames that arrive on the tester's right
interface, and drops them.

The table, in Markdown, has a row for each gateway, with what both found in turn. The exit code is 1 if a result of
either is more than 1 % from a known limit, or if the medians are further apart than --apart percent. The runs of natxy
stay in FOLDER, and count in a later call.
"""

from __future__ import annotations

import argparse
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Final

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap

from natxy.events.listener import RunListener
from natxy.plan.experiment import Experiment
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.searches import binary_search
from natxy.results.reader import RunReader
from natxy.run.run import run_plan
from natxy.search.outcome import Attempt, Outcome, Sample

LIMIT_FPS: Final = 6000
BURST_FRAMES: Final = 500
TRIAL_S: Final = 2.0
_FRAME_BYTES: Final = 84
_FCS_BYTES: Final = 4
_HOSTS: Final = ("198.18.0.2", "198.19.0.2")
_PORT: Final = 9
_FRAMES_OF_FILE: Final = 1000
# How much slower than it was told tcpreplay may have been, and how far from a limit a result may be.
_SLOWER: Final = 0.002
_NEAR: Final = 0.01
# The limiter's burst is whole again after a twelfth of a second.
_REST_S: Final = 0.3

PLAN: Final = """\
name: beside-tcpreplay
repeat: 1
timing: {{preset: lab, trial: {trial_s}s, settle: {rest_s}s}}
testbed: {{kind: lab, io: af_packet}}
defaults: {{procedure: throughput, directions: forward, flows: 1, frame_size: {bytes}, max_invalid: 8}}
experiments:
  - name: limited
    gateway:
      driver: command
      apply:
        - [sysctl, -qw, net.ipv4.ip_forward=1]
        - [nft, "add table ip limiter"]
        - [nft, "add chain ip limiter forward {{ type filter hook forward priority 0; }}"]
        - [nft, "add rule ip limiter forward limit rate over {limit}/second burst {burst} packets drop"]
      remove:
        - [nft, "add table ip limiter; delete table ip limiter"]
    search: {{kind: binary, min_rate: 100, max_rate: 16k, error: 20}}
  - name: filtered
    gateway:
      driver: command
      apply:
        - [sysctl, -qw, net.ipv4.ip_forward=1]
        - [nft, "{rules}"]
      remove:
        - [nft, "add table ip filter; delete table ip filter"]
    search: {{kind: binary, min_rate: 10k, max_rate: 100k, error: 2%}}
"""


# No test frame has this port.
_RULES: Final = (
    "table ip filter { chain forward { type filter hook forward priority 0; " + "udp dport 7; " * 1500 + "}; }"
)


# What is known of the gateways' limits without a tester.
TRUTHS_FPS: Final = {"limited": LIMIT_FPS + BURST_FRAMES / TRIAL_S, "filtered": None}


@contextmanager
def standing_lab(plan: Path, experiment: str) -> Iterator[Mapping[str, str]]:
    """Keeps the lab of an experiment within the context, and yields the variables that tell its parts."""
    argv = [str(Path(sys.executable).parent / "natxy"), "lab"]
    done = subprocess.run([*argv, "up", str(plan), "--experiment", experiment], check=True, capture_output=True)
    try:
        yield dict(re.findall(r"^export (\w+)=(.*)$", done.stdout.decode(), re.MULTILINE))
    finally:
        subprocess.run([*argv, "down"], check=True, capture_output=True)


class Tcpreplay:
    """Sends the same frame again and again into a lab, and asks the kernel how many arrived."""

    def __init__(self, lab: Mapping[str, str], folder: Path) -> None:
        self._tester, self._cores = lab["NATXY_LAB_TESTER"], lab["NATXY_SIITPERF_CORES"]
        left, right = self._mac("left"), self._mac("right")
        to = lab["NATXY_SIITPERF_DUT_MACS"].split(",")[0]
        frame = Ether(src=left, dst=to) / IP(src=_HOSTS[0], dst=_HOSTS[1]) / UDP(sport=2000, dport=_PORT)
        padding = bytes(_FRAME_BYTES - _FCS_BYTES - len(frame))
        self._frames = folder / "frames.pcap"
        wrpcap(str(self._frames), [frame / padding] * _FRAMES_OF_FILE)
        # Nobody answers address requests while tcpreplay sends.
        neighbor = f"neigh replace {_HOSTS[1]} lladdr {right} nud permanent dev dut-right"
        self._run(["ip", "-n", lab["NATXY_LAB_DUT"], *neighbor.split()])
        self._nft(
            f"table netdev seen {{ counter arrived {{ }}\n chain arrive {{ type filter hook ingress device right "
            f"priority 0; udp dport {_PORT} counter name arrived drop\n }}\n}}\n"
        )

    def measure(self, attempt: Attempt) -> Sample:
        """Sends the frames of a trial at a rate, and counts those that arrive."""
        frames = round(attempt.rate * TRIAL_S)
        self._nft("reset counter netdev seen arrived\n")
        pace = [f"--pps={attempt.rate:.3f}", f"--limit={frames}", f"--loop={1 + frames // _FRAMES_OF_FILE}"]
        pinned = ["taskset", "-c", self._cores]
        said = self._in_tester([*pinned, "tcpreplay", "--intf1=left", "--preload-pcap", *pace, str(self._frames)])
        time.sleep(_REST_S)
        [sent, rate_fps] = (float(re.findall(pattern, said)[0]) for pattern in (r"Actual: (\d+)", r"([\d.]+) pps"))
        [arrived] = map(int, re.findall(r"packets (\d+)", self._nft("list counter netdev seen arrived\n")))
        whole = arrived == sent == frames and rate_fps >= attempt.rate * (1 - _SLOWER)
        return Sample(Outcome.PASS if whole else Outcome.FAIL, frames, frames - arrived)

    def _mac(self, interface: str) -> str:
        return self._in_tester(["cat", f"/sys/class/net/{interface}/address"]).strip()

    def _nft(self, commands: str) -> str:
        return self._in_tester(["nft", "-f", "-"], commands)

    def _in_tester(self, argv: Sequence[str], text: str = "") -> str:
        return self._run(["ip", "netns", "exec", self._tester, *argv], text)

    @staticmethod
    def _run(argv: Sequence[str], text: str = "") -> str:
        done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{shlex.join(argv)} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout


def by_natxy(plan: ResolvedPlan, folder: Path) -> dict[str, float]:
    """Measures all gateways once, unless the folder has the whole run. Returns their rates."""
    if not folder.exists():
        run_plan(plan, folder, RunListener())
    found = {each.name: value for each in RunReader(folder).run.experiments for value in each.values}
    if missing := TRUTHS_FPS.keys() - found.keys():
        raise SystemExit(f"{folder} has no result of {', '.join(missing)}: look at its report, and remove the folder")
    return found


def by_tcpreplay(plan: Path, experiment: Experiment, folder: Path) -> float:
    """Searches a gateway's rate as the plan says, in a lab of its own."""
    with standing_lab(plan, experiment.name) as lab:
        return binary_search(experiment).run(Tcpreplay(lab, folder).measure).rate


def row(name: str, natxy: Sequence[float], tcpreplay: Sequence[float], apart: float) -> tuple[str, bool]:
    """Returns a line of the table, and whether both testers agree with the limit or, without one, with each other."""
    truth_fps = TRUTHS_FPS[name]
    truth = "unknown" if truth_fps is None else f"{truth_fps:,.0f}"
    columns = [" · ".join(f"{each:,.0f}" for each in found) for found in (natxy, tcpreplay)]
    ratio = median(natxy) / median(tcpreplay)
    good = abs(ratio - 1) <= apart / 100
    if truth_fps is not None:
        good &= all(abs(each / truth_fps - 1) <= _NEAR for each in (*natxy, *tcpreplay))
    return f"| {name} | {truth} | {columns[0]} | {columns[1]} | {100 * ratio:.1f} % |", good


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="for the runs; those that it has are not measured again")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--apart", type=float, default=10.0, help="percent by which the medians may differ")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "plan.yaml"
    values = {"trial_s": TRIAL_S, "rest_s": _REST_S, "bytes": _FRAME_BYTES, "rules": _RULES}
    written.write_text(PLAN.format(limit=LIMIT_FPS, burst=BURST_FRAMES, **values), encoding="utf-8")
    plan = load_plan(written)
    found: dict[str, tuple[list[float], list[float]]] = {name: ([], []) for name in TRUTHS_FPS}
    for number in range(1, arguments.repeat + 1):
        own = by_natxy(plan, folder / f"natxy-{number}")
        for experiment in plan.experiments:
            natxy, tcpreplay = found[experiment.name]
            natxy.append(own[experiment.name])
            tcpreplay.append(by_tcpreplay(written, experiment, folder))
            print(
                f"{experiment.name}: natxy {natxy[-1]:,.0f}, tcpreplay {tcpreplay[-1]:,.0f}",
                file=sys.stderr,
                flush=True,
            )
    print("| gateway | limit, frames/s | natxy | tcpreplay | medians |\n|---|---:|---|---|---:|")
    rows = [row(name, natxy, tcpreplay, arguments.apart) for name, (natxy, tcpreplay) in found.items()]
    print("\n".join(line for line, _ in rows))
    return 0 if all(good for _, good in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
