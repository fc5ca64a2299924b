# SPDX-License-Identifier: Apache-2.0
"""Runs a DUT behind ssh that can break: a virtual machine, cabled to the network namespace of its tester.

natxy does not know it for a virtual machine: it is the DUT of a testbed of `kind: hardware`, reached by OpenSSH. It is
booted once; each test continues from the snapshot of the booted system, which takes seconds instead of a minute.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from natxy.plan.testbeds.vm import VmConfig
from natxy.system.autogroup import autogroup_of
from natxy.system.ledger import Ledger
from natxy.testbeds.vm.accelerator import CPU_MODELS, ENDS_WITH_NATXY, QEMU, choose_accelerator
from natxy.testbeds.vm.image import find_image
from tests.support.command import HANG_S, command
from tests.support.iproute import ip
from tests.support.machine_state import machine_state
from tests.support.timing import wait_until

TESTER: Final = f"bd-{os.getpid()}"
VCPUS: Final = 2
_NICENESS: Final = -10
_SSH_PORT: Final = 2222  # in the tester's namespace
_SNAPSHOT: Final = "booted"
_BEGINS: Final = "now begins"
_MANAGEMENT: Final = "169.254.77.0/24", "169.254.77.15"
_KERNEL_LINE: Final = "root=/dev/vda rw console=ttyS0 quiet"
_SIDES: Final = {"left": "02:00:00:00:02:01", "right": "02:00:00:00:02:02"}
# What natxy could leave on the DUT, by a command that shows it. The kernel has routes of links that have just come up,
# and counts.
_STATE: Final = {
    "interfaces": "ls /sys/class/net",
    "addresses": "ip -oneline address show scope global",
    "routes": "ip route; ip -6 route | grep -v ^fe80",
    "neighbors": "ip neigh show nud permanent",
    "rules": "nft list ruleset",
    "sysctls": "sysctl -a -r '^net[.](netfilter|ipv[46][.](conf|ip_forward))' | grep -v conntrack_count",
    "cores": "cat /sys/devices/system/cpu/online",
    "steering": "grep . /sys/class/net/*/queues/rx-*/rps_cpus",
    "cards": (
        "for card in left right; do { ethtool -k $card; ethtool -n $card rx-flow-hash udp4; "
        "ethtool -n $card rx-flow-hash udp6; } | sed s/^/$card:/; done"
    ),
    "Jool": "[ ! -e /sys/module/jool ] || jool instance display --csv --no-headers",
    "files": "ls -d /run/natxy* /tmp/natxy*",
    "programs": "pgrep -l 'tayga|conntrack'",
}


@dataclass
class Ended:
    """Says how natxy ended, and how long that took from its start and, if there was one, from the fault."""

    code: int
    output: str
    whole_s: float
    after_fault_s: float | None


class BootedDut:
    """`folder` gets its console, and the files of ssh. `run` executes a command there as root, by OpenSSH."""

    def __init__(self, disk: Path, folder: Path) -> None:
        image = find_image(VmConfig(kind="vm"))
        assert image.known_hosts is not None
        self.folder = folder
        self.key = image.key
        self.known_hosts = folder / "known_hosts"
        self.known_hosts.write_bytes(image.known_hosts.read_bytes())
        self.config = folder / "ssh_config"
        self.config.write_text(
            f"Host gateway\n  HostName 127.0.0.1\n  Port {_SSH_PORT}\n  HostKeyAlias gateway\n  User root\n"
            f"  IdentityFile {image.key}\n  IdentitiesOnly yes\n  IdentityAgent none\n"
            f"  UserKnownHostsFile {self.known_hosts}\n  GlobalKnownHostsFile none\n"
        )
        self.ledger = folder / "ledger"
        self.ledger.mkdir()
        self._disk = disk
        self._qemu: subprocess.Popen[bytes] | None = None

    @property
    def console(self) -> str:
        """Returns what its serial line has printed."""
        return (self.folder / "console").read_text(errors="replace")

    def switch_on(self, snapshot: str | None = _SNAPSHOT) -> None:
        """Continues from the snapshot, or boots what is on the disk; returns when its ssh server lets root in."""
        (self.folder / "console").write_bytes(b"")
        argv = [
            *_inside(),
            *_qemu_argv(self._disk, self.folder / "console"),
            *(["-loadvm", snapshot] if snapshot else []),
        ]
        with (self.folder / "qemu").open("wb") as output:
            self._qemu = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, start_new_session=True
            )
        # A machine of its own would not wait for other programs of this one, the engine excepted.
        if session := autogroup_of(self._qemu.pid):
            session.set(_NICENESS)
        self.wait_for_login()

    def cut_power(self) -> None:
        """Ends it in the midst of whatever it does."""
        if self._qemu:
            self._qemu.kill()
            self._qemu.communicate()
            self._qemu = None

    def wait_for_login(self) -> None:
        wait_until(self._lets_in, every_s=1)

    def monitor(self, line: str) -> None:
        """Gives QEMU's monitor a command, which it has executed before it reads the next one."""
        assert self._qemu is not None
        assert self._qemu.stdin is not None
        self._qemu.stdin.write(f"{line}\n".encode())
        self._qemu.stdin.flush()

    def keep_snapshot(self) -> None:
        """Keeps the present state, for `switch_on`, and ends."""
        assert self._qemu is not None
        self.monitor(f"savevm {_SNAPSHOT}")
        self.monitor("quit")
        self._qemu.communicate(timeout=HANG_S)
        assert self._qemu.returncode == 0, (self.folder / "qemu").read_text()
        self._qemu = None

    def run(self, script: str, *, check: bool = True) -> str:
        """Returns what a shell printed that executed the script there."""
        argv = [*_inside(), "ssh", "-F", str(self.config), "-o", "ConnectTimeout=20", "gateway", script]
        done = subprocess.run(argv, capture_output=True, text=True, timeout=HANG_S, check=False)
        assert done.returncode == 0 or not check, done.stdout + done.stderr
        return done.stdout

    def boot(self) -> str:
        """Returns what differs from boot to boot."""
        return self.run("cat /proc/sys/kernel/random/boot_id")

    def lose_network(self) -> None:
        """Loses every packet between natxy and the ssh server from now on."""
        lost = f"type filter hook output priority 0; tcp sport {_SSH_PORT} drop; tcp dport {_SSH_PORT} drop"
        rules = f"table inet lost {{ chain lost {{ {lost}; }}; }}"
        subprocess.run([*_inside(), "nft", "-f", "-"], input=rules, text=True, check=True)

    def find_network(self) -> None:
        subprocess.run([*_inside(), "nft", "delete", "table", "inet", "lost"], check=True)

    def later(self, script: str) -> None:
        """Starts a script there that begins in two seconds, and goes on when the connection ends."""
        self.run(f"systemd-run --quiet --collect sh -c {shlex.quote(f'sleep 2; {script}')}")

    def announce(self, program: str, pause_s: float) -> None:
        """Makes a program say on the serial line that it begins, and then wait a while before it does."""
        path = f"/usr/sbin/{program}"
        says = f'#!/bin/sh\necho {_BEGINS} {program} > /dev/ttyS0\nsleep {pause_s:g}\nexec {path}.real "$@"\n'
        self.run(f"mv {path} {path}.real && printf %s {shlex.quote(says)} > {path} && chmod 755 {path}")

    def has_begun(self, program: str) -> int:
        """Returns how often an announced program was started."""
        return self.console.count(f"{_BEGINS} {program}")

    def state(self) -> dict[str, list[str]]:
        """Returns what natxy could leave on the DUT."""
        marked = "; ".join(f"echo '== {name}'; {{ {shown}; }} 2>/dev/null" for name, shown in _STATE.items())
        found: dict[str, list[str]] = {}
        for line in self.run(f"{marked}; true").splitlines():
            if line.startswith("== "):
                lines = found.setdefault(line.removeprefix("== "), [])
            else:
                lines.append(line)
        return {name: sorted(lines) for name, lines in found.items()}

    def natxy(self, *arguments: str | Path, fault: Callable[[Running], None] | None = None) -> Ended:
        """Runs natxy at the tester, with a ledger of its own. `fault` is called meanwhile."""
        begun, log = time.monotonic(), self.folder / "log"
        # What `ip netns exec` runs has mounts of its own.
        own = f'mkdir -p /var/lib/natxy && mount --bind {self.ledger} /var/lib/natxy && exec "$@"'
        with log.open("w") as output:
            argv = [*_inside(), "sh", "-c", own, "sh", *command(*arguments)]
            process = subprocess.Popen(argv, stdout=output, stderr=output)
        try:
            if fault:
                fault(Running(process, log))
            struck = time.monotonic()
            process.wait(timeout=HANG_S)
            ended = time.monotonic()
        finally:
            process.kill()
            process.wait()
        return Ended(process.returncode, log.read_text(), ended - begun, ended - struck if fault else None)

    def recorded(self) -> list[str]:
        """Returns what the tester's ledger has to be given back."""
        return [entry.what for entry in Ledger(self.ledger).entries()]

    def _lets_in(self) -> bool:
        assert self._qemu is not None
        assert self._qemu.poll() is None, (self.folder / "qemu").read_text() + self.console
        return self.run("echo it does", check=False) == "it does\n"


