# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy doctor` on this machine, and on remote machines that are sshds on loopback."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.doctor.finding import Finding
from natxy.doctor.testbed import probe_testbed
from natxy.plan.yaml.loading import load_plan
from tests.support import needs
from tests.support.command import natxy
from tests.support.sshd import Sshd, running_sshd

HARDWARE = """
name: hardware
timing: lab
testbed:
  kind: hardware
  left: {{pci: "0000:41:00.0"}}
  right: {{pci: "0000:41:00.1"}}
  dut:
    {{ssh: {{host: gateway, user: root, config: {dut}/ssh_config}}, left: lo, right: nowhere0, addresses: {addresses}}}
experiments:
  - {{name: nat44, gateway: {gateway}, procedure: throughput, connections: 1k, phase1_rate: 1k,
     search: {{min_rate: 1k, max_rate: 10k, error: 1k}}}}
"""

HOSTS = """
name: hosts
timing: lab
repeat: 1
testbed:
  kind: hosts
  left: {{ssh: {{host: gateway, user: root, config: {left}/ssh_config}}, interface: lo}}
  right: {{ssh: {{host: gateway, user: root, config: {right}/ssh_config}}, interface: lo}}
  dut: {{ssh: {{host: gateway, user: root, config: {dut}/ssh_config}}, left: lo, right: nowhere0}}
experiments:
  - {{name: ipv6, gateway: linux-forward, family: ipv6, procedure: tcp-goodput}}
"""

OWN = "{driver: command, stateful: true, apply: [[natxy-no-such-program]], remove: [], clear: [['true']]}"

OF_ETHTOOL = """#!/bin/sh
[ "$1" = --show-features ] && echo "generic-receive-offload: on" && echo "large-receive-offload: off"
exit 0
"""


@pytest.fixture
def sshds(tmp_path: Path) -> Iterator[Mapping[str, Sshd]]:
    """Yields three machines, each with an ethtool that reports fixed offloads."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "ethtool").write_text(OF_ETHTOOL)
    (programs / "ethtool").chmod(0o755)
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(running_sshd(tmp_path / name, programs=programs))
            for name in ("left", "right", "dut")
        }


def written(text: str, folder: Path, sshds: Mapping[str, Sshd], **more: str) -> Path:
    plan = folder / "plan.yaml"
    plan.write_text(text.format(**{name: sshd.folder for name, sshd in sshds.items()}, **more))
    return plan


def doctor(*arguments: str) -> subprocess.CompletedProcess[str]:
    return natxy("doctor", *arguments, environment={"COLUMNS": "80"})


def last_sentence(printed: str) -> str:
    return " ".join(printed.rpartition("\n\n")[2].split())


def test_this_machine_fits_a_terminal_and_ends_with_what_it_can_measure() -> None:
    done = doctor()
    lines = done.stdout.splitlines()
    assert lines[0] == "this machine"
    assert max(map(len, lines)) <= 80
    assert last_sentence(done.stdout).startswith("This machine can measure: ")
    assert done.returncode == (0 if " 0 missing)." in last_sentence(done.stdout) else 4), done.stdout


@needs.SSHD
def test_a_dut_behind_ssh_is_looked_at(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    plan = load_plan(written(HARDWARE, tmp_path, sshds, gateway="nftables", addresses="set"))
    ((place, findings),) = probe_testbed(plan).items()
    found: dict[str, Finding] = {finding.name: finding for finding in findings}
    assert place == "DUT, ssh root@gateway"
    assert all((finding.remedy is None) == (finding.ok is True) for finding in findings)
    assert found["system"].value.startswith("Linux ")
    assert found["root"].ok is True
    assert found["cores"].value.startswith(f"{os.cpu_count()} in service (0")
    assert found["lo: offloads"].value == "generic-receive-offload on"
    assert found["nowhere0"].ok is False
    assert {"frequency scaling", "boost", "load", "connection tracking", "nft", "conntrack"} <= found.keys()


@needs.SSHD
def test_what_the_user_set_up_there_need_not_be_known_to_its_kernel(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    (findings,) = probe_testbed(load_plan(written(HARDWARE, tmp_path, sshds, gateway=OWN, addresses="keep"))).values()
    found = {finding.name: finding.ok for finding in findings}
    assert found["nowhere0"] is None
    assert found["natxy-no-such-program"] is False
    assert "connection tracking" not in found


def test_commands_on_this_machine_may_be_for_another_one(tmp_path: Path) -> None:
    here = HARDWARE.replace("ssh: {{host: gateway, user: root, config: {dut}/ssh_config}}, ", "")
    (place,) = probe_testbed(load_plan(written(here, tmp_path, {}, gateway=OWN, addresses="keep")))
    assert place == "the DUT's commands, this machine"


@needs.SSHD
def test_a_machine_that_cannot_be_reached_is_missing(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    plan = written(HOSTS, tmp_path, sshds)
    sshds["left"].stop()
    done = doctor(str(plan))
    assert done.returncode == 4, done.stdout + done.stderr
    left, right, dut, summary = done.stdout.split("\n\n")
    assert left.startswith("left host, ssh root@gateway\nmissing  access  ssh root@gateway: ")
    assert right.startswith("right host, ssh root@gateway\nok ")
    assert "missing  nowhere0" in dut
    assert " ".join(summary.split()).startswith(
        "These machines can measure: nothing yet; missing: access (left host), nowhere0 (DUT) ("
    )


@needs.SSHD
def test_another_system_is_left_to_its_owner(tmp_path: Path, sshds: Mapping[str, Sshd]) -> None:
    uname = tmp_path / "programs" / "uname"
    uname.write_text("#!/bin/sh\necho OpenBSD 7.4\n")
    uname.chmod(0o755)
    (findings,) = probe_testbed(
        load_plan(written(HARDWARE, tmp_path, sshds, gateway="nftables", addresses="set"))
    ).values()
    assert [(finding.name, finding.ok) for finding in findings] == [("system", None)]
    assert findings[0].value == "OpenBSD 7.4; only Linux is examined"
