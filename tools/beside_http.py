# SPDX-License-Identifier: Apache-2.0
"""Compares what a TCP connection costs a gateway when natxy makes it, and when h2load and nginx make it.

    make vm && apt install nghttp2-client nginx-light
    python -m tools.beside_http FOLDER [--rate 250] [--seconds 10] [--repeat 6] [--procedure '{name: …}']

The gateway is an nftables NAT44 in one virtual machine of natxy's without KVM, whose instructions QEMU counts. Both
testers, in turns, open as many connections a second through it, and use and close each: natxy by the procedure, and
h2load and nginx, in a network namespace each, by the kernel's TCP, with one request a connection. nginx closes first
where natxy's responder does. natxy's step is such that no frames of two connections are due together, which would cost
the gateway less. What the virtual machine executes without traffic is measured before each turn, and taken off. A turn
that is invalid, or in which a connection failed, is measured again, up to four times.

The first table, in Markdown, has the medians of all turns, and their ratios with 95 % intervals of the ratios of the
single turns. The second has the instructions by module of the kernel, and the third the functions that differ most. The
exit code is 1 if the instructions of a connection or the rates are further apart than --apart percent, if a connection
failed, if the gateway's table has another number of entries than there were connections, or if it counted an invalid
frame.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import Final

from natxy.dut.drivers.linux import NftablesGateway
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.errors import NatxyError
from natxy.events.listener import RunListener
from natxy.events.run import Warned
from natxy.locks.session import reserved
from natxy.plan.experiment import Experiment
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.streams import lives_request
from natxy.results.dut_load import InstructionCount
from natxy.run.setup import Setup, Setups
from natxy.system.process_owner import Owner
from natxy.tcp.hosts import TcpHosts
from natxy.testbeds.namespaces import LabNamespaces
from natxy.testbeds.vm.qemu import GUEST_ADDRESS
from tools.connection_turns import COUNTERS, Pair, Turn, parts, table

PLAN: Final = """\
name: beside-http
timing: {{preset: lab, drain: 1s, max_pause: 1s, overrun_floor: 1s}}
testbed: {{kind: vm, cpus: 1, accelerator: tcg}}
defaults: {{gateway: nftables}}
experiments:
  - name: natxy
    procedure: {procedure}
    protocol: tcp
    frame_size: {frame_bytes}
    connections: {connections}
    ports: {{source: 32768-60999, destination: 80}}
    search: {{min_rate: 1, max_rate: {rate}}}
  # Its hosts are those of h2load and nginx.
  - name: hosts
    procedure: tcp-goodput
"""
# nginx answers from memory. A connection that it keeps is closed by the client.
NGINX: Final = """\
daemon off; master_process off; pid nginx.pid;
events {{ worker_connections 4096; }}
http {{
  access_log off; keepalive_timeout {keep_s};
  server {{ listen {address}:80 backlog=4096; location / {{ return 200 "{answer}"; }} }}
}}
"""
_KEEP_S: Final = 60
_LISTENS_WITHIN_S: Final = 5.0
# The last acknowledgments arrive, and the virtual machine rests again.
_ENDS_S: Final = 1.0
# A pause of the virtual machine that is longer than a step of natxy's loses frames of the connections of that moment.
_MOST_ATTEMPTS: Final = 5
_WARM_UP_CONNECTIONS: Final = 20
_MOST_FUNCTIONS: Final = 12
_READING: Final = (
    "cat /sys/class/net/left/statistics/rx_packets /sys/class/net/right/statistics/rx_packets "
    "/sys/class/net/left/statistics/rx_bytes /sys/class/net/right/statistics/rx_bytes; conntrack -S"
)
_LEAST_STEP_S: Final = 0.05
_GOLDEN: Final = 0.382
# Frames as the kernel counts them lack the frame check sequence.
_FCS_BYTES: Final = 4


@dataclass(frozen=True)
class Reading:
    """Holds what the gateway's interfaces have received from both sides, and the counters of its table."""

    frames: int
    bytes: int
    counters: Mapping[str, int]

    @classmethod
    def of(cls, text: str) -> Reading:
        left_frames, right_frames, left_bytes, right_bytes, *lines = text.splitlines()
        found = dict.fromkeys(COUNTERS, 0)
        for name, count in re.findall(r"\b(\w+)=(\d+)", "\n".join(lines)):
            if name in found:
                found[name] += int(count)
        frames = int(left_frames) + int(right_frames)
        return cls(frames, int(left_bytes) + int(right_bytes) + _FCS_BYTES * frames, found)


