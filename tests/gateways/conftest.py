# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of gateways."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.system import ledger


@pytest.fixture(autouse=True)
def _own_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the entries of DUTs that end with their test apart from the machine's."""
    monkeypatch.setattr(ledger, "default_folder", lambda: tmp_path / "ledger")
