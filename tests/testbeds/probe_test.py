# SPDX-License-Identifier: Apache-2.0
"""Tests that what keeps frames from passing a DUT is found before the first trial, each cause with real frames.

Tester and DUT are network namespaces, joined by three cables.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.dut import registry
from natxy.dut.base import DutInterfaces
from natxy.dut.transport.local import NetnsTransport
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortMedium, PortsOpen, PortSpec
from natxy.engine.program import find_engine
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.probe.path import ProbedPath
from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.system.machine_sysctls import MachineSysctls
from tests.support import needs
from tests.support.command import natxy
from tests.support.iproute import ip
from tests.support.timing import takes_at_most
from tests.support.undisturbed import undisturbed

pytestmark = needs.LAB

TESTER, DUT = (f"probe-{os.getpid()}-{name}" for name in ("tester", "dut"))
ENDS: Final = ("left", "right", "other")
OFFLOADS: Final = ("tx", "rx", "gro", "gso", "tso", "sg")
NO_FAULT: Final = """
ip address flush scope global dev d-left; ip address flush scope global dev d-right
ip address flush scope global dev d-other; ip -4 route flush table main; ip -6 route flush table main
sysctl -qw net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.all.arp_ignore=0
nft flush ruleset; iptables-legacy -P FORWARD ACCEPT
"""
# It forwards, and does nothing else to the frames.
FORWARDS: Final = [["sysctl", "-qw", "net.ipv4.ip_forward=1"]]
NAT: Final = {
    "driver": "command",
    "stateful": True,
    "masquerades": True,
    "apply": FORWARDS,
    "clear": [["conntrack", "-F"]],
}


def in_dut(script: str) -> None:
    done = subprocess.run(["ip", "netns", "exec", DUT, "sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def cables() -> Iterator[None]:
    with ExitStack() as stack:
        for namespace in (TESTER, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            every = [f"net.{each}" for each in ("ipv6.conf.all.accept_dad=0", "ipv6.conf.default.accept_dad=0")]
            ip("netns", "exec", namespace, "sysctl", "-qw", *every)
        # As in a lab: the engine alone answers for the tester.
        silent = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]
        ip("netns", "exec", TESTER, "sysctl", "-qw", *silent, "net.ipv4.conf.all.arp_ignore=8")
        for end in ENDS:
            ip("-n", TESTER, "link", "add", f"t-{end}", "type", "veth", "peer", "name", f"d-{end}", "netns", DUT)
            for namespace, name in ((TESTER, f"t-{end}"), (DUT, f"d-{end}")):
                off = [word for offload in OFFLOADS for word in (offload, "off")]
                ip("netns", "exec", namespace, "ethtool", "-K", name, *off)
                ip("-n", namespace, "link", "set", name, "up")
        yield


@pytest.fixture(scope="module")
def engine(cables: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[EngineClient]:
    first, *others = sorted(os.sched_getaffinity(0))
    argv = ["--worker-cores", str(first), "--main-core", str(others[0] if others else first)]
    log = tmp_path_factory.mktemp("engine") / "engine.log"
    client = EngineClient(["ip", "netns", "exec", TESTER, str(find_engine()), *argv], log)
    try:
        ports = [
            PortSpec(side=side, device=f"net_af_packet{number},iface=t-{side}", medium=PortMedium.VETH)
            for number, side in enumerate(Side)
        ]
        client.open_ports(PortsOpen(ports=ports))
        yield client
    finally:
        client.close()


@pytest.fixture(autouse=True)
def without_fault(cables: None) -> None:
    in_dut(NO_FAULT)


@pytest.fixture
def little_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits less for the probe's frames where none can arrive: the engine keeps a core busy meanwhile."""
    monkeypatch.setattr("natxy.probe.frames._DRAIN_S", 0.05)


def experiment(gateway: str | dict[str, Any] = "linux-forward", **settings: Any) -> Experiment:
    written = {"name": "x", "procedure": "throughput", "gateway": gateway, "search": {"max_rate": "1M"}} | settings
    return resolve(
        Plan.model_validate({"name": "p", "testbed": {"kind": "lab"}, "experiments": [written]})
    ).experiments[0]


