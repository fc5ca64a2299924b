# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import cast

import pytest

from natxy.dut.transport.ssh import SshTransport, UnreachableError
from natxy.errors import DutError, DutLostError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.vm import machine as module
from natxy.testbeds.vm.image import VmImage
from natxy.testbeds.vm.kept_state import KeptState
from natxy.testbeds.vm.machine import VirtualMachine
from natxy.testbeds.vm.qemu import Start
from tests.support.command import HANG_S


@pytest.fixture
def start(tmp_path: Path) -> Start:
    return Start(accelerator="tcg", cores=(0,), taps={}, vhosts={}, folder=tmp_path, ssh_port=22, mtu=1500)


@pytest.fixture
def machine(tmp_path: Path) -> VirtualMachine:
    image = VmImage(tmp_path / "disk", "raw", tmp_path / "100% key", known_hosts=tmp_path / "known")
    return VirtualMachine(VmConfig(kind="vm"), image, 1)


@pytest.fixture
def qemu(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Replaces QEMU's command by the list, which a test fills."""
    argv: list[str] = []
    monkeypatch.setattr(module, "qemu_argv", lambda *_: argv)
    return argv


def test_one_that_is_switched_off_is_lost(machine: VirtualMachine) -> None:
    with pytest.raises(DutLostError, match=r"^`nft` cannot be run: the virtual machine has ended$"):
        machine.run(["nft"])
    with pytest.raises(DutLostError, match=r"^the virtual machine has ended$"):
        machine.check_runs()


def test_qemu_that_does_not_start_says_why(machine: VirtualMachine, start: Start, qemu: list[str]) -> None:
    qemu += ["sh", "-c", "echo no such device >&2; exit 1"]
    with pytest.raises(DutError, match="QEMU did not start; its last words: no such device"):
        machine.start(start)
    assert machine.threads() == []


def test_the_console_has_the_last_words(machine: VirtualMachine, start: Start, qemu: list[str]) -> None:
    start.console.write_text("booting\n\nKernel panic\n")
    qemu += ["sh", "-c", "echo QEMU ends; exit 0"]
    with pytest.raises(DutError, match=r"last words: QEMU ends \| booting \| Kernel panic$"):
        machine.start(start)


def test_a_port_that_somebody_took_meanwhile_is_replaced(
    machine: VirtualMachine, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as somebody:
        somebody.bind(("127.0.0.1", 0))
        somebody.listen()
        ports = [somebody.getsockname()[1], module.free_port()]
        given: list[int] = []

        def argv(*words: object) -> list[str]:
            given.extend(word.ssh_port for word in words if isinstance(word, Start))
            return ["sh", "-c", "echo no such port; exit 1"]

        monkeypatch.setattr(module, "qemu_argv", argv)
        monkeypatch.setattr(module, "free_port", lambda: ports[len(given)])
        with pytest.raises(DutError, match="QEMU did not start; its last words: no such port"):
            machine.start(start)
        assert given == ports


def test_a_control_socket_that_nobody_listens_at_yet_is_asked_again(
    machine: VirtualMachine, start: Start, qemu: list[str]
) -> None:
    program = (
        "import json, socket, sys, time\n"
        "control = socket.socket(socket.AF_UNIX)\n"
        f"control.bind({str(start.control)!r})\n"
        "time.sleep(0.5)\n"
        "control.listen()\n"
        "lines = control.accept()[0].makefile('rw')\n"
        "print(json.dumps({'QMP': {}}), file=lines, flush=True)\n"
        "lines.readline()\n"
        "print(json.dumps({'return': {}}), file=lines, flush=True)\n"
        "lines.readline()\n"
        "print(json.dumps({'error': {'desc': 'it was reached'}}), file=lines, flush=True)\n"
    )
    qemu += [sys.executable, "-c", program]
    with pytest.raises(DutError, match="QEMU refused query-cpus-fast: it was reached"):
        machine.start(start)


def test_a_machine_that_runs_without_a_connection_has_not_ended(machine: VirtualMachine, start: Start) -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        machine._process = process
        with pytest.raises(
            DutLostError, match=r"^`nft` cannot be run: the virtual machine runs, but its system has not"
        ):
            machine.run(["nft"])
        process.kill()
    with pytest.raises(DutLostError, match=r"^`nft` cannot be run: the virtual machine has ended$"):
        machine.run(["nft"])


class FailingSsh:
    def __init__(self, error: DutError) -> None:
        self.error = error

    def run(self, *_: object, **__: object) -> None:
        raise self.error


@pytest.mark.parametrize(
    ("error", "lost"),
    [
        (UnreachableError("gone"), True),
        # A command's own words do not decide.
        (DutError("`ip` failed: no connection"), False),
    ],
)
def test_a_lost_connection_to_a_machine_that_ends_is_its_end(
    machine: VirtualMachine, monkeypatch: pytest.MonkeyPatch, error: DutError, *, lost: bool
) -> None:
    # A busy machine may let the process end late.
    monkeypatch.setattr(module, "_END_S", HANG_S)
    # A machine that has not ended yet when the connection fails.
    with subprocess.Popen(["sleep", "0.3" if lost else "60"]) as process:
        machine._process = process
        machine._ssh = cast("SshTransport", FailingSsh(error))
        with pytest.raises(DutError) as raised:
            machine.run(["nft"])
        process.kill()
    assert isinstance(raised.value, DutLostError) == lost


def test_the_users_ssh_configuration_has_no_part_in_it(machine: VirtualMachine, start: Start, tmp_path: Path) -> None:
    target = machine._written_target(start)
    assert (target.host, target.user, target.config) == ("gateway", "root", tmp_path / "ssh_config")
    written = (tmp_path / "ssh_config").read_text()
    assert f'IdentityFile "{tmp_path}/100%% key"' in written
    assert f'UserKnownHostsFile "{tmp_path}/known"' in written
    assert f"Port {start.ssh_port}\n" in written
    assert "HostKeyAlias gateway" in written


@pytest.mark.parametrize(("greeting", "expected"), [(b"SSH-2.0-x\r\n", True), (b"HTTP/1.1\r\n", False), (b"", False)])
def test_an_ssh_server_is_known_by_its_greeting(greeting: bytes, *, expected: bool) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()

        def serve() -> None:
            with listener.accept()[0] as connection:
                connection.sendall(greeting)

        server = threading.Thread(target=serve)
        server.start()
        assert module._greets(listener.getsockname()[1]) == expected
        server.join()


def test_a_closed_port_does_not_greet() -> None:
    assert not module._greets(module.free_port())


class States:
    """Stands in for the kept states of an image: it notes what is done with them."""

    def __init__(self, *, has_state: bool, keeps: bool = True) -> None:
        self.done: list[str] = []
        self._has_state = has_state
        self._keeps = keeps

    def fetch(self, disk: Path) -> bool:
        self.done.append("fetch")
        return self._has_state

    def new_disk(self, disk: Path) -> None:
        self.done.append("new disk")

    def keep(self, monitor: object, disk: Path) -> None:
        self.done.append("keep")
        if not self._keeps:
            raise DutError("QEMU does not answer")

    def forget(self) -> None:
        self.done.append("forget")


@pytest.mark.parametrize(
    ("states", "bad", "done", "gone_on"),
    [
        (States(has_state=True), 0, ["fetch", "start booted"], True),
        (States(has_state=False), 0, ["fetch", "new disk", "start", "keep"], False),
        # A state that QEMU cannot go on from is forgotten, and the system boots.
        (States(has_state=True), 1, ["fetch", "start booted", "forget", "new disk", "start", "keep"], False),
        # So does a system whose state cannot be kept, once more.
        (States(has_state=False, keeps=False), 0, ["fetch", "new disk", "start", "keep", "start"], False),
    ],
)
def test_a_machine_goes_on_from_a_kept_state_or_boots(
    machine: VirtualMachine, start: Start, monkeypatch: pytest.MonkeyPatch, states: States, bad: int, done: list[str],
    gone_on: bool,
) -> None:  # fmt: skip
    starts = iter(range(10))

    def started(each: Start) -> None:
        states.done.append(f"start {each.snapshot or ''}".strip())
        if next(starts) < bad:
            raise DutError("no such snapshot")
        monkeypatch.setattr(machine, "_monitor", object())

    monkeypatch.setattr(KeptState, "of", lambda *_: states)
    monkeypatch.setattr(machine, "_start_system", started)
    monkeypatch.setattr(machine, "_connect", lambda: None)
    monkeypatch.setattr(machine, "run", lambda *_, **__: None)
    machine.start(start)
    assert states.done == done
    assert machine.has_gone_on == gone_on
