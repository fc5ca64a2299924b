# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

_COMMANDS = {
    "module": [sys.executable, "-X", "importtime", "-m", "natxy"],
    "script": [sys.executable, "-X", "importtime", str(Path(sys.executable).with_name("natxy"))],
}


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("imported", ["typer", "pydantic", "natxy.plan.model.units", "natxy.cli.report", "natxy.cli"])
def test_ctrl_c_while_natxy_starts_is_told_in_a_line(imported: str, command: str) -> None:
    with subprocess.Popen(
        [*_COMMANDS[command], "list", "procedures"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.rstrip().endswith(f" {imported}"):
                process.send_signal(signal.SIGINT)
                break
        said = [line for line in process.stderr if not line.startswith("import time:")]
    assert (said, process.returncode) == (["natxy: interrupted\n"], 130)
