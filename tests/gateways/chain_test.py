# SPDX-License-Identifier: Apache-2.0
"""Tests gateways, one behind the other, in a lab: their frames on the link between two of them, dissected by Scapy,
their results, and a loss in one of them."""

from __future__ import annotations

import json
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment
from scapy.packet import Packet

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.subscribers import Subscribers
from natxy.probe.binding import binding_of
from natxy.probe.frames import send_probes
from natxy.procedures.common.streams import establish_request, traffic_request
from natxy.results.records import RunState, State
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.chains import chain, experiment_of, set_up
from tests.support.measured_runs import measured_run
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.programs("nft", "conntrack")]

FRAMES: Final = 100
CONNECTIONS: Final = 50
CONNECTED: Final[dict[str, Any]] = {"connections": CONNECTIONS, "phase1_rate": "1k"}


def between(experiment: Experiment, folder: Path, link: int = 1) -> dict[Side, list[Packet]]:
    """Returns the frames of phase 2 on a link between two gateways, by the side that they come from.

    `link`: the number of gateways on its left.
    """
    with set_up(experiment, folder) as (lab, gateway, engine):
        if experiment.connections:
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
            all_arrived(made)
            assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
            assert gateway.count() == CONNECTIONS
        request = patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES))
        place = (lab.dut_namespaces[link], f"dut{link + 1}-left")
        with captured(*place, Direction.IN) as forward, captured(*place, Direction.OUT) as reverse:
            result = engine.run_trial(request)
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
        if experiment.connections:
            gateway.clear()
            assert gateway.count() == 0
    for frames in (forward, reverse):
        assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
        assert all(has_right_checksums(frame) for frame in frames)
    return {Side.LEFT: forward, Side.RIGHT: reverse}


@repeated
def test_a_nat_behind_a_router_gets_the_hosts_own_addresses(tmp_path: Path) -> None:
    experiment = experiment_of(gateway=chain("linux-forward", "nftables"), **CONNECTED)
    for side, frames in between(experiment, tmp_path).items():
        ends = ("10.0.0.2", "198.19.0.2")
        assert {(frame[IP].src, frame[IP].dst) for frame in frames} == {ends if side == Side.LEFT else ends[::-1]}
        # Frames from the left have crossed one gateway, and frames from the right another one.
        assert {frame[IP].ttl for frame in frames} == {experiment.ttl - 1}


@repeated
def test_a_nat_behind_a_nat_sees_the_first_ones_address(tmp_path: Path) -> None:
    experiment = experiment_of(gateway=chain("nftables", "nftables"), **CONNECTED)
    for side, frames in between(experiment, tmp_path).items():
        ends = ("100.64.1.1", "198.19.0.2")
        assert {(frame[IP].src, frame[IP].dst) for frame in frames} == {ends if side == Side.LEFT else ends[::-1]}


@pytest.mark.parametrize("second", ["tayga-netfilter", "tayga"])
@needs.programs("tayga")
@needs.TUN
@repeated
def test_464xlat_has_translated_frames_between_its_gateways(second: str, tmp_path: Path) -> None:
    stateful = CONNECTED if second == "tayga-netfilter" else {}
    experiment = experiment_of(gateway=chain("tayga", second), **stateful)
    found = between(experiment, tmp_path)
    host = experiment.addresses.left_hosts.first
    # RFC 6877 §6.3 and RFC 6052 §2.2, by hand.
    left = IPv6Address("2001:2:0:46::") + int(IPv4Address(str(host)))
    right = IPv6Address("2001:2:0:64::") + int(IPv4Address("198.19.0.2"))
    for side, frames in found.items():
        ends = (str(left), str(right)) if side == Side.LEFT else (str(right), str(left))
        assert {(frame[IPv6].src, frame[IPv6].dst) for frame in frames} == {ends}
        # Tayga is a hop, and so is the kernel on both sides of it.
        assert {experiment.ttl - frame[IPv6].hlim for frame in frames} == {3}
        payload = experiment.frame_size - 18 - 20 - 8
        assert {len(frame[UDP].payload) for frame in frames} == {payload}
        assert not any(IPv6ExtHdrFragment in frame and frame[IPv6ExtHdrFragment].offset for frame in frames)