class Gateway:
    """Asks the gateway of a set-up what it spends."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup

    def rest(self) -> None:
        """Empties the connection table."""
        with self._setup.gateway() as gateway:
            gateway.clear()

    def executed(self, work: Callable[[], None]) -> InstructionCount:
        """Returns what the virtual machine executes while `work` runs."""
        watch = self._setup.watch
        assert watch
        watch.begin()
        work()
        watch.end()
        load = watch.load()
        if load is None or load.instructions is None:
            raise SystemExit("nothing counts the virtual machine's instructions: `make vm` builds what does")
        return load.instructions

    def reading(self) -> Reading:
        return Reading.of(self._asked(_READING))

    def states(self) -> dict[str, int]:
        """Returns the number of connections in the table by TCP's state."""
        return entries(self._asked("conntrack -L -p tcp"))

    def _asked(self, command: str) -> str:
        with self._setup.gateway() as gateway:
            assert isinstance(gateway, NftablesGateway)
            return gateway.transport.run(["sh", "-c", command]).stdout


@dataclass(frozen=True)
class Made:
    """Holds how a tester fared: the connections that had no whole life, and their rate."""

    failed: int
    rate_cps: float


def turn(setup: Setup, connections: int, seconds: float, make: Callable[[], Made], resent: Callable[[], int]) -> Turn:
    """Measures one turn, in which `make` makes the connections, and before it the virtual machine at rest."""
    gateway = Gateway(setup)
    gateway.rest()
    idle = gateway.executed(lambda: time.sleep(seconds))
    made: list[Made] = []
    before, resent_before = gateway.reading(), resent()
    executed = gateway.executed(lambda: made.append(make()))
    after = gateway.reading()
    return Turn(
        connections=connections,
        failed=made[0].failed,
        resent=resent() - resent_before,
        rate_cps=made[0].rate_cps,
        frames=after.frames - before.frames,
        bytes=after.bytes - before.bytes,
        counters={name: count - before.counters[name] for name, count in after.counters.items()},
        states=gateway.states(),
        executed=executed,
        idle=idle,
    )


def whole(measure: Callable[[], Turn]) -> Turn:
    """Returns the first turn without a problem, or the last of some."""
    for _ in range(_MOST_ATTEMPTS):
        found = measure()
        if not (problems := [*found.problems()]):
            break
        print(f"a turn has a problem: {'; '.join(problems)}", file=sys.stderr, flush=True)
    return found


def by_natxy(setup: Setup, experiment: Experiment, rate_cps: float, seconds: float, seed: int) -> Turn:
    engine = setup.tester
    assert not isinstance(engine, TcpHosts)
    assert experiment.connections is not None
    connections = experiment.connections

    def make() -> Made:
        result = engine.run_trial(lives_request(experiment, rate_cps, seed))
        if result.verdict == Verdict.INVALID:
            print(f"natxy's trial is invalid: {result.reason}", file=sys.stderr, flush=True)
            return Made(connections, rate_cps)
        lost = max(stream.planned - stream.received for stream in result.streams)
        return Made(lost, result.streams[0].offered_rate_fps)

    return whole(lambda: turn(setup, connections, seconds, make, lambda: 0))


