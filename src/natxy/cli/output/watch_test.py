# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app


def test_an_installation_without_the_extra_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "natxy.watch.page.server", None)
    done = CliRunner().invoke(app, ["watch", str(tmp_path)])
    assert done.exit_code == 2
    assert "pip install 'starlette>=1,<2' 'uvicorn>=0.40,<1'" in " ".join(done.output.split())
