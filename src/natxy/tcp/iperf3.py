# SPDX-License-Identifier: Apache-2.0
"""Measures TCP with iperf3: a client on the left host, a server on the right one."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

from natxy.dut.transport.base import CompletedCommand, Lasting, Transport
from natxy.errors import DutError, HostError
from natxy.plan.model.addresses import IPAddress
from natxy.plan.model.traffic import Directions
from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner
from natxy.system.suspension import NOTICED_S, suspended_s
from natxy.tcp.hosts import Foreground, TcpHosts, TcpTest, Transfer

CONNECT_TIMEOUT_S: Final = 5
# A server ends by itself after this time, should natxy be killed.
SERVER_IDLE_S: Final = 60
LISTENING_WITHIN_S: Final = 5.0
# Seconds to connect, and to exchange results at the end.
OVERHEAD_S: Final = 30

# iperf3's errors that the network causes; every other error is a host's own.
_UNREACHED: Final = re.compile(
    r"unable to connect (?!.*Cannot assign requested address)|timed out|reset by peer|No route to host"
)

_DIRECTIONS: Final = {
    Directions.FORWARD: {"forward": ""},
    Directions.REVERSE: {"reverse": ""},
    Directions.BIDIRECTIONAL: {"forward": "", "reverse": "_bidir_reverse"},
}
_OPTIONS: Final = {
    Directions.FORWARD: [],
    Directions.REVERSE: ["--reverse"],
    Directions.BIDIRECTIONAL: ["--bidir"],
}


@dataclass(frozen=True)
class Host:
    """Holds one host: how to reach it, its address on the link, and the cores of its machine that iperf3 runs on."""

    transport: Transport
    address: IPAddress
    cores: tuple[int, ...] = ()

    def iperf3(self, *options: str, timeout_s: float = OVERHEAD_S) -> CompletedCommand:
        pinned = ["taskset", "--cpu-list", ",".join(map(str, self.cores))] if self.cores else []
        return self.transport.run([*pinned, "iperf3", *options], timeout_s=timeout_s, check=False)

    def version(self) -> str:
        """Returns iperf3's version. Raises HostError when the host has no iperf3."""
        try:
            done = self.iperf3("--version")
            done.check()
        except DutError as error:
            where = self.transport.describe()
            raise HostError(f"iperf3 doesn't run on {where}: `apt install iperf3` there. {error}") from error
        return " ".join(done.stdout.split()[:2])

    def congestion_control(self) -> str:
        return self.transport.run(["sysctl", "-n", "net.ipv4.tcp_congestion_control"]).stdout.strip()


