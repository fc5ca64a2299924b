# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner

ME = Owner.current()
DEAD = Owner(ME.pid, ME.start_ticks + 1)
NAME = "net.core.wmem_default"


class Machine:
    """Fakes a /proc/sys with two sysctls."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "sys"
        self.state_file = folder / "state.json"
        for name in (NAME, "net.netfilter.nf_conntrack_max"):
            path = self.root / name.replace(".", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("100\n")

    def sysctls(self, owner: Owner = ME) -> MachineSysctls:
        return MachineSysctls(owner, state_file=self.state_file, root=self.root)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


@pytest.fixture
def other_live_owner(monkeypatch: pytest.MonkeyPatch) -> Owner:
    other = Owner(ME.pid + 1, 1)
    monkeypatch.setattr(Owner, "is_alive", lambda self: self in (ME, other))
    return other


def test_released_setting_is_as_before_and_nothing_stays(machine: Machine) -> None:
    sysctls = machine.sysctls()
    sysctls.hold(NAME, "500")
    assert sysctls.read(NAME) == "500"
    sysctls.hold(NAME, "600")
    sysctls.release(NAME)
    assert sysctls.read(NAME) == "100"
    assert not machine.state_file.exists()


def test_the_original_is_stored_before_the_change(machine: Machine) -> None:
    machine.sysctls().hold(NAME, "500")
    noted = json.loads(machine.state_file.read_text())["sysctls"][NAME]
    assert noted == {"original": "100", "wanted": {str(ME): "500"}}


def test_sysctls_of_dead_owners_are_listed_and_unchanged(machine: Machine) -> None:
    machine.sysctls(DEAD).hold(NAME, "500")
    for _ in range(2):
        assert machine.sysctls().left_by_dead_owners() == [(NAME, DEAD)]
    assert machine.sysctls().read(NAME) == "500"


def test_sysctls_of_dead_owners_are_restored(machine: Machine) -> None:
    machine.sysctls(DEAD).hold(NAME, "500")
    assert machine.sysctls().release_dead_owners() == [NAME]
    assert machine.sysctls().read(NAME) == "100"
    assert machine.sysctls().release_dead_owners() == []


def test_sysctls_that_cannot_be_restored_stay_stored(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.sysctls(DEAD).hold(NAME, "500")
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(os, "access", lambda *_: False)
        assert machine.sysctls().release_dead_owners() == []
    assert machine.sysctls().left_by_dead_owners() == [(NAME, DEAD)]
    assert machine.sysctls().release_dead_owners() == [NAME]


def test_the_last_of_two_owners_restores_a_sysctl(machine: Machine, other_live_owner: Owner) -> None:
    mine, others = machine.sysctls(), machine.sysctls(other_live_owner)
    mine.hold(NAME, "500")
    others.hold(NAME, "500")
    mine.release_all()
    assert mine.read(NAME) == "500"
    others.release_all()
    assert mine.read(NAME) == "100"


def test_two_runs_cannot_want_different_values(machine: Machine, other_live_owner: Owner) -> None:
    machine.sysctls(other_live_owner).hold(NAME, "500")
    with pytest.raises(DutError, match=f"process {other_live_owner.pid} holds it at 500"):
        machine.sysctls().hold(NAME, "600")
    assert machine.sysctls().read(NAME) == "500"


def test_unknown_setting_is_an_error(machine: Machine) -> None:
    with pytest.raises(DutError, match=r"net\.nothing cannot be read"):
        machine.sysctls().hold("net.nothing", "1")
    assert not machine.state_file.exists()


def test_a_refused_value_is_not_stored(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    sysctls = machine.sysctls()
    write = MachineSysctls._write

    def refuse(self: MachineSysctls, name: str, value: str) -> None:
        if value == "-1":
            raise DutError("refused")
        write(self, name, value)

    monkeypatch.setattr(MachineSysctls, "_write", refuse)
    with pytest.raises(DutError, match="refused"):
        sysctls.hold(NAME, "-1")
    assert not machine.state_file.exists()


def test_a_file_from_before_a_reboot_is_ignored(machine: Machine) -> None:
    sysctls = machine.sysctls(DEAD)
    sysctls.hold(NAME, "500")
    state = json.loads(machine.state_file.read_text())
    machine.state_file.write_text(json.dumps(state | {"boot_id": "another"}))
    assert machine.sysctls().release_dead_owners() == []
    assert machine.sysctls().read(NAME) == "500"


@given(st.lists(st.tuples(st.sampled_from(["hold", "release"]), st.integers(1, 3)), max_size=12))
def test_any_sequence_of_one_owner_ends_at_the_original(steps: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        machine = Machine(Path(folder))
        sysctls = machine.sysctls()
        for verb, value in steps:
            if verb == "hold":
                sysctls.hold(NAME, str(value))
                assert sysctls.read(NAME) == str(value)
            else:
                sysctls.release(NAME)
                assert sysctls.read(NAME) == "100"
        sysctls.release_all()
        assert sysctls.read(NAME) == "100"
        assert not machine.state_file.exists()
