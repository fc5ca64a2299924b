# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.shipped import DOCS, shown


def test_a_path_is_short_only_below_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(DOCS.parent)
    assert shown(DOCS / "index.md") == "docs/index.md"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    assert shown(DOCS / "index.md") == str(DOCS / "index.md")
    gone.rmdir()
    assert shown(DOCS / "index.md") == str(DOCS / "index.md")
