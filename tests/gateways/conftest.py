# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of gateways."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _apart(own_ledger: Path) -> None:
    """Keeps the entries of DUTs that end with their test apart from the machine's."""