@pytest.mark.parametrize(
    ("gateways", "own", "link", "ends"),
    [
        (("softwire", "softwire"), {}, 1, ("198.18.0.2", "198.19.0.2")),
        (("softwire", "linux-forward", "softwire"), {}, 2, ("198.18.0.2", "198.19.0.2")),
        # DS-Lite, and a NAT before the softwire as in lw4o6 and MAP-E.
        (("softwire", "softwire", "nftables"), CONNECTED, 1, ("10.0.0.2", "198.19.0.2")),
        (("nftables", "softwire", "softwire"), CONNECTED, 2, ("100.64.1.1", "198.19.0.2")),
    ],
)
@pytest.mark.parametrize("size", [64, 1518])
@needs.SEG6
@repeated
def test_a_softwire_has_ipv4_packets_in_ipv6(
    gateways: tuple[str, ...], own: dict[str, Any], link: int, ends: tuple[str, str], size: int, tmp_path: Path
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), frame_size=size, dont_fragment=True, **own)
    edge = gateways.index("softwire")
    tunnel = (f"2001:2:0:500{edge}::1", f"2001:2:0:500{edge}::2")
    for side, frames in between(experiment, tmp_path, link).items():
        way = slice(None, None, 1 if side == Side.LEFT else -1)
        before = gateways[:edge] if side == Side.LEFT else gateways[gateways.index("softwire", edge + 1) + 1 :]
        for frame in frames:
            outer, inner = frame[IPv6], frame[IP]
            # Nothing is between the two headers (RFC 2473 §3.1).
            assert (frame.type, outer.nh, bytes(outer)[40:]) == (0x86DD, 4, bytes(inner))
            assert (outer.src, outer.dst, outer.plen) == (*tunnel[way], size - 18)
            assert outer.hlim > 0
            assert (inner.src, inner.dst) == (*ends[way],)
            assert (inner.flags, inner.frag, inner.len, inner.options) == ("DF", 0, size - 18, [])
            # A route that puts the packet into IPv6 leaves the inner TTL as it is.
            assert inner.ttl == experiment.ttl - len(before)


SHARED: Final = {"ipv4": "198.18.128.0/30", "ea_length": 4}


def by_commands(outer: str) -> dict[str, Any]:
    """Returns an end of a softwire that commands set up, whose softwire is on the interface `outer`."""
    own = "{softwire_own}/128 encap seg6local action End.DX4 nh4 0.0.0.0 dev"
    far = "{softwire_carries} encap seg6 mode encap.red segs {softwire_far} dev"
    return {
        "driver": "command",
        "apply": [
            ["sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"],
            ["ip", "sr", "tunsrc", "set", "{softwire_own}"],
            f"ip route add {own} {outer}".split(),
            f"ip route add {far} {outer}".split(),
        ],
    }


@pytest.mark.parametrize(
    ("gateways", "own", "ends"),
    [
        (("tester", by_commands("{left}")), {}, ("198.18.0.2", "198.19.0.2")),
        ((by_commands("{right}"), "tester"), {}, ("198.18.0.2", "198.19.0.2")),
        (("tester", "softwire"), {}, ("198.18.0.2", "198.19.0.2")),
        (("softwire", "tester"), {}, ("198.18.0.2", "198.19.0.2")),
        (("tester", "softwire", "nftables"), CONNECTED, ("10.0.0.2", "198.19.0.2")),
        (("nftables", "softwire", "tester"), CONNECTED, ("100.64.1.1", "198.19.0.2")),
    ],
)
@pytest.mark.parametrize("size", [64, 1518])
@needs.SEG6
@repeated
def test_one_end_of_a_softwire_is_measured_alone(
    gateways: tuple[str | dict[str, Any], ...],
    own: dict[str, Any],
    ends: tuple[str, str],
    size: int,
    tmp_path: Path,
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), frame_size=size, dont_fragment=True, **own)
    port = Side.LEFT if gateways[0] == "tester" else Side.RIGHT
    assert experiment.softwire is not None
    tunnel = (str(experiment.softwire.far), str(experiment.softwire.own))
    with set_up(experiment, tmp_path) as (lab, _, engine):
        if experiment.connections:
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
            all_arrived(made)
            assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
        request = patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES))
        hops = len(lab.dut_namespaces)
        names = {Side.LEFT: "dut-left", Side.RIGHT: "dut-right" if hops == 1 else f"dut{hops}-right"}
        place = (lab.dut_namespaces[0 if port == Side.LEFT else -1], names[port])
        with captured(*place, Direction.IN) as sent, captured(*place, Direction.OUT) as received:
            result = engine.run_trial(request)
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
    inner = ends if port == Side.LEFT else ends[::-1]
    for frames, way in ((sent, 1), (received, -1)):
        assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
        for frame in frames:
            assert has_right_checksums(frame)
            outer, within = frame[IPv6], frame[IP]
            assert (frame.type, outer.nh, bytes(outer)[40:]) == (0x86DD, 4, bytes(within))
            assert (outer.src, outer.dst, outer.plen) == (*tunnel[::way], size - 18)
            assert (within.src, within.dst) == (*inner[::way],)
    assert {(frame[IPv6].hlim, frame[IPv6].tc, frame[IPv6].fl, frame[IP].ttl) for frame in sent} == {
        (64, 0, 0, experiment.ttl)
    }


