# SPDX-License-Identifier: Apache-2.0
"""Asks a DNS64 server at one rate by natxy, and then by dnsperf, and compares how many queries were answered.

    apt install dnsperf unbound
    python -m tools.beside_dnsperf FOLDER [--server unbound] [--rate 2000] [--seconds 10] [--repeat 3]

Both ask the same server in a lab of natxy's, for names that nobody has asked for. natxy's right port is the authority
for both: while dnsperf asks, natxy asks one query a second. dnsperf runs in the server's network namespace and on its
core, and its packets pass no veth pair.

The table, in Markdown, has a row for each repetition: the share of answered queries, their mean delay, and how many
queries the server asked the authority for each. The exit code is 1 if the shares are further apart than --apart
percent, or if the server did not ask the authority about twice for each query.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.engine.interface import Engine
from natxy.engine.messages.results import StreamResult
from natxy.events.listener import RunListener
from natxy.locks.session import reserved
from natxy.plan.experiment import Experiment
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.queries import greet, queries_of, queries_request
from natxy.run.setup import Setup, Setups
from natxy.tcp.hosts import TcpHosts

PLAN: Final = """\
name: beside-dnsperf
family: ipv6
timing: {{preset: lab, trial: {seconds}s, drain: 1s, max_pause: 1s, overrun_floor: 1s}}
experiments:
  - name: server
    gateway: {server}
    procedure: dns64-rate
    search: {{min_rate: 1, max_rate: {rate}}}
"""
# No trial has so high a number, so that natxy has not asked for these names.
_FIRST_NAME: Final = 0xFFFF << 48
_HELD_QPS: Final = 1.0
# dnsperf waits for its last answers.
_DNSPERF_ENDS_S: Final = 3.0
_ASKED: Final = (1.9, 2.2)


@dataclass(frozen=True)
class Found:
    """Holds the share of queries that were answered, their mean delay, and the authority's queries for each."""

    answered: float
    mean_ms: float
    asked: float


def start_anew(setup: Setup, experiment: Experiment) -> None:
    """Starts the server anew, which may hold what it has lost against the authority."""
    with setup.gateway() as gateway:
        gateway.clear()
    greet(_engine(setup), experiment)


def by_natxy(setup: Setup, experiment: Experiment, rate_qps: float, seed: int) -> Found:
    request = queries_request(experiment, queries_of(experiment), rate_qps, seed)
    [stream] = _engine(setup).run_trial(request).streams
    mean_ms = stream.delay.mean_ns / 1e6 if stream.delay else 0.0
    return Found(stream.received / stream.planned, mean_ms, _authority(stream) / stream.planned)


def by_dnsperf(setup: Setup, experiment: Experiment, rate_qps: float, seconds: int, names: Path) -> Found:
    """Runs dnsperf while a trial of few queries keeps the authority there."""
    held = round(_HELD_QPS * (seconds + _DNSPERF_ENDS_S))
    request = queries_request(experiment, queries_of(experiment), _HELD_QPS, 1, frames=held)
    with ThreadPoolExecutor(1) as beside:
        trial = beside.submit(_engine(setup).run_trial, request)
        said = _dnsperf(setup, experiment, rate_qps, seconds, names)
        [stream] = trial.result().streams
    [sent] = map(int, re.findall(r"Queries sent:\s+(\d+)", said))
    codes = dict(re.findall(r"(\w+) (\d+) \([\d.]+%\)", said.partition("Response codes:")[2]))
    [mean_s] = map(float, re.findall(r"Average Latency \(s\):\s+([\d.]+)", said))
    return Found(int(codes.get("NOERROR", 0)) / sent, mean_s * 1e3, (_authority(stream) - 2 * held) / sent)


def _dnsperf(setup: Setup, experiment: Experiment, rate_qps: float, seconds: int, names: Path) -> str:
    inside = ["ip", "netns", "exec", setup.description["dut namespace"]]
    # natxy's own core polls, and would leave dnsperf no time.
    pinned = ["taskset", "--cpu-list", ",".join(map(str, setup.dut_cores))] if setup.dut_cores else []
    server = str(experiment.address_plan.left.dut.ip)
    asked = ["dnsperf", "-s", server, "-d", str(names), "-Q", f"{rate_qps:g}", "-l", str(seconds), "-t", "1"]
    with setup.gateway():  # for the priority of the server
        return subprocess.run([*inside, *pinned, *asked], check=True, capture_output=True, text=True).stdout


def _engine(setup: Setup) -> Engine:
    assert not isinstance(setup.tester, TcpHosts)
    return setup.tester


def _authority(stream: StreamResult) -> int:
    assert stream.queries
    return stream.queries.asked


def row(number: int, natxy: Found, dnsperf: Found, apart: float) -> tuple[str, bool]:
    """Returns a line of the table, and whether natxy and dnsperf agree."""
    good = abs(natxy.answered - dnsperf.answered) <= apart / 100
    good &= all(_ASKED[0] <= each.asked <= _ASKED[1] for each in (natxy, dnsperf))
    columns = [f"{100 * each.answered:.2f} % | {each.mean_ms:.2f} ms | {each.asked:.3f}" for each in (natxy, dnsperf)]
    return f"| {number} | {' | '.join(columns)} |", good


def table(found: Sequence[tuple[Found, Found]], apart: float) -> tuple[list[str], bool]:
    rows = [row(number, natxy, dnsperf, apart) for number, (natxy, dnsperf) in enumerate(found, 1)]
    head = "| | natxy: answered | mean delay | authority | dnsperf: answered | mean delay | authority |"
    return [head, f"|---|{6 * '---:|'}", *(line for line, _ in rows)], all(good for _, good in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="for the plan and the names")
    parser.add_argument("--server", default="unbound")
    parser.add_argument("--rate", type=float, default=2000.0, help="queries per second")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--apart", type=float, default=1.0, help="percent by which the answered shares may differ")
    arguments = parser.parse_args()
    folder: Path = arguments.folder
    folder.mkdir(parents=True, exist_ok=True)
    written, names = folder / "plan.yaml", folder / "names"
    text = PLAN.format(server=arguments.server, rate=arguments.rate, seconds=arguments.seconds)
    written.write_text(text, encoding="utf-8")
    plan = load_plan(written)
    [experiment] = plan.experiments
    each = round(2 * arguments.rate * arguments.seconds)
    found = []
    with reserved(plan, 1, RunListener()), Setups(plan, folder / "engine.log") as setups:
        setup = setups.provide(experiment)
        for number in range(arguments.repeat):
            start_anew(setup, experiment)
            natxy = by_natxy(setup, experiment, arguments.rate, number)
            first = _FIRST_NAME + number * each
            names.write_text("".join(f"new4-{first + i:016x}.natxy.test AAAA\n" for i in range(each)))
            start_anew(setup, experiment)
            found.append((natxy, by_dnsperf(setup, experiment, arguments.rate, arguments.seconds, names)))
    lines, good = table(found, arguments.apart)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
