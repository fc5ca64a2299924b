# SPDX-License-Identifier: Apache-2.0
"""Ends natxy at its writes to the ledger, gives back what it left, and compares the machine with its state before."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.cleanup.leftovers import described
from natxy.system.ledger import Ledger
from tests.support import needs
from tests.support.iproute import ip
from tests.support.killing import ASKED, MOMENTS, Ending, Killing
from tests.support.machine_state import differences, machine_state, touched_only
from tests.support.sshd import running_sshd
from tools.bench.programs import TASKS

pytestmark = [*needs.LAB, pytest.mark.machine]

TESTER, DUT, SECOND = (f"gb-{os.getpid()}-{name}" for name in ("tester", "dut", "second"))
MANAGEMENT, SECOND_MANAGEMENT = "192.0.2.1", "203.0.113.1"
OTHERS_S: Final = 20
TRIES: Final = 5

PLAN: Final = """
name: killed
timing: {{preset: lab, trial: 50ms, max_pause: 50ms, overrun_floor: 50ms}}
repeat: 1
testbed: {testbed}
experiments:
  - {{name: e, max_invalid: 50, {experiment}}}
"""
SEARCH: Final = "procedure: throughput, search: {min_rate: 1k, max_rate: 2k, error: 1k}"
NAT: Final = f"connections: 100, phase1_rate: 1k, {SEARCH}"
HOP: Final = "{driver: nftables, conntrack_max: 123456, udp_timeout_s: 77}"
DS_LITE: Final = "gateway: {driver: chain, gateways: [softwire, softwire, nftables]}"
B4: Final = "gateway: {driver: chain, gateways: [softwire, tester]}"
MAP_T: Final = (
    "gateway: {driver: chain, "
    "gateways: [{driver: nftables, port_set: {psid: 3, psid_length: 4, offset: 0}}, map-t, map-t]}"
)
# Rules of policy routing, and a routing table for each subscriber.
SHARED: Final = (
    "gateway: {driver: chain, gateways: [tester, softwire]}, "
    "subscribers: {ipv4: 198.18.128.0/30, ea_length: 4, offset: 0}"
)
SIZED: Final = f"gateway: {HOP}"
# Only the machine's first network namespace can set the size.
TIMED: Final = "gateway: {driver: nftables, udp_timeout_s: 77}"
GOODPUT: Final = "gateway: linux-forward, directions: forward, procedure: {name: tcp-goodput, duration: 1, best_of: 1}"
HARDWARE: Final = (
    "{{kind: hardware, left: {{interface: t-left}}, right: {{interface: t-right}}, io: af_packet, dut: {}}}"
)
BEHIND_SSH: Final = HARDWARE.format(
    "{left: d-left, right: d-right, ssh: {host: gateway, user: root, config: CONFIG, connect_timeout: 60s}}"
)
IN_A_ROW: Final = (
    "{kind: hardware, left: {interface: t-left}, right: {interface: t2-right}, io: af_packet, "
    "dut: {left: d-left, right: d-right, ssh: {host: gateway, user: root, config: CONFIG, connect_timeout: 60s}}, "
    "further_duts: "
    "[{left: d2-left, right: d2-right, ssh: {host: gateway, user: root, config: OTHER, connect_timeout: 60s}}]}"
)
OWN: Final = (
    "gateway: {driver: command, stateful: true, masquerades: true, "
    "apply: [[sysctl, -qw, net.ipv4.ip_forward=1], [nft, 'add table ip mine'], "
    "[nft, 'add chain ip mine out { type nat hook postrouting priority srcnat; }'], "
    "[nft, 'add rule ip mine out oifname \"{right}\" masquerade']], "
    "remove: [[nft, 'add table ip mine; delete table ip mine'], [sysctl, -qw, net.ipv4.ip_forward=0]], "
    "clear: [[conntrack, -F]], count: [cat, /proc/sys/net/netfilter/nf_conntrack_count]}"
)


@dataclass(frozen=True)
class Scene:
    """A plan's testbed and experiment; without them, a short `make bench`.

    With `cabled`, there is a tester with two links to a DUT in its own namespace; with `in_a_row`, the right one leads
    to a second DUT, which has a link to the tester. `peer` is the namespace of the DUT's ends of these links. The
    tester's are in one too, unless natxy runs `outside`: what `ip netns exec` runs has mounts of its own, so that
    namespaces which it makes end with it.
    """

    testbed: str
    experiment: str
    cabled: bool = False
    in_a_row: bool = False
    peer: str = DUT
    outside: bool = False
    marks: Sequence[pytest.MarkDecorator] = ()


def in_a_row(end: str, *marks: pytest.MarkDecorator) -> Scene:
    """Returns a scene with two DUTs behind ssh, each with the same gateway as an end of a chain."""
    gateway = f"gateway: {{driver: chain, gateways: [{end}, {end}]}}"
    return Scene(IN_A_ROW, f"{gateway}, {SEARCH}", cabled=True, in_a_row=True, marks=[needs.SSHD, *marks])


SCENES: Final = {
    "lab": Scene("{kind: lab}", f"{SIZED}, {NAT}"),
    "lab with two gateways": Scene(
        "{kind: lab}", f"gateway: {{driver: chain, gateways: [{HOP}, nftables]}}, {NAT}"
    ),
    "lab with a softwire": Scene("{kind: lab}", f"{DS_LITE}, {NAT}"),
    "lab with MAP-T": Scene(
        "{kind: lab}", f"{MAP_T}, {NAT}", marks=[needs.TUN, needs.programs("tayga")]
    ),
    "lab with commands of the user's": Scene("{kind: lab}", f"{OWN}, {NAT}"),
    "lab with a daemon": Scene(
        "{kind: lab}", f"gateway: tayga, translation: siit, {SEARCH}", marks=[needs.TUN, needs.programs("tayga")]
    ),
    "lab with hosts": Scene("{kind: lab}", GOODPUT, marks=[needs.programs("iperf3")]),
    "lab with a reference gateway": Scene(
        "{kind: lab, io: af_packet}", f"gateway: {{driver: reference}}, {SEARCH}", marks=[needs.REFERENCE]
    ),
    "memif": Scene("{kind: memif}", f"gateway: {{driver: reference}}, {SEARCH}", marks=[needs.REFERENCE]),
    "guest": Scene(
        "{kind: lab}",
        f"gateway: {{driver: iptables, backend: legacy, kernel: user-mode}}, {NAT}",
        marks=[*needs.GUEST],
    ),
    "a DUT that is this machine": Scene(
        HARDWARE.format("{left: d-left, right: d-right}"), f"{TIMED}, {NAT}",
        cabled=True, peer=TESTER,
    ),
    "a DUT in a namespace": Scene(
        HARDWARE.format(f"{{left: d-left, right: d-right, namespace: {DUT}}}"), f"{TIMED}, {NAT}", cabled=True
    ),
    "a DUT behind ssh": Scene(
        BEHIND_SSH,
        f"gateway: {{driver: iptables, backend: legacy, udp_timeout_s: 77}}, {NAT}",
        cabled=True,
        marks=[needs.SSHD],
    ),
    # One DUT is one box: the tester is the other end of the softwire.
    "a softwire's end behind ssh": Scene(
        BEHIND_SSH,
        f"{B4}, {SEARCH}",
        cabled=True,
        marks=[needs.SSHD],
    ),
    "a core of many behind ssh": Scene(
        BEHIND_SSH,
        f"{SHARED}, {SEARCH}",
        cabled=True,
        marks=[needs.SSHD],
    ),
    "both ends of a softwire, each behind ssh": in_a_row("softwire"),
    "both ends of MAP-T, each behind ssh": in_a_row("map-t", needs.TUN, needs.programs("tayga")),
    "hosts on interfaces of this machine": Scene(
        HARDWARE.format(f"{{left: d-left, right: d-right, namespace: {DUT}}}"),
        GOODPUT,
        cabled=True,
        outside=True,
        marks=[needs.programs("iperf3")],
    ),
    "bench": Scene(
        "", "",
        marks=[needs.programs("dpdk-testpmd"), pytest.mark.skipif(not TASKS.exists(), reason="task_bench not built")],
    ),
}  # fmt: skip


# The scenes of `make test`; together they have every kind of entry.
SHORT: Final = ("lab", "a DUT behind ssh")
LONG: Final = ("lab with a softwire", "guest", "a core of many behind ssh")


@pytest.fixture
def ledger(own_ledger: Path) -> Path:
    """Returns the folder of a ledger of the test's own."""
    own_ledger.mkdir()
    return own_ledger


