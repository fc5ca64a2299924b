# SPDX-License-Identifier: Apache-2.0
"""Measures gateways on a machine behind OpenSSH, and breaks it in every way that a machine breaks.

Every run ends with the exit code that its fault has, in bounded time, and leaves nothing on either machine; or, where
the DUT does not answer any more, leaves in the ledger what `natxy cleanup` gives back when it does again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from tests.support import needs
from tests.support.booted_dut import (
    BootedDut,
    Ended,
    Running,
    booted_disk,
    cabled_tester,
    network_of_tester,
    running_dut,
)
from tests.support.machine_state import differences

pytestmark = [*needs.LAB, *needs.VM, needs.TUN, needs.programs("ssh", "qemu-img"), pytest.mark.faults]
# With a machine that others use at the same time. The first is for what is refused at once, the second for waiting
# until a machine that does not answer is given up.
AT_ONCE_S: Final = 60.0
BOUND_S: Final = 120.0
# How long the traffic of `REBOOT` takes, and the most that set-ups and trials may.
REBOOT_TRAFFIC_S: Final = 245.0
OTHERS_S: Final = 240.0
OTHER_KEY: Final = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIDBtnIoWY0DkPLkbkL0hSFNjGyn5NJPlqVwYLAbULVBe"
SWAP: Final = (
    "ip link set left down; ip link set left name old; ip link set right down; ip link set right name left; "
    "ip link set old name right; ip link set left up; ip link set right up"
)

PLAN: Final = """
name: faults
# Frames may take seconds through a machine whose processor is emulated and which others disturb.
timing: {{preset: rfc, trial: {trial}, drain: 5s, drain_ends_early: true, settle: 20ms, learning_frames: false,
  learning_pause: 10ms, max_pause: 20ms, overrun_floor: 20ms}}
repeat: {repeat}
order: experiments
testbed:
  kind: hardware
  left: {{interface: left}}
  right: {{interface: right}}
  io: af_packet
  dut: {{ssh: {{host: gateway, config: {config}, connect_timeout: 30s{login}}}, left: left, right: right{cards}}}
defaults:
  max_invalid: 50
  search: {{kind: binary, min_rate: 100, max_rate: 200, error: 100}}
