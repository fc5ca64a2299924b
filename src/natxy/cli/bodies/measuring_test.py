# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.cli.bodies.measuring import show_preflight
from natxy.run.preflight import Preflight
from natxy.terminal.console import LastingConsole


def test_what_the_machine_lacks_is_printed_and_doubts_are_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    found = Preflight({"no iperf3": ["a", "b"]}, {"a table is too small": ["c"]}, ("a note",), ("a doubt",))
    show_preflight(found, LastingConsole())
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "a note",
        "Will be skipped: a, b: no iperf3",
        "Will fail: c: a table is too small",
    ]
    assert printed.err.strip() == "natxy: warning: a doubt"
