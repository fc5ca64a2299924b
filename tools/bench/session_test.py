# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import runs

# Under nohup, programs inherit that SIGHUP is ignored.
SCRIPT = """
import signal, subprocess, sys
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from pathlib import Path
from natxy.system import ledger
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.temporary_folder import temporary_folder
from tools.bench.hugepages import reserved
from tools.bench.session import machine_given_back

folder = Path(sys.argv[1])
ledger.default_folder = lambda: folder / "ledger"
with (
    machine_given_back(),
    reserved(MachineSysctls(root=folder / "sys")),
    temporary_folder("natxy-bench-") as temporary,
    subprocess.Popen(["setsid", "sleep", "600"]) as program,
):
    print(temporary, program.pid, flush=True)
    program.wait()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_the_machine_is_as_before(tmp_path: Path, number: signal.Signals) -> None:
    pages = tmp_path / "sys" / "vm" / "nr_hugepages"
    pages.parent.mkdir(parents=True)
    pages.write_text("7")
    with subprocess.Popen([sys.executable, "-c", SCRIPT, str(tmp_path)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        temporary, pid = process.stdout.readline().split()
        assert Path(temporary).is_dir()
        assert pages.read_text() == "512"
        process.send_signal(number)
        try:
            assert process.wait(60) == 130
        finally:
            process.kill()
    assert pages.read_text() == "7"
    assert not Path(temporary).exists()
    assert not runs(int(pid))
    assert not (tmp_path / "ledger" / "ledger.json").exists()