def checking(outer: str) -> dict[str, Any]:
    """Returns such an end that drops packets whose outer source is not the other end."""
    end = by_commands(outer)
    rules = [
        "add table ip6 bound",
        "add chain ip6 bound c { type filter hook prerouting priority -300; }",
        "add rule ip6 bound c ip6 nexthdr 4 ip6 saddr != {softwire_far} drop",
    ]
    return end | {"apply": [*end["apply"], *(["nft", rule] for rule in rules)]}


@pytest.mark.parametrize(
    ("gateways", "own", "passed"),
    [
        (("tester", "softwire"), {}, 16),
        (("tester", "softwire"), {"subscribers": {}}, 16),
        (("tester", "softwire"), {"subscribers": SHARED | {"offset": 0}}, 16),
        (("tester", "softwire", "nftables"), CONNECTED, 1),
        (("tester", "softwire"), {"directions": "reverse"}, 16),
        (("softwire", "tester"), {}, 16),
        (("softwire", "tester"), {"directions": "forward"}, 16),
        (("nftables", "softwire", "tester"), CONNECTED, 16),
        (("nftables", "softwire", "tester"), CONNECTED | {"directions": "forward"}, 16),
        (("tester", checking("{left}")), {}, 0),
        ((checking("{right}"), "tester"), {}, 0),
    ],
)
@needs.SEG6
@repeated
def test_frames_of_a_neighbours_softwire_pass_only_an_end_that_does_not_check(
    gateways: tuple[str | dict[str, Any], ...], own: dict[str, Any], passed: int, tmp_path: Path
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), **own)
    with set_up(experiment, tmp_path) as (_, _, engine):
        for passage in send_probes(engine, experiment):
            assert passage.good
        found = binding_of(engine, experiment)
    assert found
    sent = 16 if passed != 1 else 1
    assert (found.sent, found.passed) == (sent, passed)
    assert f"{sent - passed} of {sent} probe packets" in found.facts["binding"]
    assert [f"({passed} of {sent} probe packets)" in caveat.text for caveat in found.caveats] == [True] * bool(passed)


LAST_PORTS: Final = {"source": "65500-65535", "destination": "65500-65535"}


@pytest.mark.parametrize("before", [(), ("linux-forward",)])
@pytest.mark.parametrize(
    "own",
    [
        {"subscribers": {}},
        {"subscribers": SHARED | {"offset": 0}},
        {"subscribers": SHARED | {"offset": 6}, "ports": {"source": "1024-65535", "destination": "1024-65535"}},
        {"subscribers": SHARED | {"offset": 0}, "ports": LAST_PORTS},
    ],
    ids=["an address each", "ports of theirs", "six bits before the PSID", "the last ports"],
)
@needs.SEG6
@repeated
def test_each_subscriber_of_a_core_has_its_own_softwire(
    own: dict[str, Any], before: tuple[str, ...], tmp_path: Path
) -> None:
    experiment = experiment_of(gateway=chain("tester", *before, "softwire"), **own)
    subscribers = experiment.subscribers
    assert isinstance(subscribers, Subscribers)
    with set_up(experiment, tmp_path) as (lab, _, engine):
        request = patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES))
        with (
            captured(lab.dut_namespaces[0], "dut-left", Direction.IN) as sent,
            captured(lab.dut_namespaces[0], "dut-left", Direction.OUT) as received,
        ):
            result = engine.run_trial(request)
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
    shared_bits = subscribers.rule.psid_length
    for frames, outer, inner, port in ((sent, "src", "src", "sport"), (received, "dst", "dst", "dport")):
        assert len(frames) == FRAMES
        for frame in frames:
            address, number = IPv4Address(getattr(frame[IP], inner)), getattr(frame[UDP], port)
            psid = number >> 16 - subscribers.offset - shared_bits & (1 << shared_bits) - 1 if shared_bits else 0
            # RFC 7597 §5.2 and §6: prefix, bits of the address, PSID; then the address and the PSID again.
            own_bits = int(address) - int(subscribers.ipv4.network_address) << shared_bits | psid
            high = int(subscribers.ipv6.network_address) >> 64 | own_bits << 16 - subscribers.rule.ea_length
            assert IPv6Address(getattr(frame[IPv6], outer)) == IPv6Address(high << 64 | int(address) << 16 | psid)
    assert len({frame[IPv6].src for frame in sent}) > 1


