# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from natxy.errors import DutError
from natxy.testbeds.vm import qmp as module
from natxy.testbeds.vm.qmp import QemuMonitor
from tests.support.command import HANG_S

GREETING: dict[str, Any] = {"QMP": {"version": {}, "capabilities": []}}


@contextmanager
def qemu(path: Path, *answers: list[dict[str, Any]]) -> Iterator[list[str]]:
    """Runs a server that greets, gives each command the next answers, and closes; yields the commands."""
    commands: list[str] = []

    def serve() -> None:
        with listener.accept()[0] as connection, connection.makefile("rwb") as lines:
            for messages in ([GREETING], [{"return": {}}], *answers):
                if messages != [GREETING]:
                    commands.append(json.loads(lines.readline())["execute"])
                lines.writelines(json.dumps(each).encode() + b"\r\n" for each in messages)
                lines.flush()

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        server = threading.Thread(target=serve)
        server.start()
        yield commands
        server.join(timeout=HANG_S)


def test_threads_of_virtual_cpus_are_told_between_events(tmp_path: Path) -> None:
    cpus = {"return": [{"cpu-index": 0, "thread-id": 71}, {"cpu-index": 1, "thread-id": 72}]}
    with qemu(tmp_path / "control", [{"event": "RESUME"}, cpus]) as commands:
        monitor = QemuMonitor(tmp_path / "control")
        assert monitor.vcpu_threads() == [71, 72]
        monitor.close()
    assert commands == ["qmp_capabilities", "query-cpus-fast"]


def test_a_refusal_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with qemu(tmp_path / "control", [{"error": {"class": "GenericError", "desc": "not now"}}]):
        monitor = QemuMonitor(tmp_path / "control")
        with pytest.raises(DutError, match="QEMU refused system_reset: not now"):
            monitor.execute("system_reset")
        monitor.close()


def test_an_end_is_an_error(tmp_path: Path) -> None:
    with qemu(tmp_path / "control", []):
        monitor = QemuMonitor(tmp_path / "control")
        with pytest.raises(DutError, match="closed the connection"):
            monitor.execute("system_reset")
        monitor.close()


def test_silence_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWER_S", 0.1)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "control"))
        listener.listen()
        with pytest.raises(DutError, match="QEMU does not answer"):
            QemuMonitor(tmp_path / "control")


def test_a_missing_socket_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DutError, match=r"QEMU does not answer: .*No such file"):
        QemuMonitor(tmp_path / "control")
