# SPDX-License-Identifier: Apache-2.0
"""Starts the launcher of the portable engine, with builds that only print what they were started with."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

LAUNCHER: Final = Path("build/engine/natxy-launcher")
ISAS: Final = ("x86-64-v4", "x86-64-v3", "x86-64-v2")
# The CPU's flag that the level needs and the level below lacks.
FLAGS: Final = {"x86-64-v2": "sse4_2", "x86-64-v3": "avx2", "x86-64-v4": "avx512bw"}


def usable() -> list[str]:
    flags = Path("/proc/cpuinfo").read_text().split()
    return [isa for isa in ISAS if FLAGS[isa] in flags]


@pytest.fixture
def program(tmp_path: Path) -> Path:
    for isa in ISAS:
        build = tmp_path / f"natxy-engine.{isa}"
        build.write_text(f'#!/bin/sh\necho {isa} "$@"\n')
        build.chmod(0o755)
    return Path(shutil.copy(LAUNCHER, tmp_path / "natxy-engine"))


def started(program: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)


def test_the_newest_build_that_the_cpu_can_run_is_started(program: Path) -> None:
    assert started(program, "--worker-cores", "0 1").stdout == f"{usable()[0]} --worker-cores 0 1\n"


@pytest.mark.parametrize("isa", ISAS)
def test_a_build_can_be_chosen_if_the_cpu_can_run_it(program: Path, isa: str) -> None:
    result = started(program, "--isa", isa, "--version")
    if isa in usable():
        assert result.stdout == f"{isa} --version\n"
    else:
        assert result.returncode == 2
        assert f"this CPU can run: {' '.join(usable())}" in result.stderr


@pytest.mark.parametrize("arguments", [["--isa"], ["--isa", "avx2"]])
def test_an_unknown_instruction_set_is_an_error_that_names_those_there_are(program: Path, arguments: list[str]) -> None:
    result = started(program, *arguments)
    assert result.returncode == 2
    assert result.stderr == (
        "natxy-engine: --isa expects the name of an instruction set; this CPU can run: " + " ".join(usable()) + "\n"
    )


def test_a_build_that_is_not_installed_is_named(program: Path) -> None:
    build = program.with_name(f"natxy-engine.{usable()[0]}")
    build.unlink()
    result = started(program)
    assert result.returncode == 127
    assert f"cannot start {build}: No such file or directory" in result.stderr
