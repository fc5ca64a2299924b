# SPDX-License-Identifier: Apache-2.0
"""Tests two virtual machines as testers of a third one: natxy runs on the first, and reaches the other two by ssh.

Each tester drives two network cards, bound to vfio-pci, by DPDK. The gateway has a limit for the frames of both, and
another for their connections, so that it is known what natxy has to find. QEMU executes the instructions of all three
on the cores of this machine, so that nothing here says how fast a tester or a gateway is.
"""

from __future__ import annotations

import json
import shlex
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import Verdict
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm.image import find_image
from natxy.testbeds.vm.qemu import MANAGEMENT_NETWORK
from tests.support import needs
from tests.support.pci_guest import ENGINE, NEEDS, SOURCES, SSH_PORT, VIRTIO, PciGuest, booted_guest, silent_namespace

pytestmark = [*needs.LAB, *NEEDS]

TESTERS: Final = 2
# All frames of a trial together pass a token bucket, which is full at first.
RATE_FPS: Final = 800
BURST: Final = 160
TRIAL_S: Final = 10
LIMIT_FPS: Final = (BURST + RATE_FPS * TRIAL_S) / TRIAL_S / 2
"""The throughput of one direction through both pairs of interfaces, which natxy has to find."""
SEARCH_ERROR_FPS: Final = 3
ENTRIES: Final = 700
FIRST_SLOT: Final = 0x10
FOLDER: Final = "/run/testers"

# The management connection is none of the test's.
GATEWAY: Final = f"""
table inet limited {{
    chain forwarded {{
        type filter hook forward priority 0
        meta l4proto udp limit rate over {RATE_FPS}/second burst {BURST} packets drop
    }}
    chain received {{ type filter hook prerouting priority raw; iifname mgmt notrack; }}
    chain sent {{ type filter hook output priority raw; oifname mgmt notrack; }}
}}
"""

PLAN: Final = f"""
name: guests
timing: {{preset: lab, trial: {TRIAL_S} s, settle: 500 ms, max_pause: 100ms, overrun_floor: 100ms, drain: 1s}}
repeat: 1
testbed:
  kind: hardware
  left: {{pci: "LEFT"}}
  right: {{pci: "RIGHT"}}
  tester_cores: 1
  dut: {{ssh: {{host: gateway, config: {FOLDER}/ssh_config}}, left: LEFT1, right: RIGHT1}}
  more_pairs:
    - tester: {{ssh: {{host: tester, config: {FOLDER}/ssh_config}}, cores: 1}}
      left: {{pci: "LEFT"}}
      right: {{pci: "RIGHT"}}
      dut: {{left: LEFT2, right: RIGHT2}}
defaults: {{pairs: {TESTERS}, gateway: nftables, max_invalid: 20}}
experiments:
  - name: throughput
    procedure: throughput
    gateway: linux-forward
    search: {{kind: binary, min_rate: 380, max_rate: 440, error: {SEARCH_ERROR_FPS}}}
  - name: capacity
    procedure: {{name: table-capacity, initial_connections: 660, max_connections: 740}}
    gateway: {{driver: nftables, conntrack_max: {ENTRIES}, udp_timeout_s: 600, udp_stream_timeout_s: 600}}
    search: {{min_rate: 100, max_rate: 400, error: 50%}}
"""


@dataclass
class Machine:
    """A virtual machine with the ends of some cables. `plugged` has QEMU's arguments for its cards."""

    folder: Path
    ssh_port: int
    plugged: list[str] = field(default_factory=list)
    ends: list[socket.socket] = field(default_factory=list)

    def plug(self, end: socket.socket) -> None:
        """Adds a card to which a cable leads."""
        name, number = f"card{len(self.ends)}", len(self.ends)
        self.plugged += ["-netdev", f"dgram,id=net-{name},local.type=fd,local.str={end.fileno()}"]
        mac = f"02:00:00:{self.ssh_port - SSH_PORT:02x}:06:{number:02x}"
        where = f"id={name},mac={mac},addr={FIRST_SLOT + number:02x},romfile="
        options = "disable-legacy=on,iommu_platform=on,rx_queue_size=1024"
        self.plugged += ["-device", f"virtio-net-pci,{options},netdev=net-{name},{where}"]
        self.ends.append(end)

    @property
    def interfaces(self) -> list[str]:
        """Returns the names that the machine's system gives to its cards."""
        return [f"enp0s{FIRST_SLOT + number}" for number, _ in enumerate(self.ends)]