@dataclass(frozen=True)
class Running:
    """A natxy that runs; a fault waits for what it prints."""

    process: subprocess.Popen[bytes]
    log: Path

    def waits_for(self, condition: Callable[[], bool]) -> None:
        """Returns when the condition holds. Asserts that natxy does not end before."""

        def holds() -> bool:
            assert self.process.poll() is None, self.log.read_text()
            return condition()

        wait_until(holds, every_s=0.1)

    def has_measured(self, trials: int) -> None:
        """Returns when so many trials have ended."""
        self.waits_for(lambda: self.log.read_text().count("step") >= trials)


@contextmanager
def cabled_tester() -> Iterator[None]:
    """Has the tester's namespace with its ends of two links, which stay when the DUT is off."""
    ip("netns", "add", TESTER)
    with ExitStack() as stack:
        stack.callback(ip, "netns", "del", TESTER)
        ip("-n", TESTER, "link", "set", "lo", "up")
        for side in _SIDES:
            ip("-n", TESTER, "tuntap", "add", side, "mode", "tap")
            ip("-n", TESTER, "link", "set", side, "up")
        yield


def booted_disk(folder: Path) -> Path:
    """Returns a disk with the snapshot of a booted system; the namespace of the tester is there."""
    image, disk = find_image(VmConfig(kind="vm")).disk, folder / "disk.qcow2"
    options = ["-q", "-f", "qcow2", "-F", "raw", "-b", str(image)]
    subprocess.run(["qemu-img", "create", *options, str(disk)], check=True)
    with running_dut(disk, folder, snapshot=None) as dut:
        dut.keep_snapshot()
    return disk


