# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from natxy.errors import PlanError
from natxy.testbeds.vm import accelerator as module
from natxy.testbeds.vm.accelerator import QEMU, boots_with, choose_accelerator


@pytest.fixture(autouse=True)
def without_memory() -> Iterator[None]:
    boots_with.cache_clear()
    yield
    boots_with.cache_clear()


def pretend(monkeypatch: pytest.MonkeyPatch, outcome: int | None) -> list[Sequence[str]]:
    """Pretends that QEMU is installed and ends with an exit code, or with None does not end; returns its starts."""
    starts: list[Sequence[str]] = []

    def run(argv: Sequence[str], *, timeout: float, **_: Any) -> subprocess.CompletedProcess[bytes]:
        starts.append(argv)
        if outcome is None:
            raise subprocess.TimeoutExpired(argv, timeout)
        return subprocess.CompletedProcess(argv, outcome)

    monkeypatch.setattr(shutil, "which", lambda _: f"/usr/bin/{QEMU}")
    monkeypatch.setattr(subprocess, "run", run)
    return starts


@pytest.mark.parametrize(
    ("outcome", "expected"), [(module._EXIT_CODE, "kvm"), (None, "tcg"), (1, "tcg"), (0, "tcg"), (-6, "tcg")]
)
def test_kvm_is_chosen_only_if_a_guest_boots(monkeypatch: pytest.MonkeyPatch, outcome: int, expected: str) -> None:
    starts = pretend(monkeypatch, outcome)
    assert choose_accelerator(None) == expected
    # The answer does not change while natxy runs.
    assert choose_accelerator(None) == expected
    assert len(starts) == 1


def test_kvm_that_is_wanted_and_does_not_work_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, None)
    with pytest.raises(PlanError, match=r"testbed\.accelerator: a guest did not boot with KVM here within 5 s"):
        choose_accelerator("kvm")


def test_tcg_that_is_wanted_needs_no_probe(monkeypatch: pytest.MonkeyPatch) -> None:
    starts = pretend(monkeypatch, module._EXIT_CODE)
    assert choose_accelerator("tcg") == "tcg"
    assert starts == []


def test_without_qemu_the_error_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(PlanError, match="not installed on this machine: run `make vm`"):
        choose_accelerator("tcg")


# `make test-long` installs QEMU.
@pytest.mark.long
@pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"not installed: {QEMU}")
def test_the_probe_reaches_the_64_bit_mode_of_a_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    assert boots_with("tcg", 60.0)
    # A guest that executes too slowly for a kernel is given up: here it has to count so far that nothing can.
    slower = module._SECTOR.replace(module._ROUNDS.to_bytes(4, "little"), b"\xff" * 4)
    assert slower != module._SECTOR
    monkeypatch.setattr(module, "_SECTOR", slower)
    assert not boots_with("tcg", 1.0)
    # The same machine without the code that ends it.
    monkeypatch.setattr(module, "_SECTOR", bytes.fromhex("f4ebfd").ljust(510, b"\0") + b"\x55\xaa")
    assert not boots_with("tcg", 3.0)
