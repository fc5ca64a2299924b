# SPDX-License-Identifier: Apache-2.0
"""Tests the client against a small stand-in for the engine, which can die in every way."""

from __future__ import annotations

import os
import signal
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from natxy.engine.client import EngineClient
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import NeighborsResolve, PortMedium, PortsOpen, PortSpec
from natxy.engine.messages.requests import FrameFormat, StreamKind, StreamSpec, TrialRequest
from natxy.engine.messages.results import Progress
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import DutError, EngineDiedError, NatxyError, PlanError, TesterLimitError
from natxy.plan.gateways.simulated import SimulatedConfig
from tests.support.command import HANG_S
from tests.support.timing import takes_at_most, wait_until

TRIAL = TrialRequest(
    streams=[
        StreamSpec(
            name="reverse",
            source=Side.RIGHT,
            kind=StreamKind.FLOWS,
            frame=FrameFormat(size=64),
            rate_fps=1000,
            frames=100,
        )
    ],
    seed=2**64 - 1,
    drain_s=0,
)
RESULT = SimulatedEngine(SimulatedDut(SimulatedConfig())).run_trial(TRIAL).model_dump_json()

PRELUDE = f"""
import json, sys, time
RESULT = json.loads({RESULT!r})
def receive():
    line = sys.stdin.readline()
    return json.loads(line) if line else sys.exit(0)
def send(**message): print(json.dumps({{"jsonrpc": "2.0"}} | message), flush=True)
"""


# Of a quarter of an hour, at 5 Hz.
PROGRESS_OF_MINUTES = 5 * 60 * 15


@contextmanager
def engine(tmp_path: Path, script: str, silence_s: float = HANG_S) -> Iterator[EngineClient]:
    file = tmp_path / "engine.py"
    file.write_text(PRELUDE + textwrap.dedent(script))
    client = EngineClient([sys.executable, str(file)], tmp_path / "engine.log", silence_s)
    try:
        yield client
    finally:
        client.close()


def test_a_trial_with_its_progress(tmp_path: Path) -> None:
    script = """
        request = receive()
        assert request["method"] == "trial.run" and request["params"]["seed"] == 2**64 - 1, request
        for sent in (10, 20):
            progress = {"elapsed_s": 0.1, "planned": 100, "sent": sent, "received": 9}
            send(method="progress", params=progress)
        send(method="log", params={"level": "info", "text": "hello"})
        send(id=request["id"], result=RESULT)
        receive()
        """
    seen: list[Progress] = []
    with engine(tmp_path, script) as client:
        result = client.run_trial(TRIAL, seen.append)
    assert result.streams[0].received == 100
    assert [progress.sent for progress in seen] == [10, 20]


def test_progress_of_minutes_waits_until_it_is_read(tmp_path: Path) -> None:
    # As while a callback resets a gateway. The engine takes a pipe that stays full for dead.
    written = tmp_path / "written"
    script = f"""
        request = receive()
        for sent in range({PROGRESS_OF_MINUTES}):
            progress = {{"elapsed_s": 300.25, "planned": 10**9, "sent": 10**8 + sent, "received": 10**8}}
            send(method="progress", params=progress)
        open({str(written)!r}, "w").close()
        send(id=request["id"], result=RESULT)
        receive()
        """
    seen: list[Progress] = []

    def busy(progress: Progress) -> None:
        if not seen:
            wait_until(written.exists)
        seen.append(progress)

    with engine(tmp_path, script) as client:
        client.run_trial(TRIAL, busy)
    assert len(seen) == PROGRESS_OF_MINUTES


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [
        (-32003, DutError, 4),
        (-32002, PlanError, 2),
        (-32004, TesterLimitError, 3),
        (-32005, EngineDiedError, 5),
        (-32001, NatxyError, 1),
        (-32602, NatxyError, 1),
    ],
)
def test_an_error_reply_becomes_its_exception(
    tmp_path: Path, code: int, kind: type[NatxyError], exit_code: int
) -> None:
    script = f"""
        request = receive()
        send(id=request["id"], error={{"code": {code}, "message": "198.18.0.1 is silent", "data": "left"}})
        receive()
        """
    with engine(tmp_path, script) as client, pytest.raises(kind, match=r"198\.18\.0\.1 is silent \(left\)") as caught:
        client.resolve_neighbors(NeighborsResolve(neighbors=[]))
    assert caught.value.exit_code == exit_code


def test_a_refused_port_tells_the_last_words(tmp_path: Path) -> None:
    script = """
        request = receive()
        print("ETHDEV: veth has no combined channels", file=sys.stderr, flush=True)
        send(id=request["id"], error={"code": -32002, "message": "left cannot be opened"})
        receive()
        """
    with engine(tmp_path, script) as client, pytest.raises(PlanError, match="left cannot be opened") as caught:
        client.open_ports(PortsOpen(ports=[]))
    assert "ETHDEV: veth has no combined channels" in str(caught.value)


def test_a_death_tells_the_last_words(tmp_path: Path) -> None:
    script = """
        receive()
        print("EAL: no memory", file=sys.stderr)
        sys.exit(7)
        """
    with engine(tmp_path, script) as client, pytest.raises(EngineDiedError) as caught:
        client.open_ports(PortsOpen(ports=[]))
    assert "natxy-engine ended during ports.open (exit code 7)" in str(caught.value)
    assert f"(all are in {tmp_path}" in str(caught.value)
    assert "EAL: no memory" in str(caught.value)