class Bed:
    """Makes the scene, and kills natxy in it."""

    def __init__(self, scene: Scene, ledger: Path, folder: Path) -> None:
        self._stack = ExitStack()
        self._folder = folder
        self._runs = 0
        self.whole = 0
        """Counts the comparisons in which nothing at all had changed, whoever uses the machine."""
        self._is_bench = not scene.testbed
        self._inside: list[str] = []
        self._namespaces: list[str] = []
        text = PLAN.format(testbed=scene.testbed, experiment=scene.experiment)
        if scene.cabled:
            self._inside = [] if scene.outside else ["ip", "netns", "exec", TESTER]
            self._cable(scene.peer, scene.outside)
        if scene.in_a_row:
            self._cable_second()
        for word, namespace, address in (("CONFIG", DUT, MANAGEMENT), ("OTHER", SECOND, SECOND_MANAGEMENT)):
            if word in text:
                dut = running_sshd(folder / namespace, address=address, inside=["ip", "netns", "exec", namespace])
                text = text.replace(word, str(self._stack.enter_context(dut).target.config))
        self._plan = folder / "plan.yaml"
        self._plan.write_text(text)
        self._killing = self._stack.enter_context(Killing(ledger, self._inside))

    def close(self) -> None:
        self._stack.close()

    def run(self, moment: str = "", number: int = 0) -> bool:
        """Runs the plan, or the benchmarks. Returns True when the run ended at the write, False when it ended well.

        A run that the machine was too slow for is repeated; raises AssertionError when it is so again and again.
        """
        for _ in range(TRIES):
            self._runs += 1
            run: list[str | Path] = ["run", self._plan, "--output", self._folder / f"run{self._runs}"]
            ending = self._killing.run(["bench"] if self._is_bench else run, moment, number)
            if ending != Ending.TOO_SLOW:
                return ending == Ending.ENDED
        raise AssertionError(f"this machine was {TRIES} times too slow for the run")

    def writes(self) -> int:
        """Returns how often an undisturbed run writes to the ledger."""
        assert not self.run()
        return self._killing.writes()

    def cleanup(self) -> None:
        """Runs `natxy cleanup` where natxy ran: from elsewhere, the DUT behind ssh cannot be reached."""
        assert self._killing.run(["cleanup"]) == Ending.WELL

    def left(
        self, moment: str = "", number: int = 0, then: Callable[[], object] = lambda: None
    ) -> tuple[bool, list[str]]:
        """Runs natxy, then does what follows. Returns whether the run ended at the write, and what has changed."""
        before = self._state()
        ended = self.run(moment, number)
        then()
        return ended, [*self._changed(before), *(described(entry) for entry in Ledger().entries())]

    def _state(self) -> dict[str, Any]:
        return machine_state(self._namespaces, self._killing.owners())

    def _changed(self, before: dict[str, Any]) -> list[str]:
        """Returns what has changed for longer than another natxy's run may change it."""
        deadline = time.monotonic() + OTHERS_S
        while True:
            after = self._state()
            if before == after:
                self.whole += 1
                return []
            # In a namespace of the scene, which is compared as a whole, natxy touches no other.
            touched = "" if self._inside else self._killing.touched()
            changed = differences(touched_only(before, touched), touched_only(after, touched))
            if not changed or time.monotonic() > deadline:
                return changed
            time.sleep(1)

    def _cable(self, peer: str, outside: bool) -> None:
        for namespace in (TESTER, DUT):
            ip("netns", "add", namespace)
            self._stack.callback(ip, "netns", "del", namespace)
            ip("-n", namespace, "link", "set", "lo", "up")
            self._namespaces.append(namespace)
        for end in ("left", "right"):
            here = [] if outside else ["-n", TESTER]
            ip(*here, "link", "add", f"t-{end}", "type", "veth", "peer", "name", f"d-{end}", "netns", peer)
            # The interfaces behave as cards whose offloads are off.
            ip("netns", "exec", peer, "ethtool", "-K", f"d-{end}", "tx", "off")
            subprocess.run([*self._inside, "ethtool", "-K", f"t-{end}", "tx", "off"], check=True, capture_output=True)
            # natxy leaves the DUT's interfaces up, and a link is up only when both of its ends are.
            ip("-n", peer, "link", "set", f"d-{end}", "up")
        ip("-n", TESTER, "link", "add", "t-mgmt", "type", "veth", "peer", "name", "d-mgmt", "netns", DUT)
        for namespace, name, address in ((TESTER, "t-mgmt", "192.0.2.2"), (DUT, "d-mgmt", MANAGEMENT)):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", name)
            ip("-n", namespace, "link", "set", name, "up")

    def _cable_second(self) -> None:
        """Moves the tester's end of the first DUT's right link to a second DUT, which gets a link to the tester."""
        ip("netns", "add", SECOND)
        self._stack.callback(ip, "netns", "del", SECOND)
        self._namespaces.append(SECOND)
        ip("-n", SECOND, "link", "set", "lo", "up")
        ip("-n", TESTER, "link", "set", "t-right", "netns", SECOND, "name", "d2-left")
        for end in ("right", "mgmt"):
            ip("-n", TESTER, "link", "add", f"t2-{end}", "type", "veth", "peer", "name", f"d2-{end}", "netns", SECOND)
        for namespace, end in ((TESTER, "t2-right"), (SECOND, "d2-left"), (SECOND, "d2-right")):
            ip("netns", "exec", namespace, "ethtool", "-K", end, "tx", "off")
        for namespace, name, address in ((TESTER, "t2-mgmt", "203.0.113.2"), (SECOND, "d2-mgmt", SECOND_MANAGEMENT)):
            ip("-n", namespace, "address", "add", f"{address}/24", "dev", name)
        # natxy leaves the DUTs' interfaces up.
        for namespace, names in ((TESTER, ("t2-mgmt",)), (SECOND, ("d2-mgmt", "d2-left", "d2-right"))):
            for name in names:
                ip("-n", namespace, "link", "set", name, "up")