@contextmanager
def running_dut(disk: Path, folder: Path, snapshot: str | None = _SNAPSHOT) -> Iterator[BootedDut]:
    dut = BootedDut(disk, folder)
    try:
        dut.switch_on(snapshot)
        yield dut
    finally:
        dut.cut_power()


def network_of_tester() -> dict[str, object]:
    """Returns the state of the tester's network."""
    network: dict[str, object] = machine_state([TESTER])[TESTER]
    return network


def _inside() -> Sequence[str]:
    return ["ip", "netns", "exec", TESTER]


def _qemu_argv(disk: Path, console: Path) -> list[str]:
    image, accelerator = find_image(VmConfig(kind="vm")), choose_accelerator(None)
    # natxy measures on the first core.
    first, *others = sorted(os.sched_getaffinity(0))
    network, guest = _MANAGEMENT
    forward = f"hostfwd=tcp:127.0.0.1:{_SSH_PORT}-{guest}:22"
    nics = [("management", f"user,id=management,net={network},dhcpstart={guest},restrict=on,{forward}")]
    nics += [(side, f"tap,id={side},ifname={side},script=no,downscript=no") for side in _SIDES]
    macs = {"management": "02:00:00:00:02:00"} | _SIDES
    features = "csum=off,gso=off,guest_csum=off,guest_tso4=off,guest_tso6=off,guest_ecn=off,guest_ufo=off,rss=on"
    return [
        *[*ENDS_WITH_NATXY, "taskset", "-c", ",".join(map(str, others or [first])), QEMU],
        *["-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35", "-monitor", "stdio"],
        *["-accel", "tcg,thread=multi" if accelerator == "tcg" else accelerator, "-cpu", CPU_MODELS[accelerator]],
        *["-smp", str(VCPUS), "-m", "512M", "-device", "virtio-rng-pci", "-serial", f"file:{console}"],
        *["-drive", f"if=none,id=disk,file={disk},format=qcow2,cache=unsafe", "-device", "virtio-blk-pci,drive=disk"],
        *["-kernel", str(image.kernel), "-initrd", str(image.initrd), "-append", _KERNEL_LINE],
        *[word for _, backend in nics for word in ("-netdev", backend)],
        *[
            word
            for name, _ in nics
            for word in ("-device", f"virtio-net-pci,netdev={name},mac={macs[name]},romfile=,{features}")
        ],
    ]