@contextmanager
def cabled(folder: Path) -> Iterator[tuple[list[PciGuest], Machine]]:
    """Yields the testers, and the gateway's cabling."""
    with ExitStack() as stack:
        namespace = stack.enter_context(silent_namespace())
        machines = []
        for number in range(TESTERS + 1):
            machines.append(Machine(folder / str(number), SSH_PORT + number))
            machines[-1].folder.mkdir()
        *testers, gateway = machines
        for tester in testers:
            for _ in Side:
                for machine, end in zip((tester, gateway), socket.socketpair(type=socket.SOCK_DGRAM), strict=True):
                    machine.plug(stack.enter_context(end))
        guests = [
            stack.enter_context(
                booted_guest(
                    machine.folder,
                    namespace,
                    machine.plugged,
                    fds=[end.fileno() for end in machine.ends],
                    ssh_port=machine.ssh_port,
                )
            )
            for machine in machines
        ]
        *drivers, dut = guests
        dut.run(f"nft -f - << 'END'{GATEWAY}END\n")
        for driver in drivers:
            driver.bind(VIRTIO, "vfio-pci")
        yield drivers, gateway


def give_ways(first: PciGuest, machines: dict[str, int]) -> None:
    """Lets the first tester log in to machines, by the names and ports of their ssh servers."""
    image = find_image(VmConfig(kind="vm"))
    assert image.known_hosts is not None
    # There, QEMU's network has this address for the loopback of the namespace.
    config = "\n".join(
        f"Host {name}\n  HostName {MANAGEMENT_NETWORK[2]}\n  HostKeyAlias gateway\n  Port {port}\n  User root\n"
        f"  IdentityFile {FOLDER}/key\n  IdentitiesOnly yes\n  UserKnownHostsFile {FOLDER}/known_hosts\n"
        for name, port in machines.items()
    )
    files = {"ssh_config": config, "key": image.key.read_text(), "known_hosts": image.known_hosts.read_text()}
    for name, text in files.items():
        first.run(f"mkdir -p {FOLDER}; umask 077; printf %s {shlex.quote(text)} > {FOLDER}/{name}")


def planned(gateway: Sequence[str]) -> str:
    plan = PLAN.replace('"LEFT"', f'"{VIRTIO.address(Side.LEFT)}"').replace(
        '"RIGHT"', f'"{VIRTIO.address(Side.RIGHT)}"'
    )
    names = [f"{side.name}{number + 1}" for number in range(TESTERS) for side in Side]
    for name, interface in zip(names, gateway, strict=True):
        plan = plan.replace(name, interface)
    return plan


def test_two_testers_find_the_limits_of_a_gateway_together(tmp_path: Path) -> None:
    with cabled(tmp_path) as ((first, second), gateway):
        give_ways(first, {"tester": SSH_PORT + 1, "gateway": SSH_PORT + TESTERS})
        program = f'#!/bin/sh\nexec chroot /host env -C {SOURCES} {ENGINE} "$@"\n'
        at = "/usr/local/bin/natxy-engine"
        second.run(f"printf %s {shlex.quote(program)} > {at}; chmod +x {at}")
        first.run(f"cat > /run/plan.yaml << 'END'{planned(gateway.interfaces)}END\n")
        done = first.natxy("run", "/run/plan.yaml", "--output", "/run/out")
        assert done.returncode == 0, done.stdout + done.stderr
        exported = first.natxy("export", "/run/out", "--format", "json").stdout
    run: dict[str, Any] = json.loads(exported)
    throughput, capacity = (each["repetitions"][0] for each in run["experiments"])
    assert throughput["value"] == pytest.approx(LIMIT_FPS, rel=0.02)
    forwarded = [trial["result"]["streams"] for trial in throughput["trials"] if trial["verdict"] == Verdict.PASS]
    for streams in forwarded:
        assert [stream["name"] for stream in streams] == ["forward", "reverse", "forward 2", "reverse 2"]
        # Each tester has half.
        assert len({stream["received"] for stream in streams}) == 1
    assert capacity["value"] == ENTRIES
    made = {stream["name"] for trial in capacity["trials"] for stream in trial["result"]["streams"]}
    assert made == {"phase 1", "phase 1 2", "validation", "validation 2"}