def _marks(name: str, scene: Scene) -> list[pytest.MarkDecorator]:
    if name in SHORT:
        return [*scene.marks]
    return [*scene.marks, pytest.mark.long if name in LONG else pytest.mark.more]


@pytest.fixture(params=[pytest.param(scene, id=name, marks=_marks(name, scene)) for name, scene in SCENES.items()])
def bed(request: pytest.FixtureRequest, ledger: Path, tmp_path: Path) -> Iterator[Bed]:
    bed = Bed(request.param, ledger, tmp_path)
    try:
        yield bed
    finally:
        # A test that failed must not spoil the next one.
        try:
            bed.cleanup()
        finally:
            bed.close()


def test_some_kills_give_everything_back(bed: Bed) -> None:
    # `make kills` kills at every write. How many there are depends on the machine, e.g. on whether it groups processes
    # by session. The first of these two comes while the testbed is built or used, the second while it is removed.
    writes = bed.writes()
    for number in (writes // 2, writes - 1):
        assert bed.left("after", number, bed.cleanup) == (True, []), f"after write {number}"


@pytest.mark.kills
@pytest.mark.parametrize("moment", MOMENTS)
def test_every_kill_gives_everything_back(
    bed: Bed, moment: str, record_property: Callable[[str, object], None]
) -> None:
    writes, stayed = bed.writes(), []
    for kills in count():
        ended, changed = bed.left(moment, kills + 1, bed.cleanup)
        stayed += [f"{moment} write {kills + 1}: {line}" for line in changed]
        if not ended:
            break
    record_property("kills", kills)
    record_property("runs after which the whole machine was as before", bed.whole)
    assert stayed == []
    assert kills == writes > 0


@pytest.mark.kills
def test_a_run_that_ends_gives_everything_back(bed: Bed) -> None:
    assert bed.left() == (False, [])


@pytest.mark.kills
def test_a_run_that_is_asked_to_end_gives_everything_back_itself(bed: Bed) -> None:
    writes, asked = bed.writes(), 0
    for number in range(1, writes + 1):
        ended, changed = bed.left(ASKED, number)
        assert changed == [], f"asked after write {number}"
        # Near its end, a run ends by itself.
        asked += ended
    assert asked > writes / 2


@pytest.mark.kills
def test_the_next_run_gives_back_what_a_killed_one_left(bed: Bed) -> None:
    for number in range(1, bed.writes() + 1, 3):
        assert bed.left("soon", number, bed.run) == (True, []), f"soon after write {number}"
