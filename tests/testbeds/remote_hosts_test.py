# SPDX-License-Identifier: Apache-2.0
"""Tests the testbed `hosts` from end to end: iperf3 on two hosts with a gateway between them. Only ssh reaches them.

The three machines are network namespaces with management links to a fourth; natxy is not aware of that.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.results.reader import RunReader
from tests.support import needs
from tests.support.command import natxy
from tests.support.iproute import ip
from tests.support.sshd import Sshd, running_sshd

pytestmark = [needs.SSHD, pytest.mark.lab, pytest.mark.same_machine, needs.programs("iperf3", "tayga"), needs.TUN]

HERE, LEFT, DUT, RIGHT = (f"ends-{os.getpid()}-{name}" for name in ("here", "left", "dut", "right"))
MANAGEMENT = {LEFT: "192.0.2.1", DUT: "192.0.2.5", RIGHT: "192.0.2.9"}

PLAN = """
name: remote
timing: lab
repeat: 1
order: experiments
testbed:
  kind: hosts
  left: {{ssh: {{host: gateway, user: root, config: {left}/ssh_config}}, interface: test}}
  right: {{ssh: {{host: gateway, user: root, config: {right}/ssh_config}}, interface: test}}
  dut: {{ssh: {{host: gateway, user: root, config: {dut}/ssh_config}}, left: d-left, right: d-right}}
defaults:
  procedure: {{name: tcp-goodput, duration: 1s, best_of: 1}}
  directions: forward
experiments:
  - {{name: ipv6, gateway: linux-forward, family: ipv6}}
  - {{name: nat64, gateway: tayga-netfilter, translation: nat64, baseline: ipv6}}
"""


def cable(one: str, end: str, other: str, other_end: str) -> None:
    ip("-n", one, "link", "add", end, "type", "veth", "peer", "name", other_end, "netns", other)


@pytest.fixture
def sshds(tmp_path: Path) -> Iterator[Mapping[str, Sshd]]:
    with ExitStack() as stack:
        for namespace in (HERE, *MANAGEMENT):
            ip("netns", "add", namespace)
            stack.callback(ip, "netns", "del", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
        cable(LEFT, "test", DUT, "d-left")
        cable(RIGHT, "test", DUT, "d-right")
        daemons = {}
        for number, (namespace, address) in enumerate(MANAGEMENT.items()):
            cable(HERE, f"to-{number}", namespace, "mgmt")
            for name, end, own in (
                (HERE, f"to-{number}", f"{address[:-1]}{int(address[-1]) + 1}"),
                (namespace, "mgmt", address),
            ):
                ip("-n", name, "address", "add", f"{own}/30", "dev", end)
                ip("-n", name, "link", "set", end, "up")
            inside = ["ip", "netns", "exec", namespace]
            folder = tmp_path / namespace
            daemons[namespace] = stack.enter_context(running_sshd(folder, address=address, inside=inside))
        yield daemons


def natxy_run(folder: Path, sshds: Mapping[str, Sshd], **replaced: str) -> subprocess.CompletedProcess[str]:
    plan = PLAN.format(left=sshds[LEFT].folder, right=sshds[RIGHT].folder, dut=sshds[DUT].folder)
    for old, new in replaced.items():
        plan = plan.replace(old, new, 1)
    (folder / "plan.yaml").write_text(plan)
    return natxy("run", folder / "plan.yaml", "--output", folder / "out", inside=["ip", "netns", "exec", HERE])


def left_behind(namespace: str) -> list[str]:
    """Returns the addresses, rules and routes of the test that are still there, and "mtu" if the MTU has changed."""
    asked = (
        ["address"],
        ["rule"],
        ["-6", "rule"],
        ["route", "show", "table", "all"],
        ["-6", "route", "show", "table", "all"],
    )
    lines = [line for arguments in asked for line in ip("-n", namespace, *arguments).splitlines()]
    found = [line for line in lines if "198.1" in line or "2001:2:" in line]
    return found if "mtu 1400 " in ip("-n", namespace, "link", "show", "dev", "test") else [*found, "mtu"]


def test_goodput_between_remote_hosts_and_nothing_stays(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    for namespace in (LEFT, RIGHT):
        ip("-n", namespace, "link", "set", "test", "mtu", "1400")
    # The host's owner configured this.
    ip("-n", LEFT, "address", "add", "2001:2::2/64", "dev", "test", "nodad")
    done = natxy_run(tmp_path, sshds)
    assert done.returncode == 0, done.stdout + done.stderr
    assert left_behind(RIGHT) == []
    assert "inet6 2001:2::2/64 scope global" in ip("-n", LEFT, "address", "show", "dev", "test")
    ip("-n", LEFT, "address", "del", "2001:2::2/64", "dev", "test")
    assert left_behind(LEFT) == []
    run = RunReader(tmp_path / "out").run
    for experiment in run.experiments:
        assert experiment.statistics is not None
        assert experiment.statistics.median > 1e6
    assert run.engine == {}
    assert "iperf 3" in run.testbed["left host"]
    assert run.testbed["right host's interface"] == "test"
    assert any("not one of RFC 2544 or RFC 8219" in caveat.text for caveat in run.caveats)
    assert any("left host's interface test has" in caveat.text for caveat in run.caveats)
    assert "TCP goodput of hosts and gateway together" in " ".join(done.stdout.split())


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("interface: test", "interface: tset", "testbed.left.interface: ssh root@gateway has no 'tset'"),
        ("interface: test", "interface: mgmt", "has the address 192.0.2.1 on mgmt"),
    ],
)
def test_unfit_interface(tmp_path: Path, sshds: Mapping[str, Sshd], old: str, new: str, message: str) -> None:
    done = natxy_run(tmp_path, sshds, **{old: new})
    assert done.returncode == 2, done.stdout + done.stderr
    assert message in done.stderr


def test_a_host_that_cannot_be_reached(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    sshds[LEFT].stop()
    done = natxy_run(tmp_path, sshds)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "a host failed: the left host: ssh root@gateway: " in " ".join(done.stdout.split())


def test_a_host_without_iperf3(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    bare = tmp_path / "bin"
    bare.mkdir()
    for program in ("ip", "cat", "ethtool", "sh", "sysctl"):
        (bare / program).symlink_to(shutil.which(program) or program)
    config = sshds[RIGHT].folder / "sshd_config"
    config.write_text(config.read_text().replace("/usr/sbin:/usr/bin:/sbin:/bin", str(bare)))
    sshds[RIGHT].process.send_signal(1)
    done = natxy_run(tmp_path, sshds)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "iperf3 doesn't run on ssh root@gateway: `apt install iperf3` there" in " ".join(done.stdout.split())
