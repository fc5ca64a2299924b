# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from natxy.system.process_owner import Owner


def test_current_process_is_alive() -> None:
    owner = Owner.current()
    assert owner.pid == os.getpid()
    assert owner.is_alive()


def test_text_round_trip() -> None:
    owner = Owner.current()
    assert Owner.parse(str(owner)) == owner


@pytest.mark.parametrize("text", ["", "12", "a-b", "1-2-3"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        Owner.parse(text)


def test_process_with_a_reused_number_is_another_owner() -> None:
    owner = Owner.current()
    assert not replace(owner, start_ticks=owner.start_ticks - 1).is_alive()


def test_ended_process_is_dead_even_before_it_is_waited_for() -> None:
    code = "from natxy.system.process_owner import Owner; print(Owner.current())"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        owner = Owner.parse(process.stdout.read().strip())
        # The pipe closes a moment before the process has ended.
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        assert owner.pid == process.pid
        assert not owner.is_alive()


def test_process_whose_name_is_not_text_has_an_owner() -> None:
    code = (
        "from pathlib import Path; from natxy.system.process_owner import Owner;"
        "Path('/proc/self/comm').write_bytes(b'\\377) R 1'); print(Owner.current())"
    )
    named = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert Owner.parse(named.strip()).pid > 0
