# SPDX-License-Identifier: Apache-2.0
"""Lists what listens while each verb works that lasts: nothing but what was asked for, and that on loopback alone."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

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


def listening(process: subprocess.Popen[str]) -> set[str]:
    """Returns the addresses at which a process and its children wait for connections, over TCP, or for any datagram."""
    found = set()
    for each in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
        for open_ in each.net_connections("inet"):
            if open_.status == psutil.CONN_LISTEN or (open_.type == 2 and not open_.raddr):
                found.add(open_.laddr.ip)
    return found


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
    raise AssertionError(verb)


@pytest.mark.parametrize(
    ("verb", "asked_for"), [("run", False), ("campaign", False), ("run --metrics", True), ("watch", True)]
)
def test_nothing_listens_but_what_was_asked_for(verb: str, asked_for: bool, tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(PLAN)
    (tmp_path / "campaign.yaml").write_text(CAMPAIGN)
    quiet = subprocess.DEVNULL
    with subprocess.Popen(words(verb, tmp_path), stdout=quiet, stderr=quiet, text=True) as process:
        try:
            seen = _seen(process, until=lambda found: asked_for and bool(found))
        finally:
            process.terminate()
            process.wait(HANG_S)
    assert seen == ({"127.0.0.1"} if asked_for else set())


def _seen(process: subprocess.Popen[str], until: Callable[[set[str]], bool]) -> set[str]:
    """Returns all that was seen to listen until the process ended, or `until` holds."""
    seen: set[str] = set()
    looks = 0
    began_s = time.monotonic()
    while process.poll() is None and not until(seen):
        assert time.monotonic() - began_s < HANG_S
        try:
            seen |= listening(process)
        except psutil.NoSuchProcess:
            continue
        looks += 1
        time.sleep(0.02)
    assert looks > 5 or seen
    return seen
