# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.dut.transport.local import run_program
from natxy.errors import DutError
from tests.support.command import HANG_S
from tests.support.processes import runs


def test_output_and_exit_code() -> None:
    done = run_program(["sh", "-c", "cat; echo said >&2; exit 3"], input="given", check=False)
    assert (done.returncode, done.stdout, done.stderr) == (3, "given", "said\n")


def test_failure_says_what_the_program_said() -> None:
    with pytest.raises(DutError, match=r"`sh -c 'echo no >&2; exit 3'` failed with exit code 3; it printed: no"):
        run_program(["sh", "-c", "echo no >&2; exit 3"])


def test_missing_program() -> None:
    with pytest.raises(DutError, match="natxy-no-such-program is not installed"):
        run_program(["natxy-no-such-program"])


def test_program_without_an_end() -> None:
    with pytest.raises(DutError, match=r"did not end within 0\.1 s"):
        run_program(["sleep", "10"], timeout_s=0.1)


def error_of(script: str, started: Path, expected: str) -> str:
    """Returns the error of a script without an end, once it has written the file. A busy machine lets it begin late."""
    limit_s, said = 0.2, ""
    while limit_s < HANG_S and not (expected in said and started.exists() and started.read_text()):
        with pytest.raises(DutError) as raised:
            run_program(["sh", "-c", script], timeout_s=limit_s)
        said = str(raised.value)
        assert f" {limit_s:g} s" in said
        limit_s *= 2
    return said


def test_a_program_that_keeps_the_output_of_what_started_it_is_told(tmp_path: Path) -> None:
    started = tmp_path / "started"
    held = "ended, but a program that it started still held its output after "
    assert held in error_of(f"sleep 600 & echo $! > {started}", started, held)
    assert not runs(int(started.read_text()))


@pytest.mark.parametrize("start", ["sleep 600 &", "set -m; sleep 600 &"])
def test_what_a_program_without_an_end_started_ends_with_it(tmp_path: Path, start: str) -> None:
    started = tmp_path / "started"
    assert "did not end" in error_of(f"{start} echo $! > {started}; sleep 600", started, "did not end")
    assert not runs(int(started.read_text()))


def test_program_without_input_does_not_wait_for_the_terminal() -> None:
    assert run_program(["cat"], timeout_s=HANG_S).stdout == ""


def test_output_that_is_not_text_is_replaced() -> None:
    done = run_program(["printf", r"a\377b\303\244\303\n"], check=False)
    assert done.stdout == "a\ufffdb\u00e4\ufffd\n"
    with pytest.raises(DutError, match="it printed: \ufffd\ufffd no"):
        run_program(["sh", "-c", r"printf '\376\377 no' >&2; exit 3"])


def test_output_of_a_program_that_is_stopped_may_be_anything() -> None:
    with pytest.raises(DutError, match="did not end within"):
        run_program(["sh", "-c", r"printf '\377'; exec sleep 10"], timeout_s=0.3)