def found(
    engine: EngineClient,
    measured: Experiment,
    fault: str = "true",
    *,
    left: str = "d-left",
    right: str = "d-right",
    dut_macs: Mapping[str, str] | None = None,
) -> str | None:
    """Returns what is found with a fault in the DUT, by a set-up that knows its interfaces by these names and sends to
    these addresses of theirs."""
    transport = NetnsTransport(DUT, MachineSysctls())
    gateway = registry.create(measured.gateway, transport, DutInterfaces(left, right), measured.address_plan)
    if measured.gateway.driver == "command":
        forward = registry.create(experiment().gateway, transport, DutInterfaces(left, right), measured.address_plan)
        forward.set_links()
    else:
        gateway.set_links()
    gateway.apply()
    in_dut(fault)
    try:
        # The counters of a veth need no time.
        ProbedPath(engine, gateway, measured, asks_dut=True, sleep=lambda _: None, dut_macs=dut_macs or {}).check()
    except DutError as error:
        return str(error)
    finally:
        gateway.remove()
    return None


@pytest.mark.parametrize(
    "measured",
    [
        experiment(),
        experiment(family="ipv6", frame_size=1518),
        experiment("nftables", procedure="connection-rate", connections=1000),
        experiment("nftables", connections=1000, phase1_rate="1k", addresses="multiple"),
    ],
)
def test_nothing_is_found_without_a_fault_and_soon(engine: EngineClient, measured: Experiment) -> None:
    def checked() -> float:
        begun = time.monotonic()
        assert found(engine, measured) is None
        return time.monotonic() - begun

    takes_at_most(5, checked)


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_swapped_interfaces(engine: EngineClient, family: str) -> None:
    said = found(engine, experiment(family=family), left="d-right", right="d-left")
    assert said
    assert "interfaces are swapped: the tester's left port is cabled to d-left; exchange the two cables" in said


def dut_macs(**ends: str) -> dict[str, str]:
    """Returns the addresses of the DUT's interfaces at these ends, by the tester's side."""
    show = ["netns", "exec", DUT, "cat"]
    return {side: ip(*show, f"/sys/class/net/d-{end}/address").strip() for side, end in ends.items()}


@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_addresses_of_the_plan_that_are_right(engine: EngineClient, family: str) -> None:
    assert found(engine, experiment(family=family), dut_macs=dut_macs(left="left", right="right")) is None


@pytest.mark.usefixtures("little_patience")
def test_swapped_addresses_of_the_plan(engine: EngineClient) -> None:
    said = found(engine, experiment(), dut_macs=dut_macs(left="right", right="left"))
    assert said
    assert "the plan's MAC addresses of the DUT are swapped: testbed.left.dut_mac is" in said
    assert "exchange testbed.left.dut_mac and testbed.right.dut_mac" in said


@pytest.mark.usefixtures("little_patience")
def test_an_address_of_the_plan_that_no_interface_there_has(engine: EngineClient) -> None:
    said = found(engine, experiment(), dut_macs={"right": "02:00:00:00:0b:0b"})
    assert said
    assert "testbed.right.dut_mac is 02:00:00:00:0b:0b, and the DUT's d-right has " in said


@pytest.mark.usefixtures("little_patience")
def test_swapped_interfaces_with_addresses_of_the_plan(engine: EngineClient) -> None:
    macs = dut_macs(left="left", right="right")
    said = found(engine, experiment(), left="d-right", right="d-left", dut_macs=macs)
    assert said
    assert "interfaces are swapped: the tester's left port is cabled to d-left; exchange the two cables" in said


@pytest.mark.usefixtures("little_patience")
def test_a_cable_in_the_wrong_port(engine: EngineClient) -> None:
    said = found(engine, experiment(), left="d-other")
    assert said
    assert "the tester's left port is cabled to the DUT's d-left, and not to d-other; move the cable" in said


