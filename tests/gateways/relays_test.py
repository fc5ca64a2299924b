# SPDX-License-Identifier: Apache-2.0
"""Tests the drivers for Snabb and VPP in a lab, where scripts stand in for them, and what the first gives back."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import suppress
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.dut.drivers.snabb import gateway as snabb
from natxy.dut.drivers.snabb.kept_links import KeptLinks
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.errors import GatewayDiedError
from natxy.plan.bindings.csv_table import as_csv
from natxy.probe.frames import send_probes
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from natxy.system.machine_sysctls import MachineSysctls
from tests.support import needs, snabb_stand_in, vpp_stand_in
from tests.support.chains import chain, experiment_of, set_up
from tests.support.measured_runs import late, measured_run
from tests.support.nat_bed import all_arrived, patiently
from tests.support.relay_stand_in import script
from tests.support.timing import wait_until
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.programs("start-stop-daemon")]

FRAMES: Final = 100
SHARED: Final = {"ipv4": "198.18.128.0/30", "ea_length": 4, "offset": 6}
TABLE: Final = {
    "table": as_csv({(IPv4Address("198.18.128.3"), psid): IPv6Address(f"fd00::{7 - psid}") for psid in range(4)}),
    "psid_length": 2,
    "offset": 0,
}
SNABB: Final = {"driver": "snabb", "by": "raw"}
VPP: Final = {"driver": "vpp"}
AFTR: Final = {"driver": "vpp-dslite"}
HOMES: Final = {"inner": "192.168.1.2", "count": 40}
CONNECTIONS: Final = 200
ALONE: Final = [(IPv4Address(f"198.18.128.{number}"), 0) for number in range(8)]
TABLE_OF_8: Final = as_csv(
    {
        (address, psid): IPv6Address(f"fd00:2:7::{5 * psid + number}")
        for number, (address, _) in enumerate(ALONE)
        for psid in range(2)
    }
)


def with_program(own: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Returns the settings of a relay whose programs are stand-ins in a folder."""
    name, *_ = own["driver"].split("-")
    if name == "snabb":
        return own | {"program": str(script(folder, name, snabb_stand_in.__name__))}
    script(folder, "vppctl", vpp_stand_in.__name__)
    return own | {"program": str(script(folder, name, vpp_stand_in.__name__))}


@pytest.mark.same_machine
@pytest.mark.parametrize(
    ("own", "subscribers", "shown"),
    [
        (SNABB, SHARED, "softwire { ipv4 198.18.128.0; psid 3;"),
        (VPP, SHARED, "map add domain ip4-pfx 198.18.128.0/30"),
        (VPP, TABLE, "map add rule index 0 psid 3 ip6-dst fd00::4"),
    ],
    ids=["snabb", "vpp, a rule", "vpp, a table"],
)
@repeated
def test_what_a_relay_is_told_is_what_the_tester_sends(
    own: dict[str, Any], subscribers: dict[str, Any], shown: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = own["driver"]
    core = with_program(own, tmp_path)
    experiment = experiment_of(gateway=chain("tester", core), subscribers=subscribers)
    monkeypatch.setattr(snabb, "_RESOLVED_S", 1.0)
    with set_up(experiment, tmp_path) as (_, gateway, engine):
        gateway.wait_ready()
        # The stand-in learns where to send from what it receives.
        engine.resolve_neighbors(neighbors_request(experiment))
        for passage in send_probes(engine, experiment):
            assert passage.good, passage
        result = engine.run_trial(patiently(traffic_request(experiment, 500.0, 7, frames=FRAMES)))
        all_arrived(result)
        assert result.verdict == Verdict.PASS, result.reason
        assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
        described = gateway.hops[0].describe()
        assert "(a stand-in)" in described.version
        assert shown in described.configuration
        gateway.check_alive()
        [pid_file] = Path("/run").glob(f"natxy-{name}-*.pid")
        pid = int(pid_file.read_text())
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: not Path(f"/proc/{pid}").exists())
        with pytest.raises(GatewayDiedError, match=f"its process {name}"):
            gateway.check_alive()
        gateway.remove()
        assert not [*Path("/run").glob(f"natxy-{name}-*")]


@pytest.mark.same_machine
@pytest.mark.parametrize("subscribers", [HOMES, {"ipv4": "198.18.128.0/28"}], ids=["homes with one address", "a rule"])
@repeated
def test_an_aftr_translates_and_forgets_its_sessions(subscribers: dict[str, Any], tmp_path: Path) -> None:
    """Its stand-in loses frames to neighbours that it does not know, and UDP checksums, as VPP does."""
    experiment = experiment_of(
        gateway=chain("tester", with_program(AFTR, tmp_path)),
        subscribers=subscribers,
        addresses={"pool": "198.19.0.4/31"},
        connections=CONNECTIONS,
        phase1_rate="1k",
    )
    with set_up(experiment, tmp_path) as (_, gateway, engine):
        gateway.wait_ready()
        for passage in send_probes(engine, experiment):
            assert passage.good, passage
        for seed in (7, 8):
            gateway.clear()
            made = engine.run_trial(patiently(establish_request(experiment, 1000.0, seed)))
            all_arrived(made)
            result = engine.run_trial(patiently(traffic_request(experiment, 500.0, seed, frames=FRAMES)))
            all_arrived(result)
            assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
        gateway.clear()
        replies = engine.run_trial(patiently(traffic_request(experiment, 500.0, 8, frames=FRAMES)))
        right = next(stream for stream in replies.streams if stream.source == Side.RIGHT)
        assert right.received == 0
        described = gateway.hops[0].describe()
        assert "dslite add pool address 198.19.0.4 - 198.19.0.5" in described.configuration
        assert "set ip neighbor" in described.configuration
        gateway.remove()
        assert not [*Path("/run").glob("natxy-vpp-dslite-*")]


