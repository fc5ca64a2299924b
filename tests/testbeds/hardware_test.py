# SPDX-License-Identifier: Apache-2.0
"""Tests the testbed `hardware` from end to end: interfaces of the tester, and a DUT that only ssh reaches.

Tester and DUT are network namespaces with two test links and a management link; natxy is not aware of that.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.records import RunState
from tests.support import needs
from tests.support.command import natxy
from tests.support.iproute import inside, ip
from tests.support.measured_runs import measured_run
from tests.support.sshd import running_sshd

pytestmark = [needs.SSHD, *needs.LAB]

TESTER, DUT, SECOND = (f"hw-{os.getpid()}-{name}" for name in ("tester", "dut", "dut2"))
IN_TESTER = ["ip", "netns", "exec", TESTER]
MANAGEMENT = "192.0.2.1"

PLAN = """
name: remote
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t-right}}
  dut:
    ssh: {{host: gateway, user: root, config: {config}}}
    left: d-left
    right: d-right
experiments:
  - name: nat
    gateway: {{driver: nftables, udp_timeout_s: 77, udp_stream_timeout_s: 177}}
    procedure: throughput
    connections: 1k
    phase1_rate: 2k
    search: {{min_rate: 2k, max_rate: 3k, error: 1k}}
    max_invalid: 20
"""


@pytest.fixture
def cabled() -> Iterator[None]:
    with ExitStack() as stack:
        for namespace in (TESTER, DUT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        for end in ("left", "right", "mgmt"):
            ip("-n", TESTER, "link", "add", f"t-{end}", "type", "veth", "peer", "name", f"d-{end}", "netns", DUT)
            # The interfaces behave as a card whose offloads are off.
            inside(TESTER, "ethtool", "-K", f"t-{end}", "tx", "off")
            inside(DUT, "ethtool", "-K", f"d-{end}", "tx", "off")
        ip("-n", DUT, "address", "add", f"{MANAGEMENT}/24", "dev", "d-mgmt")
        ip("-n", TESTER, "address", "add", "192.0.2.2/24", "dev", "t-mgmt")
        for namespace, end in ((TESTER, "t-mgmt"), (DUT, "d-mgmt")):
            ip("-n", namespace, "link", "set", end, "up")
        yield


@pytest.mark.usefixtures("cabled")
def test_nat_is_measured_over_ssh_and_nothing_stays(tmp_path: Path) -> None:
    in_dut = ["ip", "netns", "exec", DUT]
    with running_sshd(tmp_path / "sshd", address=MANAGEMENT, inside=in_dut) as sshd:
        before = (ip("-n", DUT, "-brief", "address", "show", "up"), inside(DUT, "sysctl", "net.ipv4.ip_forward"))
        (tmp_path / "plan.yaml").write_text(PLAN.format(config=sshd.target.config))
        run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", inside=IN_TESTER)
        after = (ip("-n", DUT, "-brief", "address", "show", "up"), inside(DUT, "sysctl", "net.ipv4.ip_forward"))
    assert inside(DUT, "nft", "list", "ruleset") == ""
    assert "198.1" not in "".join(after)
    assert before[1] == after[1]
    assert inside(TESTER, "cat", "/proc/sys/net/ipv6/conf/t-left/disable_ipv6").strip() == "0"
    assert run.state == RunState.DONE
    (nat,) = run.experiments
    assert nat.statistics is not None
    assert nat.statistics.median >= 2000
    settings = nat.duts[0].settings
    assert settings["net.netfilter.nf_conntrack_udp_timeout"] == "77"
    assert settings["machine"].startswith("ssh root@gateway")
    assert all(trial.gateway_stolen_s is not None for _, _, trial in nat.all_trials)
    for _, _, trial in nat.all_trials:
        assert trial.dut_load is not None
        assert {each.name for each in trial.dut_load.interfaces} == {"d-left", "d-right"}
        assert sum(each.received for each in trial.dut_load.interfaces) >= trial.received > 0
    assert "1 command before and 1 after each trial" in run.testbed["readings of the DUT's load"]
    assert inside(DUT, "sysctl", "-n", "net.netfilter.nf_conntrack_udp_timeout").strip() == "30"


IN_A_ROW = """
name: row
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left}}
  right: {{interface: t2-right}}
  dut: {{ssh: {{host: gateway, user: root, config: {first}}}, left: d-left, right: d-right}}
  further_duts:
    - {{ssh: {{host: gateway, user: root, config: {second}}}, left: d2-left, right: d2-right}}