@pytest.mark.usefixtures("little_patience")
def test_a_cable_in_the_wrong_port_of_a_dut_that_is_strict_about_its_addresses(engine: EngineClient) -> None:
    said = found(engine, experiment(), "sysctl -qw net.ipv4.conf.all.arp_ignore=1", right="d-other")
    assert said
    assert "no reply for 198.19.0.1 on the right side" in said
    assert "nothing that the tester's right port sends arrives at the DUT's d-other" in said


@pytest.mark.usefixtures("little_patience")
def test_a_link_that_is_down(engine: EngineClient) -> None:
    try:
        said = found(engine, experiment(), "ip link set d-right down")
    finally:
        in_dut("ip link set d-right up")
    assert said
    assert "the DUT's interface d-right has no link" in said


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize("family", ["ipv4", "ipv6"])
def test_a_default_route_through_a_test_interface(engine: EngineClient, family: str) -> None:
    measured = experiment(addresses="multiple", family=family)
    links = measured.addresses
    fault = (
        f"ip route del {links.right.behind[0]} via {links.right.tester.ip}; "
        f"ip route add default via {links.left.tester.ip} dev d-left"
    )
    said = found(engine, measured, fault)
    assert said
    receiver = links.right_hosts.first
    assert f"no route of its own to {receiver}, and its default route leads through the test interface d-left" in said


@pytest.mark.usefixtures("little_patience")
def test_the_reverse_path_filter(engine: EngineClient) -> None:
    measured = experiment(addresses="multiple")
    strict = f"sysctl -qw net.ipv4.conf.all.rp_filter=1; ip route add {measured.addresses.left_hosts.first} dev d-other"
    said = found(engine, measured, strict)
    assert said
    assert "none of 16 probe frames arrived" in said
    assert "the DUT's reverse path filter drops the frames" in said
    assert "net.ipv4.conf.d-left.rp_filter to 0" in said


def test_the_reverse_path_filter_that_drops_even_address_requests(engine: EngineClient) -> None:
    strict = "sysctl -qw net.ipv4.conf.all.rp_filter=1; ip route add 198.18.0.2 dev d-other"
    said = found(engine, experiment(), strict)
    assert said
    assert "no reply for 198.18.0.1" in said
    assert "the DUT's reverse path filter drops the frames" in said


# The kernel limits its ICMP answers of these types, those of all network namespaces together.
_EVERY_ANSWER: Final = "sysctl -qw net.ipv4.icmp_ratemask=0 net.ipv6.icmp.ratemask=255; "
FORWARD_CHAIN: Final = (
    "nft add table inet fw; nft 'add chain inet fw f {{ type filter hook forward priority 0; {} }}'; "
)


@pytest.mark.usefixtures("little_patience")
@pytest.mark.parametrize(
    ("firewall", "named"),
    [
        (FORWARD_CHAIN.format("policy drop;"), "`nft inet fw f: policy drop`"),
        (
            FORWARD_CHAIN.format("") + "nft add rule inet fw f iifname d-left counter drop",
            '`nft inet fw f: iifname "d-left" drop`',
        ),
        ("iptables-legacy -P FORWARD DROP", "`iptables-legacy -P FORWARD DROP`"),
    ],
)
def test_a_firewall_that_drops(engine: EngineClient, firewall: str, named: str) -> None:
    said = found(engine, experiment(), firewall)
    assert said
    assert f"a firewall on the DUT drops the frames ({named}); let it pass what comes from d-left" in said


@pytest.mark.parametrize(
    ("family", "how", "answer"),
    [
        ("ipv4", "with icmpx admin-prohibited", "administratively prohibited"),
        ("ipv6", "with icmpx admin-prohibited", "administratively prohibited"),
        ("ipv4", "", "port unreachable"),
    ],
)
def test_a_firewall_that_refuses(engine: EngineClient, family: str, how: str, answer: str) -> None:
    reject = _EVERY_ANSWER + FORWARD_CHAIN.format("") + f"nft add rule inet fw f reject {how}"
    said = found(engine, experiment(family=family), reject)
    assert said
    assert f"a firewall refuses the frames and answers by ICMP, {answer} (`nft inet fw f: reject" in said


