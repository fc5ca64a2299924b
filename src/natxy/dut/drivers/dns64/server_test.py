# SPDX-License-Identifier: Apache-2.0
"""Tests the configuration and the commands for all DNS64 servers; tests/gateways starts them."""

from __future__ import annotations

import time
from ipaddress import IPv6Network, ip_interface
from typing import Any, Final

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.dns64.bind9 import Bind9Gateway
from natxy.dut.drivers.dns64.knot_resolver import KnotResolverGateway
from natxy.dut.drivers.dns64.pdns_recursor import PdnsRecursorGateway
from natxy.dut.drivers.dns64.server import Dns64Gateway
from natxy.dut.drivers.dns64.unbound import UnboundGateway
from natxy.errors import DutError, GatewayDiedError, GatewayMissingError
from natxy.plan.gateways.dns64 import Bind9Config, KnotResolverConfig, PdnsRecursorConfig, UnboundConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from tests.support.relay_dut import START, STOP, RelayDut

LINKS: Final = AddressPlan(
    left=LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64")),
    right=LinkAddresses(dut=ip_interface("2001:2:0:8000::1/64"), tester=ip_interface("2001:2:0:8000::2/64")),
)
SERVERS: Final[dict[type[Dns64Gateway[Any]], Any]] = {
    UnboundGateway: UnboundConfig,
    Bind9Gateway: Bind9Config,
    PdnsRecursorGateway: PdnsRecursorConfig,
    KnotResolverGateway: KnotResolverConfig,
}
EVERY: Final = pytest.mark.parametrize("server", SERVERS)
# The network namespace is in the names of files.
PATHS: Final = {server: f"/run/natxy-{server.name}-4026" for server in SERVERS}


def running(server: type[Dns64Gateway[Any]], **outputs: str) -> RelayDut:
    path = PATHS[server]
    place = RelayDut({})
    place.outputs = {
        "readlink /proc/77/exe": f"/usr/sbin/{server.program}\n",
        f"cat {path}.pid": "77\n",
        "ss": "UNCONN 0 0 [2001:2::1]:53 *:*\n",
        "cat /sys/class/net/a/operstate": "up\n",
        "cat /sys/class/net/b/operstate": "up\n",
        **place.outputs,
        **outputs,
    }
    return place


def driver(server: type[Dns64Gateway[Any]], place: RelayDut, **own: Any) -> Dns64Gateway[Any]:
    return server(SERVERS[server](**own), place, DutInterfaces("a", "b"), LINKS)


@EVERY
def test_the_tester_is_the_authority_of_a_server_with_the_plans_prefix(server: type[Dns64Gateway[Any]]) -> None:
    place = running(server)
    gateway = driver(server, place, prefix=IPv6Network("2001:2:0:64::/96"), threads=3)
    gateway.install()
    [settings] = place.files.values()
    for part in ("2001:2::1", "2001:2:0:8000::2", "natxy.test", "2001:2:0:64::"):
        assert part in settings
    assert "3" in settings.replace("53", "") or "3" in gateway.arguments()
    start = f"{START} --pidfile {PATHS[server]}.pid --output {PATHS[server]}.log --startas /opt/{server.program} --"
    assert place.asked[-1] == " ".join([start, *gateway.arguments()])


@EVERY
def test_nothing_stays(server: type[Dns64Gateway[Any]]) -> None:
    place = running(server)
    driver(server, place).uninstall()
    assert place.asked[-3].startswith(f"{STOP} --pidfile {PATHS[server]}.pid --name {server.program}")
    assert place.asked[-1] == f"rm -rf {PATHS[server]}"


@EVERY
def test_a_dut_without_the_server(server: type[Dns64Gateway[Any]]) -> None:
    with pytest.raises(GatewayMissingError, match=rf"{server.program} not found .*; apt install {server.package}"):
        driver(server, RelayDut({}, installed=False)).install()


def test_each_core_has_a_thread_unless_the_plan_says_how_many() -> None:
    place = running(UnboundGateway)
    gateway = driver(UnboundGateway, place)
    assert gateway.threads == 1
    gateway.set_cores([2, 3])
    assert gateway.threads == 2
    assert "num-threads: 2" in next(iter(place.files.values()))
    assert place.asked[-1] == "taskset --all-tasks --cpu-list --pid 2,3 77"
    assert driver(UnboundGateway, place, threads=4).threads == 4


@EVERY
def test_a_server_that_is_cleared_starts_anew(server: type[Dns64Gateway[Any]]) -> None:
    place = running(server)
    driver(server, place).clear()
    [stopped] = [i for i, asked in enumerate(place.asked) if asked.startswith(STOP)]
    [started] = [i for i, asked in enumerate(place.asked) if asked.startswith(START)]
    [listens] = [i for i, asked in enumerate(place.asked) if asked.startswith("ss ")]
    assert stopped < started < listens


# A server that takes the authority for dead answers nothing, for as long as a minute or for good.
@pytest.mark.parametrize(
    ("server", "has", "lacks"),
    [
        (UnboundGateway, "stub-addr: 2001:2:0:8000::2", "infra-"),
        (PdnsRecursorGateway, "\nserver-down-max-fails=0\n", "server-down-throttle-time"),
        (KnotResolverGateway, "policy.STUB('2001:2:0:8000::2')", "policy.PASS"),
    ],
)
def test_lost_answers_do_not_make_the_authority_dead(server: type[Dns64Gateway[Any]], has: str, lacks: str) -> None:
    settings = driver(server, running(server)).settings()
    assert has in settings
    assert lacks not in settings


def test_it_is_ready_when_it_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    place = running(UnboundGateway)
    listening = ["", "", place.outputs["ss"]]
    monkeypatch.setattr(time, "sleep", lambda _: place.outputs.update(ss=listening.pop(0)))
    place.outputs["ss"] = ""
    driver(UnboundGateway, place).wait_ready()
    assert listening == []


def test_a_server_that_does_not_listen_is_quoted(monkeypatch: pytest.MonkeyPatch) -> None:
    place = running(UnboundGateway, ss="", tail="could not bind\n")
    monkeypatch.setattr("natxy.dut.drivers.dns64.server._READY_S", 0.0)
    with pytest.raises(DutError, match=r"unbound does not listen at 2001:2::1, port 53, .*: could not bind"):
        driver(UnboundGateway, place).wait_ready()


@pytest.mark.parametrize("runs", ["", "/usr/bin/bash\n"])
def test_a_server_that_ended_is_quoted(runs: str) -> None:
    place = running(UnboundGateway, tail="out of memory\n")
    place.outputs["readlink /proc/77/exe"] = runs
    with pytest.raises(GatewayDiedError, match=r"its process unbound \(pid 77\) ended; it printed: out of memory"):
        driver(UnboundGateway, place).check_alive()
    place.outputs[f"cat {PATHS[UnboundGateway]}.pid"] = ""
    with pytest.raises(GatewayDiedError, match=r"pid unknown"):
        driver(UnboundGateway, place).check_alive()
