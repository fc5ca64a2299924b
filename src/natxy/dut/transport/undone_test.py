# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.undone import undone
from natxy.errors import DutError
from natxy.system import ledger as module
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls


@pytest.fixture(autouse=True)
def _ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "default_folder", lambda: tmp_path / "ledger")


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