def test_a_firewall_against_replies(engine: EngineClient) -> None:
    drop = FORWARD_CHAIN.format("") + "nft add rule inet fw f iifname d-right drop"
    said = found(engine, experiment("nftables", procedure="connection-rate", connections=10), drop)
    assert said
    assert said.startswith(
        "the gateway forwards nothing from the right to the left: before the first trial, none of 16"
    )
    assert '`nft inet fw f: iifname "d-right" drop`' in said


def test_an_offload_that_merges_frames(engine: EngineClient) -> None:
    # A veth receives frame by frame, where a card receives several at once: the time-out has them wait for each other.
    merge = (
        "echo 2000000 > /sys/class/net/d-left/gro_flush_timeout; echo 1 > /sys/class/net/d-left/napi_defer_hard_irqs; "
        "ethtool -K d-left gro on rx-udp-gro-forwarding on; "
        "ethtool -K d-right tx on sg on gso on tx-udp-segmentation on"
    )
    try:
        # A machine that pauses the tester between two frames has the first one time out alone, and pass.
        said = undisturbed(
            lambda: found(engine, experiment(family="ipv6"), merge), lambda said: "" if said else "a frame came alone"
        )
    finally:
        in_dut("ethtool -K d-left gro off rx-udp-gro-forwarding off; ethtool -K d-right tx off sg off gso off")
    assert said
    assert "bytes arrive merged into longer ones" in said
    assert "rx-udp-gro-forwarding on d-left; switch them off: ethtool -K d-left rx-udp-gro-forwarding off" in said


def test_a_gateway_that_does_not_translate(engine: EngineClient) -> None:
    accept = (
        "nft add table ip t; nft 'add chain ip t c { type nat hook postrouting priority srcnat; }'; "
        "nft add rule ip t c ct state new accept; nft add rule ip t c masquerade"
    )
    said = found(engine, experiment(NAT, procedure="connection-rate", connections=10), accept)
    assert said
    assert "the gateway does not translate: frames from" in said


def test_a_gateway_that_gives_each_frame_another_port(engine: EngineClient) -> None:
    wrong = (
        "nft add table ip t; nft 'add chain ip t c { type filter hook postrouting priority 0; }'; "
        "nft add rule ip t c oifname d-right udp sport set numgen inc mod 1000 offset 2000"
    )
    said = found(engine, experiment(NAT, procedure="connection-rate", connections=10), wrong)
    assert said
    assert "the gateway translates wrongly: 1" in said


@pytest.mark.usefixtures("little_patience")
def test_a_dut_that_does_not_forward(engine: EngineClient) -> None:
    said = found(engine, experiment(), "sysctl -qw net.ipv4.ip_forward=0")
    assert said
    assert "the DUT does not forward: net.ipv4.ip_forward is 0" in said


def test_frames_that_are_too_long(engine: EngineClient) -> None:
    measured = experiment(frame_size=1518, dont_fragment=True)
    try:
        said = found(engine, measured, "ip link set d-right mtu 1000")
    finally:
        in_dut("ip link set d-right mtu 1500")
    assert said
    assert "1518 bytes are too long for a link of the DUT" in said


PLAN: Final = """
name: swapped
timing: lab
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  io: af_packet
  dut: {{namespace: {namespace}, left: d-right, right: d-left}}
experiments:
  - name: forward
    gateway: linux-forward
    procedure: throughput
    search: {{max_rate: 10k}}
"""


def test_a_run_ends_before_its_first_trial(cables: None, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.format(namespace=DUT))
    done = natxy("run", tmp_path / "plan.yaml", "--output", tmp_path / "out", inside=["ip", "netns", "exec", TESTER])
    assert done.returncode == 4, done.stdout + done.stderr
    (forward,) = RunReader(tmp_path / "out").run.experiments
    assert forward.state == State.FAILED
    assert "the DUT's interfaces are swapped" in forward.reason
    assert not forward.repetitions