class Iperf3Hosts(TcpHosts):
    """Runs iperf3 on two hosts; it starts them within `foreground`."""

    def __init__(self, client: Host, server: Host, foreground: Foreground) -> None:
        self._client = client
        self._server = server
        self._foreground = foreground
        self._pid_file = f"/run/natxy-iperf3-{Owner.current()}.pid"

    def transfer(self, test: TcpTest) -> dict[str, Transfer]:
        before_s = suspended_s()
        congestion = ["--congestion", test.congestion_control] if test.congestion_control else []
        with self._foreground(), self._listening(test.port):
            done = self._client.iperf3(
                *("--client", str(test.server), "--bind", str(self._client.address), "--port", str(test.port)),
                *("--time", str(test.duration_s), "--parallel", str(test.flows), "--json"),
                *("--connect-timeout", str(1000 * CONNECT_TIMEOUT_S), *congestion, *_OPTIONS[test.directions]),
                timeout_s=test.duration_s + OVERHEAD_S,
            )
            if (away_s := suspended_s() - before_s) > NOTICED_S:
                raise HostError(f"this machine was suspended for {away_s:.1f} s during a test; keep it awake")
            report = self._reported(done, test)
            try:
                return _transfers(report, test.directions)
            except (LookupError, TypeError) as error:
                raise _host_error(self._client, f"its report has no {error}") from error

    def describe(self) -> dict[str, str]:
        hosts = {"left host": self._client, "right host": self._server}
        return {name: f"{_described(host)}" for name, host in hosts.items()}

    @contextmanager
    def _listening(self, port: int) -> Iterator[None]:
        """Runs a server for one test on the right host."""
        options = ("--server", "--daemon", "--one-off", "--idle-timeout", str(SERVER_IDLE_S))
        with self._stopped_on_error():
            started = self._server.iperf3(
                *options, "--bind", str(self._server.address), "--port", str(port), "--pidfile", self._pid_file
            )
            if started.returncode != 0:
                raise _host_error(self._server, (started.stderr or started.stdout).strip())
            self._await_listening(port)
            yield

    @contextmanager
    def _stopped_on_error(self) -> Iterator[None]:
        """Stops the server when the context ends with an error; a server whose client is served ends by itself."""
        transport = self._server.transport
        # The server deletes its file itself, unless it is killed.
        stop = ("sh", "-c", f"pkill --pidfile {self._pid_file}; rm -f {self._pid_file}")
        with ExitStack() as ended:
            if isinstance(transport, Lasting):
                what, ledger = f"the iperf3 server of {self._pid_file}", Ledger()
                entry = ledger.add(
                    Kind.SETTING, what, transport.place(), before=lambda: "not there", undo=lambda _: (stop,)
                )
                ended.callback(ledger.remove, entry)
            try:
                yield
            except BaseException:
                transport.run(stop)
                raise
            # It may not have come to that yet, and be killed before.
            transport.run(["rm", "-f", self._pid_file])

    def _await_listening(self, port: int) -> None:
        deadline = time.monotonic() + LISTENING_WITHIN_S
        while not self._server.transport.run(["ss", "-Htln", f"sport = :{port}"]).stdout.strip():
            if time.monotonic() > deadline:
                raise HostError(
                    f"iperf3 does not listen on {self._server.address}, port {port}, of "
                    f"{self._server.transport.describe()}: check that it has the address and that the port is free"
                )
            time.sleep(0.02)

    def _reported(self, done: CompletedCommand, test: TcpTest) -> dict[str, Any]:
        """Returns iperf3's report. Raises DutError when the hosts cannot reach each other, HostError when one fails."""
        try:
            report = json.loads(done.stdout)
        except ValueError:
            report = None
        if not isinstance(report, dict):
            raise _host_error(self._client, (done.stdout or done.stderr).strip() or "nothing")
        if not (error := str(report.get("error", ""))):
            return report
        if _UNREACHED.search(error):
            raise DutError(
                f"iperf3 could not measure from {self._client.address} to {test.server}, port {test.port}, through the "
                f"gateway: {error}; check the gateway's routes and rules"
            )
        if "CONGESTION" in error:
            raise HostError(
                f"{_place(self._client)} or {_place(self._server)} has no TCP congestion control "
                f"{test.congestion_control!r}: load its module there, or choose one of "
                "`sysctl net.ipv4.tcp_available_congestion_control` as `congestion_control`"
            )
        raise _host_error(self._server if "the server" in error else self._client, error)


def _host_error(host: Host, said: str) -> HostError:
    return HostError(f"iperf3 failed on {_place(host)}: {said}; repair this host, the gateway is not to blame")


def _place(host: Host) -> str:
    return f"{host.transport.describe()} ({host.address})"


def _transfers(report: Mapping[str, Any], directions: Directions) -> dict[str, Transfer]:
    end = report["end"]
    return {
        name: Transfer(
            goodput_bps=end[f"sum_received{suffix}"]["bits_per_second"],
            retransmits=end[f"sum_sent{suffix}"]["retransmits"],
        )
        for name, suffix in _DIRECTIONS[directions].items()
    }


def _described(host: Host) -> str:
    cores = f" on core {', '.join(map(str, host.cores))}" if host.cores else ""
    where = host.transport.describe()
    return f"{host.version()}{cores}, {where}, {host.address}, TCP congestion control {host.congestion_control()}"