experiments:
"""
FORWARDING: Final = "{name: forwarding, gateway: linux-forward, procedure: throughput}"
NAT44: Final = (
    "{name: nat44, gateway: {driver: nftables, udp_timeout_s: 77}, procedure: throughput, connections: 200, "
    "phase1_rate: 200}"
)
NAT64: Final = (
    "{name: nat64, gateway: jool, translation: nat64, procedure: throughput, connections: 200, phase1_rate: 200, "
    "loss_tolerance: {reverse: 1%}}"
)
SIIT: Final = "{name: siit, gateway: tayga, translation: siit, procedure: throughput}"
REBOOT: Final = (
    "{name: reboot, gateway: linux-forward, rate: 100, procedure: {name: reset, kind: operating-system, "
    "command: [systemctl, reboot], steady: 5s, recovery: 4 min}}"
)
# The image has other settings. Receive offload merges segments of TCP; frames of UDP stay as they are.
CARDS: Final = ", cards: {rss_fields: sd, offloads: {generic-receive-offload: on}}"
# The disk has blocks of 4 KiB.
FILL: Final = (
    "for size in 1G 64M 4M 256K 16K 4K; do "
    "number=0; while fallocate -l $size /full-$size-$number; do number=$((number + 1)); done; done 2>/dev/null; "
    "! dd if=/dev/zero of=/more bs=4K count=1"
)


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with cabled_tester():
        yield booted_disk(tmp_path_factory.mktemp("booted"))


@pytest.fixture
def dut(disk: Path, tmp_path: Path) -> Iterator[BootedDut]:
    with running_dut(disk, tmp_path) as running:
        yield running


@dataclass
class Bed:
    """Runs plans against the DUT, and compares both machines with their states before."""

    dut: BootedDut
    folder: Path
    note: Callable[[str, object], None]

    def __post_init__(self) -> None:
        self._before = self.dut.state()
        self._tester_before = network_of_tester()

    def run(
        self,
        *experiments: str,
        trial: str = "200ms",
        login: str = "",
        cards: str = "",
        fault: Callable[[Running], None] | None = None,
        within_s: float = BOUND_S,
    ) -> Ended:
        """Runs natxy, which has to end in time: `within_s` counts from the fault, or from the start if there is none
        meanwhile."""
        plan, repeat = self.folder / "plan.yaml", 3 if fault else 1
        head = PLAN.format(config=self.dut.config, trial=trial, login=login, cards=cards, repeat=repeat)
        plan.write_text(head + "".join(f"  - {each}\n" for each in experiments))
        ended = self.dut.natxy("run", plan, "--output", self.folder / "out", fault=fault)
        self.note("exit code", ended.code)
        self.note("seconds", round(ended.whole_s))
        if ended.after_fault_s is not None:
            self.note("seconds after the fault", round(ended.after_fault_s))
        assert (ended.whole_s if ended.after_fault_s is None else ended.after_fault_s) < within_s, ended.output
        return ended

    def experiments(self) -> list[ExperimentRecord]:
        return RunReader(self.folder / "out").run.experiments

    def left(self) -> dict[str, Any]:
        """Returns what differs from before on both machines, and what is in the ledger."""
        found: dict[str, Any] = {"ledger": ledger} if (ledger := self.dut.recorded()) else {}
        if (tester := network_of_tester()) != self._tester_before:
            found["tester"] = differences(self._tester_before, tester)
        after = self.dut.state()
        # A kernel module that a driver has loaded brings settings of its own, and stays.
        known = {line.partition(" = ")[0] for line in self._before["sysctls"]}
        after["sysctls"] = [line for line in after["sysctls"] if line.partition(" = ")[0] in known]
        if after != self._before:
            found["DUT"] = differences(self._before, after)
        self.note("left", "nothing" if not found else ", ".join(found))
        return found

    def given_back(self) -> dict[str, Any]:
        """Returns what `natxy cleanup` leaves."""
        assert self.dut.recorded() != []
        ended = self.dut.natxy("cleanup")
        assert ended.code == 0, ended.output
        found = self.left()
        self.note("left", "nothing after `natxy cleanup`")
        return found


@pytest.fixture
def bed(dut: BootedDut, tmp_path: Path, record_property: Callable[[str, object], None]) -> Bed:
    return Bed(dut, tmp_path, record_property)


def test_no_fault(bed: Bed) -> None:
    one_core = FORWARDING.replace("name: forwarding", "name: one-core, cores: 1")
    ended = bed.run(FORWARDING, one_core, NAT44, NAT64, SIIT, cards=CARDS, within_s=OTHERS_S)
    assert ended.code == 0, ended.output
    experiments = bed.experiments()
    for each in experiments:
        [value] = each.values
        assert value is not None
        assert 100 <= value <= 200
        # As the plan asks for. What `left` compares has other settings.
        for side in ("left", "right"):
            assert "generic-receive-offload" in each.duts[0].hardware[f"{side} offloads"].split(", ")
            for family in ("IPv4", "IPv6"):
                assert each.duts[0].hardware[f"{side} RSS fields, UDP over {family}"] == "sd"
    # The second core was hot-unplugged, and came back.
    cores = [each.duts[0].settings["cores in service"] for each in experiments if each.duts]
    assert cores == ["0, 1", "0", "0, 1", "0, 1", "0, 1"]
    assert bed.left() == {}


@pytest.mark.more
def test_wrong_host_key(bed: Bed) -> None:
    known = bed.dut.known_hosts.read_text()
    bed.dut.known_hosts.write_text(f"gateway {OTHER_KEY}\n")
    ended = bed.run(FORWARDING, within_s=AT_ONCE_S)
    bed.dut.known_hosts.write_text(known)
    assert ended.code == 4, ended.output
    assert "the host's key differs from known_hosts or is missing there" in said(ended)
    assert bed.left() == {}


@pytest.mark.more
def test_login_refused(bed: Bed) -> None:
    ended = bed.run(FORWARDING, login=", user: nobody", within_s=AT_ONCE_S)
    assert ended.code == 4, ended.output
    assert "the login was refused" in said(ended)
    assert bed.left() == {}


@pytest.mark.parametrize(
    ("as_root", "words"),
    [
        ("[]", "not permitted"),
        ("[sudo, -n]", "sudo is not installed there"),
        ("[/usr/sbin/runuser, -u, root, --]", "runuser: "),
    ],
    ids=["as itself", "by sudo that is missing", "by a program that refuses"],
)
def test_user_without_the_rights_of_root(bed: Bed, as_root: str, words: str) -> None:
    bed.dut.run("useradd -m -s /bin/sh plain && cp -r /root/.ssh /home/plain/ && chown -R plain: /home/plain/.ssh")
    ended = bed.run(FORWARDING, login=f", user: plain, as_root: {as_root}", within_s=AT_ONCE_S)
    assert ended.code == 4, ended.output
    assert words in said(ended)
    assert bed.left() == {}


def test_power_cut_in_a_trial(bed: Bed) -> None:
    def cut(running: Running) -> None:
        running.has_measured(1)
        bed.dut.cut_power()

    ended = bed.run(NAT44, trial="5s", cards=CARDS, fault=cut)
    assert ended.code == 4, ended.output
    bed.dut.switch_on(None)
    assert bed.given_back() == {}


def test_power_cut_while_the_table_is_cleared(bed: Bed) -> None:
    bed.dut.announce("conntrack", pause_s=5)

    def cut(running: Running) -> None:
        running.waits_for(lambda: bed.dut.has_begun("conntrack") > 2)
        bed.dut.cut_power()

    ended = bed.run(NAT44, fault=cut)
    assert ended.code == 4, ended.output
    bed.dut.switch_on(None)
    assert bed.given_back() == {}


def test_ssh_lost_between_commands_and_back(bed: Bed) -> None:
    def lose(running: Running) -> None:
        running.has_measured(1)
        bed.dut.later("systemctl restart ssh; pkill -f 'sshd: root'")

    ended = bed.run(FORWARDING, trial="10s", fault=lose)
    assert ended.code == 0, ended.output
    assert bed.left() == {}


def test_ssh_lost_within_a_command_and_back(bed: Bed) -> None:
    bed.dut.announce("conntrack", pause_s=15)

    def lose(running: Running) -> None:
        running.waits_for(lambda: bed.dut.has_begun("conntrack") > 1)
        bed.dut.later("systemctl restart ssh; pkill -f 'sshd: root'")

    ended = bed.run(NAT44, FORWARDING, fault=lose)
    assert ended.code == 4, ended.output
    nat44, forwarding = bed.experiments()
    assert "the connection was lost during `conntrack" in nat44.reason
    assert forwarding.state == State.DONE
    assert bed.left() == {}


def test_ssh_lost_for_good(bed: Bed) -> None:
    def lose(running: Running) -> None:
        running.has_measured(1)
        bed.dut.lose_network()

    ended = bed.run(FORWARDING, trial="10s", cards=CARDS, fault=lose)
    assert ended.code == 4, ended.output
    assert "no answer within 30 s" in said(ended)
    bed.dut.find_network()
    assert bed.given_back() == {}


def test_hang_in_a_trial(bed: Bed) -> None:
    def hang(running: Running) -> None:
        running.has_measured(1)
        bed.dut.monitor("stop")

    ended = bed.run(NAT44, trial="5s", fault=hang)
    assert ended.code == 4, ended.output
    assert "no answer within 30 s" in said(ended)
    bed.dut.monitor("cont")
    assert bed.given_back() == {}


def test_hang_in_a_command(bed: Bed) -> None:
    bed.dut.announce("conntrack", pause_s=5)

    def hang(running: Running) -> None:
        running.waits_for(lambda: bed.dut.has_begun("conntrack") > 2)
        bed.dut.monitor("stop")

    ended = bed.run(NAT44, fault=hang)
    assert ended.code == 4, ended.output
    bed.dut.monitor("cont")
    assert bed.given_back() == {}


def test_reboot_as_the_reset(bed: Bed) -> None:
    before = bed.dut.boot()
    ended = bed.run(FORWARDING, REBOOT, NAT44, within_s=REBOOT_TRAFFIC_S + OTHERS_S)
    assert ended.code == 0, ended.output
    assert bed.dut.boot() != before
    _, reboot, _ = bed.experiments()
    assert "the DUT booted, and natxy set its gateway up again" in reboot.reason
    assert bed.left() == {}


def test_names_swapped_by_a_reboot(bed: Bed) -> None:
    bed.dut.run("cd /etc/systemd/network && sed -i 's/Name=left/Name=right/' 10-left.link && "
                "sed -i 's/Name=right/Name=left/' 10-right.link")  # fmt: skip
    ended = bed.run(FORWARDING, REBOOT, NAT44, within_s=REBOOT_TRAFFIC_S + OTHERS_S)
    assert ended.code == 4, ended.output
    forwarding, _, nat44 = bed.experiments()
    assert forwarding.state == State.DONE
    assert "the DUT's interfaces are swapped" in nat44.reason
    assert bed.left() == {}


@pytest.mark.parametrize("experiment", [NAT64, SIIT], ids=["jool", "tayga"])
def test_no_space_in_run(bed: Bed, experiment: str) -> None:
    bed.dut.run("dd if=/dev/zero of=/run/full bs=1M; dd if=/dev/zero of=/run/fuller bs=4k; true")
    ended = bed.run(experiment, within_s=OTHERS_S)
    assert ended.code == 4, ended.output
    assert "No space left on device" in said(ended)
    bed.dut.run("rm /run/full /run/fuller")
    assert bed.left() == {}


def test_no_space_on_the_disk(bed: Bed) -> None:
    bed.dut.run(FILL)
    ended = bed.run(NAT44, NAT64, SIIT, within_s=OTHERS_S)
    assert ended.code == 0, ended.output
    # Nor has anything freed some meanwhile.
    bed.dut.run("! dd if=/dev/zero of=/more bs=4K count=1")
    assert bed.left() == {}


def test_names_swapped_before_the_run(bed: Bed) -> None:
    bed.dut.run(SWAP)
    ended = bed.run(FORWARDING)
    assert ended.code == 4, ended.output
    assert "the DUT's interfaces are swapped" in said(ended)
    bed.dut.run(SWAP)
    assert bed.left() == {}


def said(ended: Ended) -> str:
    return " ".join(ended.output.split())