@pytest.mark.parametrize(
    "port_set", [PortSetModel(psid=3, psid_length=4, offset=0), PortSetModel(psid=9, psid_length=6)]
)
@pytest.mark.parametrize("ends", [("softwire", "softwire"), ("tayga", "tayga")])
@needs.SEG6
@needs.programs("tayga")
@needs.TUN
@repeated
def test_a_subscriber_of_lw4o6_or_map_t_has_the_ports_of_its_set(
    ends: tuple[str, str], port_set: PortSetModel, tmp_path: Path
) -> None:
    edge = {"driver": "nftables", "port_set": port_set.model_dump()}
    found = between(experiment_of(gateway=chain(edge, *ends), **CONNECTED), tmp_path, link=2)
    ports = {frame[UDP].sport for frame in found[Side.LEFT]} | {frame[UDP].dport for frame in found[Side.RIGHT]}
    assert len(ports) == CONNECTIONS
    assert all(port in port_set.ports for port in ports)
    # Ranges are taken in turn.
    ranges = port_set.ports.ranges
    assert sum(any(port in each for port in ports) for each in ranges) == min(CONNECTIONS, len(ranges))
    assert all(IPv6 in frame and (IP in frame) == (ends[0] == "softwire") for frame in found[Side.LEFT])


PLAN = """
name: chain
timing: {preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}
repeat: 1
defaults:
  procedure: throughput
  search: {min_rate: 1k, max_rate: 2k, error: 1k}
  max_invalid: 20
experiments:
  - {name: forward, gateway: linux-forward}
  - name: xlat
    gateway: {driver: chain, gateways: [tayga, tayga-netfilter]}
    connections: 100
    phase1_rate: 1k
    loss_tolerance: 5%
    baseline: forward
  - {name: latency, procedure: latency, search: null, rate: 1k,
     gateway: {driver: chain, gateways: [linux-forward, nftables]}, connections: 100, phase1_rate: 1k}
  - {name: rate, procedure: connection-rate, gateway: {driver: chain, gateways: [nftables, nftables]},
     connections: 100}
  - {name: reset, procedure: {name: reset, recovery: 2s, gateway_number: 2}, search: null, rate: 1k,
     gateway: {driver: chain, gateways: [linux-forward, linux-forward]}}
"""


@needs.programs("tayga")
@needs.TUN
def test_chains_are_measured_and_both_gateways_described(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN.replace("search: null, ", ""))
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out")
    assert run.state == RunState.DONE
    by_name = {experiment.name: experiment for experiment in run.experiments}
    assert {experiment.state for experiment in run.experiments} == {State.DONE}
    xlat = by_name["xlat"]
    assert xlat.gateway == "tayga → tayga-netfilter"
    assert [dut.name for dut in xlat.duts] == ["tayga", "tayga-netfilter"]
    assert "map 10.0.0.2 2001:2:0:46::a00:2" in xlat.duts[0].configuration
    assert "dynamic-pool" in xlat.duts[1].configuration
    loads = [trial.dut_load for _, _, trial in xlat.all_trials if trial.dut_load]
    names = ["dut-left", "dut-right", "dut2-left", "dut2-right"]
    assert loads
    assert all([interface.name for interface in load.interfaces] == names for load in loads)


def dropping(ports: str) -> dict[str, Any]:
    """Returns a plan for two routers, of which the second one drops the frames of some of 100 source ports."""
    rule = f"table ip mine {{ chain f {{ type filter hook forward priority 0; udp sport {ports} counter drop; }}; }}"
    second = {
        "driver": "command",
        "apply": [["sysctl", "-qw", "net.ipv4.ip_forward=1"], ["nft", rule]],
        "remove": [["nft", "add table ip mine; delete table ip mine"]],
    }
    experiment = {
        "name": "x",
        "procedure": "throughput",
        "directions": "forward",
        "ports": {"source": "1000-1099", "destination": 7},
        "gateway": chain("linux-forward", second),
        "search": {"min_rate": "1k", "max_rate": "2k", "error": "1k"},
        "max_invalid": 20,
    }
    timing = {"preset": "lab", "max_pause": "20ms", "overrun_floor": "20ms"}
    return {"name": "p", "repeat": 1, "timing": timing, "experiments": [experiment]}


def test_a_loss_is_told_to_be_in_the_gateway_that_has_it(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(dropping("1080-1099")))
    run, _ = measured_run(path, tmp_path / "out", blames=lambda run: "")
    failed = [trial for each in run.experiments for _, _, trial in each.all_trials if trial.verdict == Verdict.FAIL]
    assert failed
    # On a busy machine, a trial may lose some frames elsewhere, too.
    assert any(f"{trial.lost:,} of the frames were lost in command" in trial.reason for trial in failed)