experiments:
  - name: nat
    gateway: {{driver: chain, gateways: {gateways}}}
    procedure: throughput
    connections: 100
    phase1_rate: 2k
    search: {{min_rate: 1k, max_rate: 2k, error: 1k}}
    max_invalid: 20
"""


@pytest.fixture
def cabled_in_a_row(cabled: None) -> Iterator[None]:
    """The right link of the first DUT leads to a second one, with a link to the tester and one for management."""
    ip("netns", "add", SECOND)
    try:
        ip("-n", SECOND, "link", "set", "lo", "up")
        ip("-n", TESTER, "link", "set", "t-right", "netns", SECOND, "name", "d2-left")
        for end in ("right", "mgmt"):
            ip("-n", TESTER, "link", "add", f"t2-{end}", "type", "veth", "peer", "name", f"d2-{end}", "netns", SECOND)
            inside(TESTER, "ethtool", "-K", f"t2-{end}", "tx", "off")
            inside(SECOND, "ethtool", "-K", f"d2-{end}", "tx", "off")
        inside(SECOND, "ethtool", "-K", "d2-left", "tx", "off")
        ip("-n", SECOND, "address", "add", "203.0.113.1/24", "dev", "d2-mgmt")
        ip("-n", TESTER, "address", "add", "203.0.113.2/24", "dev", "t2-mgmt")
        ip("-n", SECOND, "link", "set", "d2-mgmt", "up")
        ip("-n", TESTER, "link", "set", "t2-mgmt", "up")
        yield
    finally:
        ip("netns", "del", SECOND)


@pytest.mark.usefixtures("cabled_in_a_row")
@pytest.mark.parametrize(
    "gateways", [["linux-forward", "nftables"], pytest.param(["nftables", "nftables"], marks=pytest.mark.more)]
)
def test_two_machines_in_a_row_are_measured_and_nothing_stays(tmp_path: Path, gateways: list[str]) -> None:
    def places() -> list[str]:
        shown = (["ip", "-brief", "address"], ["sysctl", "net.ipv4.ip_forward"], ["nft", "list", "ruleset"])
        return [inside(namespace, *argv) for namespace in (DUT, SECOND) for argv in shown]

    with ExitStack() as stack:
        sshds = [
            stack.enter_context(
                running_sshd(tmp_path / name, address=address, inside=["ip", "netns", "exec", namespace])
            )
            for name, address, namespace in (("first", MANAGEMENT, DUT), ("second", "203.0.113.1", SECOND))
        ]
        before = places()
        first, second = (sshd.target.config for sshd in sshds)
        plan = IN_A_ROW.format(first=first, second=second, gateways=f"[{', '.join(gateways)}]")
        (tmp_path / "plan.yaml").write_text(plan)
        run, _ = measured_run(tmp_path / "plan.yaml", tmp_path / "out", inside=IN_TESTER)
        after = places()
        assert not [part for part in ("198.1", "100.64") if part in "".join(after)]
        assert after[1::3] == before[1::3]
        assert after[2::3] == before[2::3] == ["", ""]
    (nat,) = run.experiments
    assert nat.statistics is not None
    assert nat.statistics.median >= 1000
    assert [dut.name for dut in nat.duts] == gateways
    names = [
        f"{prefix}-{side} of gateway {number}" for number, prefix in ((1, "d"), (2, "d2")) for side in ("left", "right")
    ]
    for _, _, trial in nat.all_trials:
        assert trial.dut_load is not None
        assert [each.name for each in trial.dut_load.interfaces] == names
        # Each machine has cores of its own.
        assert len(trial.dut_load.cores) == 2 * os.cpu_count()  # type: ignore[operator]
    assert nat.duts[0].settings["machines"].count("ssh root@gateway") == 2


@pytest.mark.usefixtures("cabled")
@pytest.mark.parametrize(
    ("port", "message"),
    [("t-lft", "this machine has no 't-lft'; it has lo, t-left"), ("t-mgmt", "has the address 192.0.2.2/24")],
)
def test_unfit_interface(tmp_path: Path, port: str, message: str) -> None:
    plan = PLAN.format(config=tmp_path / "none").replace("interface: t-left", f"interface: {port}")
    (tmp_path / "plan.yaml").write_text(plan)
    done = natxy("run", tmp_path / "plan.yaml", "--output", tmp_path / "out", inside=IN_TESTER)
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr


@pytest.mark.usefixtures("cabled")
@pytest.mark.parametrize("verb", ["run", "doctor"])
def test_management_in_a_network_of_the_test_is_refused_before_anything_changes(tmp_path: Path, verb: str) -> None:
    usual = "10.0.2.15"  # in QEMU
    ip("-n", DUT, "address", "add", f"{usual}/24", "dev", "d-mgmt")
    ip("-n", TESTER, "address", "add", "10.0.2.2/24", "dev", "t-mgmt")
    with running_sshd(tmp_path / "sshd", address=usual, inside=["ip", "netns", "exec", DUT]) as sshd:
        (tmp_path / "plan.yaml").write_text(PLAN.format(config=sshd.target.config))
        before = ip("-n", DUT, "-4", "address") + inside(DUT, "sysctl", "-a", "--pattern", "forward|conntrack_udp")
        output: list[str | Path] = ["--output", tmp_path / "out"] if verb == "run" else []
        done = natxy(verb, tmp_path / "plan.yaml", *output, inside=IN_TESTER)
        after = ip("-n", DUT, "-4", "address") + inside(DUT, "sysctl", "-a", "--pattern", "forward|conntrack_udp")
    said = " ".join((done.stdout + done.stderr).split())
    assert "addresses.left: the DUT (ssh root@gateway) has the peer of the ssh connection, 10.0.2.2, in" in said
    assert "10.0.0.0/16, a network of the test; give the plan's `addresses` a `left`" in said
    if verb == "run":
        assert done.returncode == 2
        assert not (tmp_path / "out").exists()
    assert after == before


STATIC = """
name: static
timing: {{preset: lab, trial: 200ms, max_pause: 20ms, overrun_floor: 20ms}}
repeat: 1
testbed:
  kind: hardware
  left: {{interface: t-left, mac: "02:00:00:00:0a:01"{left}}}
  right: {{interface: t-right, mac: "02:00:00:00:0a:02"{right}}}
  io: af_packet
  dut: {{left: d-left, right: d-right, namespace: {namespace}}}
