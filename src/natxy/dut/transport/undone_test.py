# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.undone import undone
from natxy.errors import DutError
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner

pytestmark = pytest.mark.usefixtures("own_ledger")

ME = Owner.current()


@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_the_ledger_has_the_commands_until_they_ran(tmp_path: Path, error: type[BaseException] | None) -> None:
    file = tmp_path / "file"
    commands = (("touch", str(file)), ("cp", str(file), f"{file}2"))
    try:
        with undone(LocalTransport(MachineSysctls()), "a file", "absent", *commands):
            (entry,) = Ledger().entries()
            assert (entry.what, entry.original, entry.undo) == ("a file", "absent", commands)
            assert not file.exists()
            if error:
                raise error
    except KeyboardInterrupt:
        pass
    assert Path(f"{file}2").exists()
    assert Ledger().entries() == []


def test_what_could_not_be_undone_stays_in_the_ledger() -> None:
    with (
        pytest.raises(DutError, match="`false` failed"),
        undone(LocalTransport(MachineSysctls()), "x", "y", ("false",)),
    ):
        pass
    assert [entry.what for entry in Ledger().entries()] == ["x"]


def test_a_command_that_fails_does_not_keep_the_others_from_running(tmp_path: Path) -> None:
    commands = (("false",), ("touch", str(tmp_path / "file")), ("sh", "-c", "exit 3"))
    with (
        pytest.raises(DutError, match=r"`false` failed(.|\n)*`sh -c 'exit 3'` failed"),
        undone(LocalTransport(MachineSysctls()), "x", "y", *commands),
    ):
        pass
    assert (tmp_path / "file").exists()


def test_the_last_of_two_runs_undoes_what_both_did(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "log"
    append = f'echo "$0" >> {log}'
    with undone(LocalTransport(MachineSysctls()), "x", "y", ("sh", "-c", append, "mine")):
        with monkeypatch.context() as patch:
            patch.setattr(Owner, "current", lambda: Owner(ME.pid + 1, 1))
            with undone(LocalTransport(MachineSysctls()), "x", "y", ("sh", "-c", append, "others")):
                pass
        assert not log.exists()
    assert log.read_text().split() == ["others", "mine"]
