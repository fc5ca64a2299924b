# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
import typer

from natxy.cli.machine.cleanup import cleanup
from natxy.doctor.machine import _stale
from natxy.system.ledger import Kind, Ledger
from natxy.system.process_owner import Owner

pytestmark = pytest.mark.usefixtures("own_ledger")

ME = Owner.current()
DEAD = Owner(ME.pid, ME.start_ticks + 1)


def left_setting(command: str) -> None:
    Ledger(owner=DEAD).add(Kind.SETTING, "sysctl x", before=lambda: "7", undo=lambda _: ((command,),))


def test_nothing_to_give_back(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    cleanup()
    assert capsys.readouterr().out == "There is nothing to undo.\n"
    (finding,) = _stale()
    assert (finding.ok, finding.value) == (True, "nothing")


def test_another_user_than_root_is_not_told_that_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    cleanup()
    assert "root has a list of its own" in capsys.readouterr().out
    (finding,) = _stale()
    assert finding.ok is None


def test_what_was_given_back_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "natxy-memif-x"
    folder.mkdir()
    Ledger(owner=DEAD).add(Kind.FOLDER, str(folder))
    left_setting("true")
    (finding,) = _stale()
    assert finding.ok is None
    listed = f"the folder {folder} (process {ME.pid}); sysctl x, which was 7 (process {ME.pid})"
    assert (finding.value, finding.remedy) == (listed, "`natxy cleanup` undoes it")
    cleanup()
    assert capsys.readouterr().out.splitlines() == [
        f"Undone: sysctl x, which was 7 (process {ME.pid}).",
        f"Undone: the folder {folder} (process {ME.pid}).",
    ]
    assert not folder.exists()


@pytest.mark.parametrize("forget", [False, True])
def test_what_could_not_be_given_back_is_told_and_kept_unless_it_is_to_be_forgotten(
    forget: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    left_setting("false")
    with pytest.raises(typer.Exit) as ended:
        cleanup(forget=forget)
    assert ended.value.exit_code == 4
    said = capsys.readouterr()
    assert f"sysctl x, which was 7 (process {ME.pid}) could not be undone: `false` failed" in said.err
    assert len(Ledger().entries()) == (0 if forget else 1)