def test_a_gateway_that_lets_nothing_pass_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(json.dumps(dropping("1000-1099")))
    run, _ = measured_run(path, tmp_path / "out", code=4, blames=lambda run: "")
    assert "command: a firewall on the DUT drops the frames (`nft ip mine f: udp sport 1000-1099 drop`)" in (
        run.experiments[0].reason
    )


def quick(*experiments: dict[str, Any]) -> str:
    """Returns a plan of these experiments, each with a short trial."""
    timing = {"preset": "lab", "trial": "200ms", "max_pause": "20ms", "overrun_floor": "20ms"}
    defaults = {"max_invalid": 20}
    return json.dumps({"name": "p", "repeat": 1, "timing": timing, "defaults": defaults, "experiments": [*experiments]})


@needs.SEG6
def test_spoofed_frames_fail_no_trial_and_a_gateway_that_checks_lets_none_pass(tmp_path: Path) -> None:
    check = {"procedure": {"name": "binding-check", "spoofed": "20%"}, "rate": "2k"}
    (tmp_path / "plan.yaml").write_text(
        quick(
            {"name": "any", "gateway": chain("tester", "softwire"), "subscribers": SHARED | {"offset": 0}, **check},
            {"name": "checks", "gateway": chain("tester", checking("{left}")), **check},
            {"name": "edge", "gateway": chain(checking("{right}"), "tester"), "directions": "forward", **check},
        )
    )
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=lambda run: "")
    for experiment in run.experiments:
        [repetition] = experiment.repetitions
        frames = 2000 * 0.2
        assert repetition.figures == {
            "passed": 100 if experiment.planned.name == "any" else 0,
            "spoofed": 0.2 * frames,
            "lost_alone": 0,
            "lost_beside": 0,
        }
        assert ("does not check" in repetition.reason) == (experiment.planned.name == "any")
        assert {trial.verdict for _, _, trial in experiment.all_trials if not trial.undecided} == {Verdict.PASS}


SET: Final = {"psid": 9, "psid_length": 8}
"""Has 63 ranges of 4 ports, from 1060 on (RFC 7597 §5.1): 6 bits, the PSID, 2 bits."""


def first_range_alone() -> dict[str, Any]:
    """Returns a NAT of which connections get the ports of the set's first range."""
    rule = "oifname {right} meta l4proto udp snat to 100.64.1.1:1060-1063;"
    return {
        "driver": "command",
        "stateful": True,
        "masquerades": True,
        "apply": [
            ["sysctl", "-qw", "net.ipv4.ip_forward=1"],
            ["nft", "table ip mine { chain p { type nat hook postrouting priority 100; " + rule + " }; }"],
        ],
        "remove": [["nft", "add table ip mine; delete table ip mine"]],
        "clear": [["conntrack", "-F"]],
        "count": ["conntrack", "-C"],
    }


@needs.SEG6
def test_the_ports_of_a_subscriber_are_counted_in_the_set_and_outside(tmp_path: Path) -> None:
    def ports(name: str, nat: Any, **procedure: Any) -> dict[str, Any]:
        own = {"name": "port-set"} | procedure
        return {"name": name, "gateway": chain(nat, "softwire", "tester"), "procedure": own, "rate": "2k"}

    (tmp_path / "plan.yaml").write_text(
        quick(
            ports("whole", {"driver": "nftables", "port_set": SET}),
            ports("first", first_range_alone(), port_set=SET),
            ports("outside", "nftables", port_set=SET),
        )
    )
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=lambda run: "")
    found = {each.planned.name: each.repetitions[0] for each in run.experiments}
    whole = found["whole"].figures
    assert (whole["connections"], whole["ports"], whole["ranges"], whole["outside"]) == (252, 100, 100, 0)
    assert whole["several"]
    assert 252 < whole["several"] <= 4 * 252
    assert found["first"].figures == {
        "connections": 4,
        "several": 16,
        "ports": pytest.approx(100 * 4 / 252),
        "ranges": pytest.approx(100 / 63),
        "outside": 0,
    }
    assert "4 of 252, in 1 of 63 ranges: the first one alone, 1060 to 1063" in found["first"].reason
    # A host keeps its own port where the NAT has all.
    outside = found["outside"].figures
    assert (outside["connections"], outside["several"]) == (315, 1260)
    assert outside["outside"]
    assert outside["outside"] > 0.9 * 1575
    assert "that the subscriber does not have" in found["outside"].reason
