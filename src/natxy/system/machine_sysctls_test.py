# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.errors import DutError
from natxy.system.ledger import Ledger, here, own_network
from natxy.system.machine_sysctls import MachineSysctls, interface_word, sysctl_file, sysctl_undo
from natxy.system.process_owner import Owner

ME = Owner.current()
NAME = "net.core.wmem_default"
OF_MACHINE = "vm.nr_hugepages"


class Machine:
    """Fakes a /proc/sys with two sysctls."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "sys"
        self.folder = folder / "ledger"
        for name in (NAME, OF_MACHINE):
            path = self.root / name.replace(".", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("100\n")

    def sysctls(self, owner: Owner = ME) -> MachineSysctls:
        return MachineSysctls(Ledger(self.folder, owner), root=self.root)

    def ledger(self) -> Ledger:
        return Ledger(self.folder)


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
    assert machine.ledger().entries() == []


def test_of_two_holders_in_one_process_the_last_restores(machine: Machine) -> None:
    first, second = machine.sysctls(), machine.sysctls()
    first.hold(NAME, "500")
    second.hold(NAME, "500")
    with pytest.raises(DutError, match=f"should become 700, but process {ME.pid} holds it at 500"):
        machine.sysctls().hold(NAME, "700")
    first.release_all()
    assert second.read(NAME) == "500"
    second.release_all()
    assert second.read(NAME) == "100"
    assert machine.ledger().entries() == []


def test_the_entry_says_how_to_restore_it_and_in_which_network_namespace(machine: Machine) -> None:
    sysctls = machine.sysctls()
    for name in (NAME, OF_MACHINE):
        sysctls.hold(name, "500")
    first, second = machine.ledger().entries()
    assert (first.what, first.original, first.undo[0][-2:]) == (f"sysctl {NAME}", "100", (NAME, "100"))
    assert (first.place, second.place) == (own_network(), here())


@pytest.mark.parametrize(
    ("name", "code", "called", "ends"),
    [
        ("net.ipv4.tcp_rmem", 0, True, 0),
        ("net.ipv4.conf.natxy-gone.forwarding", 0, False, 0),
        # That it cannot be restored is an error.
        ("net.ipv4.tcp_rmem", 9, True, 9),
    ],
)
def test_the_command_restores_a_sysctl_that_still_exists(
    tmp_path: Path, name: str, code: int, called: bool, ends: int
) -> None:
    (tmp_path / "sysctl").write_text(f'#!/bin/sh\necho "$*" >> {tmp_path}/log\nexit {code}\n')
    (tmp_path / "sysctl").chmod(0o755)
    (command,) = sysctl_undo(name, "1 2 3")
    done = subprocess.run(command, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=False)
    assert done.returncode == ends
    assert (tmp_path / "log").exists() == called
    if called:
        assert (tmp_path / "log").read_text() == f"-qw {name}=1 2 3\n"


def test_two_owners_share_a_value(machine: Machine, other_live_owner: Owner) -> None:
    mine, others = machine.sysctls(), machine.sysctls(other_live_owner)
    mine.hold(NAME, "500")
    others.hold(NAME, "500")
    with pytest.raises(DutError, match=f"process {other_live_owner.pid} holds it at 500"):
        mine.hold(NAME, "600")
    mine.release_all()
    assert mine.read(NAME) == "500"
    others.release_all()
    assert mine.read(NAME) == "100"


def test_unknown_setting_is_an_error(machine: Machine) -> None:
    with pytest.raises(DutError, match=r"net\.nothing cannot be read"):
        machine.sysctls().hold("net.nothing", "1")
    assert machine.ledger().entries() == []


def test_a_refused_value_changes_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    sysctls = machine.sysctls()
    write = MachineSysctls._write

    def refuse(self: MachineSysctls, name: str, value: str) -> None:
        if value == "-1":
            raise DutError("refused")
        write(self, name, value)

    monkeypatch.setattr(MachineSysctls, "_write", refuse)
    with pytest.raises(DutError, match="refused"):
        sysctls.hold(NAME, "-1")
    assert machine.ledger().entries() == []
    sysctls.hold(NAME, "500")
    with pytest.raises(DutError, match="refused"):
        sysctls.hold(NAME, "-1")
    sysctls.release_all()
    assert sysctls.read(NAME) == "100"
    assert machine.ledger().entries() == []


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
        assert machine.ledger().entries() == []


def test_an_interface_may_have_dots_in_its_name() -> None:
    name = f"net.ipv6.conf.{interface_word('eth0.10')}.disable_ipv6"
    assert name == "net.ipv6.conf.eth0/10.disable_ipv6"
    assert sysctl_file(name) == "net/ipv6/conf/eth0.10/disable_ipv6"
