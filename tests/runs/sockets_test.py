# SPDX-License-Identifier: Apache-2.0
"""Lists what listens while each verb works that lasts: nothing but what was asked for, and that on loopback alone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from typing import Final

import pytest

from tests.support import needs
from tests.support.command import HANG_S, command, natxy

psutil = pytest.importorskip("psutil", reason="dask is not installed")

PLAN: Final = """
name: x
repeat: 4
testbed: {kind: simulated}
experiments:
  - {name: a, procedure: throughput, gateway: simulated, search: {min_rate: 1k, max_rate: 1M, error: 1}}
"""
CAMPAIGN: Final = """
name: c
testbeds: {one: {testbed: {kind: simulated}}}
runs: [{name: r, plan: plan.yaml, on: [one]}]
"""


LABS: Final = """
name: labs
repeat: 1
timing: {preset: lab, trial: 300ms}
testbed: {kind: KIND}
experiments:
  - {name: router, procedure: throughput, gateway: linux-forward, search: {min_rate: 1k, max_rate: 2k, error: 100%}}
"""
# In /proc/net: of a TCP socket that listens, and of one without a remote address.
_LISTENS: Final = "0A"
_ANYBODY: Final = re.compile(r"[0:]+")


def listening(pid: int) -> set[str]:
    """Returns the addresses at which a process and its children wait for connections, over TCP, or for any datagram,
    each in its own network namespace."""
    found = set()
    for each in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        folder = Path(f"/proc/{each.pid}")
        own = set(map(_link, (folder / "fd").iterdir()))
        for kind in ("tcp", "tcp6", "udp", "udp6"):
            for line in (folder / "net" / kind).read_text().splitlines()[1:]:
                _, local, remote, state, *_ = words = line.split()
                waits = state == _LISTENS if kind.startswith("tcp") else bool(_ANYBODY.fullmatch(remote))
                if waits and f"socket:[{words[9]}]" in own:
                    found.add(_address(local.partition(":")[0]))
    return found


def _link(path: Path) -> str:
    try:
        return os.readlink(path)
    except OSError:
        return ""


def _address(written: str) -> str:
    """Returns an address that the kernel writes as words of 32 bits in the machine's order of bytes."""
    words = (written[at : at + 8] for at in range(0, len(written), 8))
    return str(ip_address(b"".join(int(word, 16).to_bytes(4, sys.byteorder) for word in words)))


def words(verb: str, folder: Path) -> list[str]:
    plan, campaign = folder / "plan.yaml", folder / "campaign.yaml"
    match verb:
        case "run":
            return command("run", plan, "--output", folder / "out")
        case "run --metrics":
            return command("run", plan, "--output", folder / "out", "--metrics", "0")
        case "campaign":
            return command("campaign", campaign, "--output", folder / "out")
        case "watch":
            assert natxy("run", plan, "--output", folder / "out").returncode == 0
            return command("watch", folder / "out", "--port", "0")
        case "run lab" | "run vm":
            return command("run", folder / f"{verb.split()[1]}.yaml", "--output", folder / "out")
        case "lab up":
            return command("lab", "up", folder / "lab.yaml")
        case "selftest":
            shortest = ["--repeat", "1", "--trial", "0.01", "--connections", "0"]
            return command("selftest", "--medium", "memif", "--family", "ipv4", *shortest, "--output", folder / "out")
        case "calibrate":
            return command("calibrate", "--only", "duplicates", "--output", folder / "out")
    raise AssertionError(verb)


@pytest.mark.parametrize(
    ("verb", "asked_for"),
    [
        ("run", False),
        ("campaign", False),
        ("run --metrics", True),
        ("watch", True),
        pytest.param("run lab", False, marks=needs.LAB),
        pytest.param("lab up", False, marks=needs.LAB),
        pytest.param("selftest", False, marks=[*needs.LAB, pytest.mark.more]),
        pytest.param("calibrate", False, marks=[*needs.LAB, needs.REFERENCE]),
        # QEMU leads to the guest's sshd.
        pytest.param("run vm", True, marks=[*needs.VM, *needs.LAB, pytest.mark.more]),
    ],
)
def test_nothing_listens_but_what_was_asked_for(verb: str, asked_for: bool, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    for kind in ("lab", "vm"):
        (tmp_path / f"{kind}.yaml").write_text(LABS.replace("KIND", kind))
    said = tmp_path / "said"
    with said.open("w") as out, subprocess.Popen(words(verb, tmp_path), stdout=out, stderr=out, text=True) as process:
        try:
            seen = _seen(process, until=lambda found: asked_for and bool(found))
        finally:
            process.terminate()
            process.wait(HANG_S)
            if verb == "lab up":
                keeper = re.search(r"NATXY_LAB_TESTER=natxy-(\d+)-", said.read_text())
                kept = listening(int(keeper[1])) if keeper else {"no lab"}
                natxy("lab", "down")
                seen |= kept
    assert asked_for or process.returncode == 0, said.read_text()
    assert seen == ({"127.0.0.1"} if asked_for else set())


def _seen(process: subprocess.Popen[str], until: Callable[[set[str]], bool]) -> set[str]:
    """Returns all that was seen to listen until the process ended, or `until` holds."""
    seen: set[str] = set()
    looks = 0
    began_s = time.monotonic()
    while process.poll() is None and not until(seen):
        assert time.monotonic() - began_s < HANG_S
        try:
            seen |= listening(process.pid)
        except (psutil.NoSuchProcess, OSError):
            continue
        looks += 1
        time.sleep(0.02)
    assert looks > 5 or seen
    return seen