class Server:
    """Writes the settings of nginx into a folder, and holds the commands that start it and lead the client to it."""

    def __init__(self, experiment: Experiment, folder: Path, *, keeps: bool, answer_bytes: int) -> None:
        self.address = str(experiment.addresses.right_hosts.first)
        self.route = ["ip", "route", "replace", "default", "via", str(experiment.addresses.left.dut.ip)]
        self.log = folder / "nginx.log"
        settings = folder.resolve() / "nginx.conf"
        keep_s = _KEEP_S if keeps else 0
        text = NGINX.format(keep_s=keep_s, address=self.address, answer="x" * answer_bytes)
        settings.write_text(text, encoding="utf-8")
        self.argv = ["nginx", "-e", "stderr", "-p", str(settings.parent), "-c", str(settings)]


class HttpHosts:
    """Runs h2load and nginx in the network namespaces of natxy's hosts, on the cores of the tester."""

    def __init__(self, setup: Setup, server: Server) -> None:
        namespaces = LabNamespaces(Owner.current())
        pinned = ["taskset", "--cpu-list", ",".join(map(str, setup.tester_cores))]
        self._inside = {side: ["ip", "netns", "exec", namespaces.host(side), *pinned] for side in Side}
        # The gateway's programs have the usual priority, but natxy itself the lowest.
        self._priority = setup.gateway
        self._server = server

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Runs nginx within the context."""
        with self._server.log.open("wb") as log_file:
            with self._priority():
                nginx = subprocess.Popen([*self._inside[Side.RIGHT], *self._server.argv], stderr=log_file)
            try:
                self._await_listening()
                # The hosts have routes only for programs that choose a source address, which h2load does not.
                self._run(Side.LEFT, *self._server.route)
                yield
            finally:
                nginx.terminate()
                nginx.wait()

    def make(self, connections: int, rate_cps: int) -> Made:
        """Opens connections at a rate, each for one request, and waits until the last one is closed."""
        many, period_ms = paces(rate_cps)
        pace = [f"--rate={many}", f"--rate-period={period_ms}ms", f"--clients={connections}"]
        asked = ["h2load", "--h1", *pace, f"--requests={connections}", f"http://{self._server.address}/"]
        with self._priority():
            made = h2load_made(self._run(Side.LEFT, *asked), connections)
        time.sleep(_ENDS_S)
        return made

    def resent(self) -> int:
        """Returns how many segments both hosts have sent again."""
        return sum(resent_segments(self._run(side, "cat", "/proc/net/snmp")) for side in Side)

    def _await_listening(self) -> None:
        deadline_s = time.monotonic() + _LISTENS_WITHIN_S
        while not self._run(Side.RIGHT, "ss", "-Htln", "sport = :80").strip():
            if time.monotonic() > deadline_s:
                raise SystemExit(f"nginx does not listen: look at {self._server.log}")
            time.sleep(0.02)

    def _run(self, side: Side, *argv: str) -> str:
        return subprocess.run([*self._inside[side], *argv], check=True, capture_output=True, text=True).stdout


def by_http(setup: Setup, hosts: HttpHosts, connections: int, rate_cps: int, seconds: float) -> Turn:
    with hosts.serving():
        # The gateway has to ask for the hosts' hardware addresses.
        hosts.make(_WARM_UP_CONNECTIONS, rate_cps)
        make = partial(hosts.make, connections, rate_cps)
        return whole(lambda: turn(setup, connections, seconds, make, hosts.resent))


def lone_step_ms(rate_cps: int) -> float:
    """Returns a step after which no frames of two connections are due at the same moment.

    The golden section of the time between two connections keeps the frames of any number of steps apart.
    """
    return round(1000 * (ceil(_LEAST_STEP_S * rate_cps) + _GOLDEN) / rate_cps, 3)


def _as_hosts(rate_cps: int) -> str:
    """Returns the procedure whose connections have as many frames as those of two hosts."""
    return f"{{name: tcp-connection-rate, acknowledge: true, step: {lone_step_ms(rate_cps)}ms}}"


def paces(rate_cps: int) -> tuple[int, int]:
    """Returns how many connections h2load has to open at once, and every how many milliseconds."""
    period_ms = next(period_ms for period_ms in range(1, 1001) if rate_cps * period_ms % 1000 == 0)
    return rate_cps * period_ms // 1000, period_ms


def h2load_made(printed: str, connections: int) -> Made:
    [(took, unit)] = re.findall(r"finished in ([\d.]+)(m?s),", printed)
    [succeeded] = map(int, re.findall(r"requests: .* (\d+) succeeded,", printed))
    if not succeeded:
        raise SystemExit(f"h2load reached no server: {printed}")
    return Made(connections - succeeded, succeeded / (float(took) / (1000 if unit == "ms" else 1)))


def resent_segments(snmp: str) -> int:
    """Returns the counter RetransSegs of /proc/net/snmp."""
    names, counts = (line.split() for line in snmp.splitlines() if line.startswith("Tcp:"))
    return int(counts[names.index("RetransSegs")])


def entries(printed: str) -> dict[str, int]:
    """Returns the entries that `conntrack -L` printed by TCP's state, without those of natxy's own ssh."""
    lines = [line for line in printed.splitlines() if f" dst={GUEST_ADDRESS} " not in line]
    return dict(Counter(re.findall(r"^tcp +6 \d+ (\w+)", "\n".join(lines), re.MULTILINE)))


class Told(RunListener):
    def warned(self, event: Warned) -> None:
        print(event.text, file=sys.stderr, flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="for the plan, and the files of nginx")
    parser.add_argument("--rate", type=int, default=250, help="connections per second")
    parser.add_argument("--seconds", type=int, default=10, help="how long each turn opens connections")
    parser.add_argument("--repeat", type=int, default=6)
    parser.add_argument(
        "--procedure",
        help="natxy's procedure, in YAML; default: tcp-connection-rate, with such a step and the hosts' frames",
    )
    parser.add_argument("--frame-bytes", type=int, default=128, help="size of natxy's frames")
    parser.add_argument("--answer-bytes", type=int, default=64, help="size of nginx's answers, without their headers")
    parser.add_argument("--apart", type=float, default=10.0, help="percent by which the medians may differ")
    return parser.parse_args()


def main() -> int:
    given = arguments()
    folder: Path = given.folder
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / "plan.yaml"
    connections = given.rate * given.seconds
    text = PLAN.format(
        procedure=given.procedure or _as_hosts(given.rate),
        frame_bytes=given.frame_bytes,
        connections=connections,
        rate=given.rate,
    )
    written.write_text(text, encoding="utf-8")
    try:
        plan = load_plan(written)
    except NatxyError as error:
        raise SystemExit(f"--procedure or --frame-bytes: {error}") from error
    natxy, hosts = plan.experiments
    closing = natxy.procedure.model_dump().get("close")
    if closing == "reset":
        raise SystemExit("--procedure: h2load resets no connection; give `close: initiator` or `close: responder`")
    pairs: list[Pair] = []
    with reserved(plan, 1, Told()), Setups(plan, folder / "engine.log") as setups:
        for number in range(given.repeat):
            own = by_natxy(setups.provide(natxy), natxy, given.rate, given.seconds, number)
            setup = setups.provide(hosts)
            server = Server(hosts, folder, keeps=closing != "responder", answer_bytes=given.answer_bytes)
            theirs = by_http(setup, HttpHosts(setup, server), connections, given.rate, given.seconds)
            pairs.append((own, theirs))
            print(f"{number + 1}: natxy {own.cost:,.0f}, hosts {theirs.cost:,.0f}", file=sys.stderr, flush=True)
    lines, good = table(pairs, given.apart)
    lines += parts(pairs, "module", Turn.modules, _MOST_FUNCTIONS)
    lines += parts(pairs, "function", Turn.functions, _MOST_FUNCTIONS)
    print("\n".join(lines))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