def test_a_log_in_memory_has_the_last_words_too() -> None:
    script = "import sys; [print(i, file=sys.stderr, flush=True) for i in range(9)]; sys.stdin.readline(); sys.exit(7)"
    client = EngineClient([sys.executable, "-c", script])
    try:
        with pytest.raises(EngineDiedError) as caught:
            client.open_ports(PortsOpen(ports=[]))
    finally:
        client.close()
    assert str(caught.value).endswith("Its last lines:\n" + "\n".join(f"  {i}" for i in range(1, 9)))


@pytest.mark.parametrize(("last", "quoted"), [("EAL: no memory", False), ("libxdp: no such map", True)])
def test_warnings_of_libraries_are_quoted_only_without_other_lines(tmp_path: Path, last: str, quoted: bool) -> None:
    script = f"""
        receive()
        print("libbpf: Kernel error message", file=sys.stderr)
        print({last!r}, file=sys.stderr)
        """
    with engine(tmp_path, script) as client, pytest.raises(EngineDiedError) as caught:
        client.info()
    assert last in str(caught.value)
    assert ("libbpf" in str(caught.value)) == quoted


def test_only_the_words_of_this_engine_are_told(tmp_path: Path) -> None:
    (tmp_path / "engine.log").write_text("an earlier engine\n")
    with engine(tmp_path, "receive()") as client, pytest.raises(EngineDiedError) as caught:
        client.info()
    assert "an earlier engine" not in str(caught.value)


def test_a_crash_names_its_signal(tmp_path: Path) -> None:
    script = "import os; receive(); os.kill(os.getpid(), 11)"
    with engine(tmp_path, script) as client, pytest.raises(EngineDiedError, match="signal 11"):
        client.info()


def time_of_death(folder: Path, script: str, error: str, ask: Callable[[EngineClient], object]) -> float:
    started = time.monotonic()
    with engine(folder, script, silence_s=0.3) as client, pytest.raises(EngineDiedError, match=error):
        ask(client)
    return time.monotonic() - started


@pytest.mark.lab
def test_silence_is_a_death(tmp_path: Path) -> None:
    script = "receive(); time.sleep(60)"
    takes_at_most(3, lambda: time_of_death(tmp_path, script, r"was silent for 0\.3 s", EngineClient.info))


@pytest.mark.lab
def test_an_engine_that_takes_no_request_is_dead(tmp_path: Path) -> None:
    many = PortsOpen(ports=[PortSpec(side=Side.LEFT, device="net_null" * 100, medium=PortMedium.LOOP)] * 1000)
    error = r"did not read ports\.open within 0\.3 s"
    takes_at_most(3, lambda: time_of_death(tmp_path, "time.sleep(60)", error, lambda client: client.open_ports(many)))


@pytest.mark.lab
def test_a_stopped_engine_is_dead(tmp_path: Path) -> None:
    script = """
        import os, signal
        receive()
        send(method="progress", params={"elapsed_s": 0.1, "planned": 100, "sent": 10, "received": 9})
        os.kill(os.getpid(), signal.SIGSTOP)
        """
    error = r"was silent for 0\.3 s during trial\.run"
    takes_at_most(3, lambda: time_of_death(tmp_path, script, error, lambda client: client.run_trial(TRIAL)))


@pytest.mark.parametrize("line", ["EAL: Detected 2 lcores", "[1]", "{"])
def test_other_words_than_json_on_stdout_are_a_death(tmp_path: Path, line: str) -> None:
    with (
        engine(tmp_path, f"receive(); print({line!r}, flush=True); receive()") as client,
        pytest.raises(EngineDiedError, match="wrote a line that is not"),
    ):
        client.info()


def test_a_reply_that_does_not_fit_is_a_death(tmp_path: Path) -> None:
    script = "request = receive(); send(id=request['id'], result={'name': 3}); receive()"
    with (
        engine(tmp_path, script) as client,
        pytest.raises(EngineDiedError, match=r"an invalid reply to engine\.info"),
    ):
        client.info()


def test_an_engine_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="/no/engine cannot be started: No such file"):
        EngineClient(["/no/engine"], tmp_path / "engine.log")


def test_ctrl_c_aborts_the_trial(tmp_path: Path) -> None:
    script = """
        trial = receive()
        send(method="progress", params={"elapsed_s": 0.1, "planned": 100, "sent": 10, "received": 9})
        request = receive()
        print(request["method"], file=sys.stderr, flush=True)
        """
    with engine(tmp_path, script) as client:

        def interrupt_soon(_: Progress) -> None:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()

        with pytest.raises(KeyboardInterrupt):
            client.run_trial(TRIAL, interrupt_soon)
    assert (tmp_path / "engine.log").read_text() == "trial.abort\n"


@pytest.mark.lab
def test_closing_takes_at_most_two_seconds(tmp_path: Path) -> None:
    def closed() -> float:
        with engine(tmp_path, "receive(); send(id=1, result={}); time.sleep(60)") as client:
            with pytest.raises(EngineDiedError):
                client.info()
            started = time.monotonic()
            client.close()
            return time.monotonic() - started

    takes_at_most(2.5, closed)
