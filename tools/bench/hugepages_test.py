# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls
from tools.bench.hugepages import reserved


def machine(folder: Path, pages: int | None) -> MachineSysctls:
    """Returns a machine with so many pages in the file `vm/nr_hugepages`."""
    (folder / "vm").mkdir()
    if pages is not None:
        (folder / "vm" / "nr_hugepages").write_text(f"{pages}\n")
    return MachineSysctls(Ledger(folder), root=folder)


def pages(folder: Path) -> int:
    return int((folder / "vm" / "nr_hugepages").read_text())


@pytest.mark.parametrize(("before", "during"), [(0, 512), (100, 512), (4096, 4096)])
def test_they_are_as_before_when_the_work_is_done(tmp_path: Path, before: int, during: int) -> None:
    with reserved(machine(tmp_path, before)):
        assert pages(tmp_path) == during
    assert pages(tmp_path) == before


def test_they_are_as_before_when_the_work_was_stopped(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), reserved(machine(tmp_path, 7)):
        raise KeyboardInterrupt
    assert pages(tmp_path) == 7


def test_the_work_is_done_where_there_can_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with reserved(machine(tmp_path, None)):
        pass
    assert not (tmp_path / "vm" / "nr_hugepages").exists()
    assert capsys.readouterr().err.startswith("make bench: on pages of 4 KiB: sysctl vm.nr_hugepages cannot be read (")
