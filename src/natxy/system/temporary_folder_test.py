# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import stat
from pathlib import Path

import pytest

from natxy.system.ledger import Kind, Ledger
from natxy.system.temporary_folder import temporary_folder


def test_it_has_an_entry_before_it_exists_and_neither_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger, seen = Ledger(tmp_path), []
    mkdir = Path.mkdir

    def look(self: Path, *arguments: object, **named: object) -> None:
        seen.append([(entry.kind, entry.what) for entry in ledger.entries()])
        mkdir(self, *arguments, **named)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", look)
        context = temporary_folder("natxy-test-", ledger)
        folder = context.__enter__()
    assert [(Kind.FOLDER, str(folder))] in seen
    assert folder.name.startswith("natxy-test-")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    (folder / "file").write_text("")
    context.__exit__(None, None, None)
    assert not folder.exists()
    assert ledger.entries() == []


def test_an_error_in_the_context_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), temporary_folder("natxy-test-", Ledger(tmp_path)) as folder:
        raise KeyboardInterrupt
    assert not folder.exists()
    assert Ledger(tmp_path).entries() == []
