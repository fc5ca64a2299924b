# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from natxy.errors import PlanError
from natxy.lab.namespaces import prepare_machine


def test_a_lab_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(PlanError, match="needs root"):
        prepare_machine()
