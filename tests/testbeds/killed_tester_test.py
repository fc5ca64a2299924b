# SPDX-License-Identifier: Apache-2.0
"""Tests what happens when a tester behind ssh dies in mid-trial, or its connection is cut: programs that answer as
natxy-engine does stand in for the engines, so that the trial costs no core."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from pathlib import Path

import pytest

from natxy.dut.transport.ssh import ssh_command
from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import FrameFormat, StreamSpec, TrialLimits, TrialRequest
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.engine.testers import Tester, Testers
from natxy.errors import EngineDiedError
from natxy.plan.gateways.simulated import SimulatedConfig
from tests.support import needs
from tests.support.processes import runs
from tests.support.sshd import running_sshd
from tests.support.timing import takes_at_most, wait_until

pytestmark = [needs.SSHD, needs.programs("ssh"), pytest.mark.lab]

FRAME = FrameFormat(size=64)
STREAMS = [
    StreamSpec(name=name, source=Side.LEFT, pair=pair, frame=FRAME, rate_fps=1000, frames=60_000)
    for pair, name in enumerate(("forward", "forward 2"))
]
TRIAL = TrialRequest(streams=STREAMS, seed=1, drain_s=0, limits=TrialLimits(max_pause_s=5))
RESULT = SimulatedEngine(SimulatedDut(SimulatedConfig())).run_trial(TRIAL).model_dump_json()

# It tells its progress until the trial is aborted, or its input ends.
ENGINE = f"""
import json, os, select, sys, time
open(sys.argv[1], "w").write(str(os.getpid()))
def send(**message): print(json.dumps({{"jsonrpc": "2.0"}} | message), flush=True)
def receive():
    line = sys.stdin.buffer.raw.readline()
    return json.loads(line) if line else sys.exit(0)
while True:
    request = receive()
    result = {{}}
    if request["method"] == "engine.clock":
        result = {{"clock_ns": time.monotonic_ns(), "raw_ns": 0, "uncertainty_ns": 0}}
    elif request["method"] == "trial.run":
        while not select.select([0], [], [], 0.2)[0]:
            send(method="progress", params={{"elapsed_s": 1, "planned": 1, "sent": 1, "received": 1}})
        result = json.loads({RESULT!r}) | {{"began_ns": request["params"]["begin_at_ns"]}}
    send(id=request["id"], result=result)
"""


@pytest.mark.parametrize("fault", ["engine", "connection"])
def test_the_others_end_within_two_seconds(tmp_path: Path, fault: str) -> None:
    script = tmp_path / "engine.py"
    script.write_text(ENGINE)
    here = [sys.executable, str(script), str(tmp_path / "here")]
    there = [sys.executable, str(script), str(tmp_path / "there")]

    def time_of_death() -> float:
        engines = EngineClient(here), EngineClient(ssh_command(sshd.target, there))
        testers = Testers([Tester("this machine", engines[0], (0,)), Tester("the tester b", engines[1], (1,))])
        killed_s: list[float] = []

        def engine_there() -> int:
            return int((tmp_path / "there").read_text())

        def kill(_: object) -> None:
            if killed_s:
                return
            killed_s.append(time.monotonic())
            if fault == "engine":
                os.kill(engine_there(), signal.SIGKILL)
            else:
                sshd.cut()

        try:
            with pytest.raises(EngineDiedError, match=r"^the tester b: natxy-engine ended during trial.run"):
                testers.run_trial(TRIAL, kill)
            took_s = time.monotonic() - killed_s[0]
            # The other one has ended its trial and takes requests again.
            assert engines[0].read_clock().clock_ns > 0
            # An engine whose connection is gone ends, too.
            wait_until(lambda: not runs(engine_there()))
            assert threading.active_count() == threads
        finally:
            testers.close()
        return took_s

    threads = threading.active_count()
    with running_sshd(tmp_path / "sshd") as sshd:
        takes_at_most(2, time_of_death)
