# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.hotplug import HotPlug, parse_cores
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner


class StandIn:
    """A folder like the kernel's, in which core 0 has no switch and `online` follows the switches."""

    def __init__(self, folder: Path, cores: int) -> None:
        self.sysfs = folder / "cpu"
        self.folder = folder / "ledger"
        self.ledger = Ledger(self.folder)
        for core in range(cores):
            (self.sysfs / f"cpu{core}").mkdir(parents=True)
            if core:
                (self.sysfs / f"cpu{core}" / "online").write_text("1")
        self.cores = cores
        self.refresh()

    def refresh(self) -> None:
        on = [core for core in range(self.cores) if core == 0 or self.switch(core) == "1"]
        (self.sysfs / "online").write_text(",".join(map(str, on)) + "\n")

    def switch(self, core: int) -> str:
        return (self.sysfs / f"cpu{core}" / "online").read_text().strip()

    def plug(self, owner: Owner | None = None) -> HotPlug:
        outer = self

        class Transport(LocalTransport):
            def run(
                self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
            ) -> CompletedCommand:
                done = super().run(argv, input=input, timeout_s=timeout_s, check=check)
                outer.refresh()
                return done

        return HotPlug(Transport(MachineSysctls()), str(self.sysfs), Ledger(self.folder, owner))


@pytest.mark.parametrize(
    ("text", "cores"), [("0-3,8\n", (0, 1, 2, 3, 8)), ("0\n", (0,)), ("", ()), ("0,2-3", (0, 2, 3))]
)
def test_the_kernels_lists(text: str, cores: tuple[int, ...]) -> None:
    assert parse_cores(text) == cores


def test_cores_leave_and_come_and_are_given_back(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 4)
    plug = machine.plug()
    for wanted in ([0], [0, 1], [0, 1, 2, 3], [0, 1, 2]):
        plug.use(wanted)
        assert plug.cores() == tuple(wanted)
    plug.give_back()
    assert plug.cores() == (0, 1, 2, 3)
    assert machine.ledger.entries() == []
    plug.give_back()


def test_what_a_killed_run_took_its_entry_gives_back(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 4)
    machine.plug().use([0])
    (entry,) = machine.ledger.entries()
    assert (entry.what, entry.original) == ("the cores in service", "0,1,2,3")
    for command in entry.undo:
        LocalTransport(MachineSysctls()).run(command)
    machine.refresh()
    assert machine.plug().cores() == (0, 1, 2, 3)


def test_cores_that_a_killed_run_took_are_not_taken_for_absent_ones(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 4)
    machine.plug().use([0])
    plug = machine.plug()
    plug.use([0, 1])
    plug.give_back()
    assert plug.cores() == (0, 1, 2, 3)


def test_cores_that_a_live_run_took_stay_out_until_it_has_ended(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 4)
    mine, others = machine.plug(), machine.plug(Owner(Owner.current().pid + 1, 1))
    mine.use([0, 1])
    others.use([0, 1, 2])
    others.use([0, 1])
    mine.give_back()
    assert mine.cores() == (0, 1)
    others.give_back()
    assert mine.cores() == (0, 1, 2, 3)
    assert machine.ledger.entries() == []


def test_a_core_that_was_out_of_service_before_stays_so(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 4)
    (machine.sysfs / "cpu3" / "online").write_text("0")
    machine.refresh()
    plug = machine.plug()
    plug.use([0])
    with pytest.raises(DutError, match="no core 3 in service, but 0, 1, 2"):
        plug.use([0, 3])
    plug.give_back()
    assert plug.cores() == (0, 1, 2)


def test_a_core_without_a_switch_stays(tmp_path: Path) -> None:
    machine = StandIn(tmp_path, 2)
    with pytest.raises(DutError, match="cannot take core 0 out of service"):
        machine.plug().use([1])


def test_what_is_no_linux_tells_no_cores(tmp_path: Path) -> None:
    assert HotPlug(LocalTransport(MachineSysctls()), str(tmp_path)).cores() == ()


@pytest.mark.parametrize("text", ["Welcome!\n0-3\n", "\ufffd", "0--3", "1,,2", "0-99999999999", "٣"])
def test_what_is_no_list_of_cores_is_quoted(text: str) -> None:
    with pytest.raises(DutError, match="where a list such as 0-3,8 was expected"):
        parse_cores(text)
