# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import nullcontext
from ipaddress import ip_address
from typing import Any

import pytest

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, HostError
from natxy.plan.model.traffic import Directions
from natxy.system.machine_sysctls import MachineSysctls
from natxy.tcp import iperf3
from natxy.tcp.hosts import TcpTest, Transfer
from natxy.tcp.iperf3 import Host, Iperf3Hosts


def summed(bits_per_second: float, retransmits: int, suffix: str = "") -> dict[str, Any]:
    return {
        # The sender reports retransmits, the receiver goodput.
        f"sum_sent{suffix}": {"bits_per_second": 2 * bits_per_second, "retransmits": retransmits},
        f"sum_received{suffix}": {"bits_per_second": bits_per_second},
    }


class Machine:
    """Fakes the transport to a host that answers iperf3's client with `report`."""

    def __init__(self, report: dict[str, Any] | str = "", version: int = 0, name: str = "a machine") -> None:
        self.machine = MachineSysctls()
        self.network = OwnSysctls(self)
        self.ran: list[list[str]] = []
        self._report = report if isinstance(report, str) else json.dumps(report)
        self._version = version
        self._name = name

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.ran.append([*argv])
        done = CompletedCommand(tuple(argv), 0, "iperf 3.12 (cJSON 1.7.15)", "")
        if "--client" in argv:
            done = CompletedCommand(tuple(argv), 0, self._report, "")
        elif "--version" in argv:
            done = CompletedCommand(tuple(argv), self._version, done.stdout, "No such file or directory")
        if check:
            done.check()
        return done

    def describe(self) -> str:
        return self._name


def hosts(left: Machine, right: Machine) -> Iperf3Hosts:
    client = Host(left, ip_address("2001:2::2"), cores=(0, 2))
    return Iperf3Hosts(client, Host(right, ip_address("198.19.0.2")), nullcontext)


def tcp_test(directions: Directions, congestion_control: str | None = None) -> TcpTest:
    server = ip_address("2001:2:0:64::c613:2")
    return TcpTest(server, 5201, 4, directions, duration_s=7, congestion_control=congestion_control)


def option(argv: list[str], name: str) -> str:
    return argv[argv.index(name) + 1]


@pytest.mark.parametrize(
    ("directions", "end", "transfers"),
    [
        (Directions.FORWARD, summed(9e8, 3), {"forward": Transfer(9e8, 3)}),
        (Directions.REVERSE, summed(8e8, 2), {"reverse": Transfer(8e8, 2)}),
        (
            Directions.BIDIRECTIONAL,
            summed(5e8, 1) | summed(4e8, 0, "_bidir_reverse"),
            {"forward": Transfer(5e8, 1), "reverse": Transfer(4e8, 0)},
        ),
    ],
)
def test_goodput_is_what_the_receivers_got(
    directions: Directions, end: dict[str, Any], transfers: dict[str, Transfer]
) -> None:
    assert hosts(Machine({"end": end}), Machine()).transfer(tcp_test(directions)) == transfers


def test_the_client_gets_every_option_of_the_test() -> None:
    left, right = Machine({"end": summed(1e6, 0)}), Machine()
    hosts(left, right).transfer(tcp_test(Directions.REVERSE, "cubic"))
    client, server = left.ran[0], right.ran[0]
    assert client[:4] == ["taskset", "--cpu-list", "0,2", "iperf3"]
    assert "--reverse" in client
    options = ("--client", "--bind", "--port", "--time", "--parallel", "--congestion")
    assert [option(client, name) for name in options] == [
        "2001:2:0:64::c613:2", "2001:2::2", "5201", "7", "4", "cubic",
    ]  # fmt: skip
    assert [option(server, name) for name in ("--bind", "--port")] == ["198.19.0.2", "5201"]
    assert not any("pkill" in " ".join(argv) for argv in right.ran), "a server of one test ends itself"


def test_an_unreachable_server_is_the_gateways_fault_and_is_ended() -> None:
    right = Machine()
    error = "unable to connect to server: Connection timed out"
    with pytest.raises(DutError, match=r"to 2001:2:0:64::c613:2, port 5201, .*timed out; check the") as caught:
        hosts(Machine({"end": {}, "error": error}), right).transfer(tcp_test(Directions.FORWARD))
    assert caught.value.exit_code == 4
    assert f"pkill --pidfile {option(right.ran[0], '--pidfile')};" in right.ran[-1][-1]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        ("unable to set TCP_CONGESTION: not supported on this host", r"no TCP congestion control 'bbr': load its mod"),
        ("the server is busy running a test. try again later", r"on the right machine \(198.19.0.2\): the server is b"),
        ("unable to connect to server: Cannot assign requested address", r"on the left machine \(2001:2::2\): unable"),
        ("unable to create a new stream: Cannot allocate memory", r"on the left machine .*gateway is not to blame"),
    ],
)
def test_a_hosts_own_fault_is_never_the_gateways(error: str, says: str) -> None:
    left, right = Machine({"end": {}, "error": error}, name="the left machine"), Machine(name="the right machine")
    with pytest.raises(HostError, match=says) as caught:
        hosts(left, right).transfer(tcp_test(Directions.FORWARD, "bbr"))
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("error", ["Connection timed out", "Connection refused", "No route to host"])
def test_network_errors_are_the_gateways_fault(error: str) -> None:
    report = {"end": {}, "error": f"unable to connect to server: {error}"}
    with pytest.raises(DutError, match=f"through the gateway: .*{error}"):
        hosts(Machine(report), Machine()).transfer(tcp_test(Directions.FORWARD))


@pytest.mark.parametrize(
    ("printed", "says"),
    [
        ("Segmentation fault", "Segmentation fault"),
        ("\ufffd{", "\ufffd{"),
        ("[1]", r"\[1\]"),
        ("{}", "its report has no 'end'"),
        ('{"end": []}', "its report has no "),
    ],
)
def test_no_report_at_all(printed: str, says: str) -> None:
    with pytest.raises(HostError, match=rf"failed on a machine .*: {says}"):
        hosts(Machine(printed), Machine()).transfer(tcp_test(Directions.FORWARD))


def test_a_suspended_machine_measures_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clocks = iter([100.0, 190.0])
    monkeypatch.setattr(iperf3, "suspended_s", lambda: next(clocks))
    with pytest.raises(HostError, match=r"suspended for 90\.0 s during a test"):
        hosts(Machine({"end": {}}), Machine()).transfer(tcp_test(Directions.FORWARD))


def test_a_host_without_iperf3() -> None:
    with pytest.raises(HostError, match="iperf3 doesn't run on a machine: `apt install iperf3` there"):
        hosts(Machine(version=127), Machine()).describe()