@pytest.mark.same_machine
@pytest.mark.parametrize(
    ("own", "subscribers", "bindings"),
    [
        (SNABB, {"ipv4": "198.18.128.0/30", "ea_length": 3, "offset": 0}, 4),
        (VPP, {"table": TABLE_OF_8, "offset": 0}, 8),
        (VPP, {"table": as_csv(dict.fromkeys(ALONE, IPv6Address("fd00:2:7::9")))}, 4),
    ],
    ids=["snabb", "vpp, shared addresses", "vpp, own addresses"],
)
@repeated
def test_a_relay_changes_bindings_while_frames_flow(
    own: dict[str, Any], subscribers: dict[str, Any], bindings: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snabb, "_RESOLVED_S", 1.0)
    plan = {
        "name": "p",
        "repeat": 1,
        "timing": {"preset": "lab", "trial": "500ms", "max_pause": "1s", "overrun_floor": "1s"},
        "defaults": {"max_invalid": 20},
        "experiments": [
            {
                "name": "x",
                "gateway": chain("tester", with_program(own, tmp_path)),
                "subscribers": subscribers,
                "procedure": {"name": "binding-churn", "recovery": "8s"},
                "rate": 200,
            }
        ],
    }
    (tmp_path / "plan.yaml").write_text(json.dumps(plan))
    run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", blames=late)
    [experiment] = run.experiments
    [repetition] = experiment.repetitions
    figures = repetition.figures
    passed = {name: figures[name] for name in ("unchanged_lost", "old_passed_forward", "old_passed_reverse")}
    assert passed == dict.fromkeys(passed, 0), repetition.reason
    took_s = figures["change"]
    assert took_s
    assert figures["bindings"] == pytest.approx(bindings / took_s)
    for name in ("old_time_forward", "old_time_reverse", "new_time_forward", "new_time_reverse", "new_whole_reverse"):
        time_s = figures[name]
        assert time_s is not None
        assert 0 < time_s <= took_s + 0.5, name


class MultiqueueNamespace(LocalTransport):
    """A namespace whose interfaces have, as those of cards, channels that can be set."""

    def __init__(self, name: str) -> None:
        super().__init__(MachineSysctls())
        self._name = name

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if argv[0] == "ethtool":
            return CompletedCommand(tuple(argv), 0, "Combined:\t8\nCombined:\t4\n", "")
        inside = ["ip", "netns", "exec", self._name, *argv]
        return super().run(inside, input=input, timeout_s=timeout_s, check=check)


@pytest.fixture
def namespace() -> Iterator[MultiqueueNamespace]:
    host = LocalTransport(MachineSysctls())
    name = f"natxy-snabb-{os.getpid()}"
    host.run(["ip", "netns", "add", name])
    try:
        made = MultiqueueNamespace(name)
        made.run(["ip", "link", "add", "mtu", "9000", "name", "sixes", "type", "veth", "peer", "name", "fours"])
        for line in (
            "link set dev sixes up",
            "link set dev fours up",
            "address add 2001:2::1/64 dev sixes nodad",
            "address add 198.19.0.1/24 dev fours",
            "route add fd00::/8 via 2001:2::2 dev sixes",
            "route add 203.0.113.0/24 via 198.19.0.2 dev fours metric 7",
        ):
            made.run(["ip", *line.split()])
        yield made
    finally:
        with suppress(Exception):
            host.run(["ip", "netns", "del", name])


def test_interfaces_are_as_before_snabb_has_set_them_up(namespace: MultiqueueNamespace, tmp_path: Path) -> None:
    """Does to the interfaces what `snabb lwaftr run --xdp` does (xdp_ifsetup in src/program/lwaftr/setup.lua)."""

    def state() -> list[list[str]]:
        shown = (["-brief", "address"], ["-4", "route"], ["-6", "route"], ["-oneline", "link"])
        return [sorted(namespace.run(["ip", *each]).stdout.splitlines()) for each in shown]

    links = KeptLinks(namespace, ("sixes", "fours"), str(tmp_path / "links"))
    before = state()
    links.keep()
    for interface, own in (("sixes", "2001:2::1"), ("fours", "198.19.0.1")):
        for change in ("down", "arp off", "multicast on", "mtu 1540", "up"):
            namespace.run(["ip", "link", "set", "dev", interface, *change.split()])
            if change == "down":
                namespace.run(["ip", "address", "flush", "dev", interface])
        namespace.run(["ip", "address", "add", own, "dev", interface])
    assert state() != before
    # Another process does it after a kill.
    KeptLinks(namespace, ("sixes", "fours"), str(tmp_path / "links")).give_back()
    assert state() == before
    assert not [*tmp_path.iterdir()]