experiments:
  - name: router
    gateway: {{driver: linux-forward, neighbors: {{left: "02:00:00:00:0a:01", right: "02:00:00:00:0a:02"}}}}
    procedure: throughput
    search: {{min_rate: 2k, max_rate: 3k, error: 1k}}
    max_invalid: 20
"""


@pytest.mark.usefixtures("cabled")
def test_frames_go_between_the_mac_addresses_of_the_plan(tmp_path: Path) -> None:
    for end, mac in (("left", "02:00:00:00:0a:01"), ("right", "02:00:00:00:0a:02")):
        # The DUT answers nobody, and takes frames from no other address.
        inside(DUT, "sysctl", "-qw", f"net.ipv4.conf.d-{end}.arp_ignore=8")
        chain = f"type filter hook ingress device d-{end} priority 0; policy drop;"
        inside(DUT, "nft", f"table netdev {end} {{ chain c {{ {chain} ether saddr {mac} accept; }}; }}")
    macs = [inside(DUT, "cat", f"/sys/class/net/d-{end}/address").strip() for end in ("left", "right")]
    plan = tmp_path / "plan.yaml"
    plan.write_text(STATIC.format(namespace=DUT, left="", right=f', dut_mac: "{macs[1]}"'))
    asked = natxy("run", plan, "--output", tmp_path / "asked", inside=IN_TESTER)
    assert asked.returncode == 4
    assert "no reply for 198.18.0.1 on the left side" in " ".join(asked.stdout.split()), asked.stdout
    left, right = (f', dut_mac: "{mac}"' for mac in macs)
    plan.write_text(STATIC.format(namespace=DUT, left=left, right=right))
    run, _ = measured_run(plan, tmp_path / "out", inside=IN_TESTER)
    (router,) = run.experiments
    assert router.statistics is not None
    assert router.statistics.median >= 2000
    assert run.testbed["left port"] == "t-left by net_af_packet, as 02:00:00:00:0a:01"
