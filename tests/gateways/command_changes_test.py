# SPDX-License-Identifier: Apache-2.0
"""Tests what is said of a gateway of the user's own commands that does not stay as it was, by real frames in a lab."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from tests.support import needs
from tests.support.command import natxy
from tests.support.undisturbed import undisturbed

pytestmark = [*needs.LAB, pytest.mark.same_machine]

FORWARDER = """
import fcntl, os, struct, sys, time
most, limit = int(sys.argv[1]), float(sys.argv[2])
tun = os.open("/dev/net/tun", os.O_RDWR)
fcntl.ioctl(tun, 0x400454CA, struct.pack("16sH", b"mygw", 0x1001))
tokens, last = 64.0, time.monotonic()
for _ in range(most):
    packet = os.read(tun, 65535)
    now = time.monotonic()
    tokens, last = min(256.0, tokens + (now - last) * limit), now
    if tokens >= 1:
        tokens -= 1
        os.write(tun, packet)
"""
"""Forwards at most `limit` packets a second, and ends after `most`."""

READY = """
ip link set mygw up txqueuelen 10000 && sysctl -qw net.ipv4.conf.mygw.rp_filter=0 &&
ip route replace default dev mygw table 100 && ip route replace blackhole default metric 99999 table 100 &&
{ ip rule del pref 50; ip rule del pref 51; ip rule add pref 50 iif {left} lookup 100;
ip rule add pref 51 iif {right} lookup 100; } 2> /dev/null
"""


def forwarder(folder: Path, most: int, **own: Any) -> dict[str, Any]:
    """Returns a gateway whose program ends after so many packets."""
    program, pid = folder / "forwarder.py", folder / "pid"
    program.write_text(FORWARDER)
    start = f"{sys.executable} {program} {most} 30000 > {folder}/log 2>&1 & echo $! > {pid}"
    stop = f"kill -9 $(cat {pid}); rm -f {pid}; ip rule del pref 50; ip rule del pref 51; true"
    off = [f"net.ipv4.conf.{name}.rp_filter=0" for name in ("all", "default")]
    return {
        "driver": "command",
        "apply": [["sysctl", "-qw", "net.ipv4.ip_forward=1", *off], ["sh", "-c", start]],
        "wait_ready": ["sh", "-c", READY],
        "remove": [["sh", "-c", stop]],
    } | own


def measured(folder: Path, gateway: dict[str, Any], **own: Any) -> ExperimentRecord:
    """Measures an experiment, again where the tester could not."""
    timing = {"preset": "lab", "trial": "200ms", "max_pause": "20ms", "overrun_floor": "20ms"}
    experiment = {"name": "e", "gateway": gateway, "max_invalid": 20} | own
    plan = folder / "plan.yaml"
    plan.write_text(json.dumps({"name": "p", "timing": timing, "repeat": 1, "experiments": [experiment]}))
    runs = iter(range(100))

    def once() -> ExperimentRecord:
        out = folder / f"run{next(runs)}"
        natxy("run", plan, "--output", out)
        return RunReader(out).run.experiments[0]

    return undisturbed(once, lambda found: found.reason if found.state == State.TESTER_LIMIT else "")


SEARCH = {"min_rate": "500", "max_rate": "4k", "error": "5%", "kind": "binary"}
# As much as the first trial of the search and a part of the second.
DIES_AFTER = 1200


@needs.TUN
def test_a_program_that_ends_is_named_with_how_far_it_came(tmp_path: Path) -> None:
    found = measured(tmp_path, forwarder(tmp_path, DIES_AFTER), procedure="throughput", search=SEARCH)
    assert found.state == State.FAILED
    assert found.reason.startswith("the gateway died by the end of traffic at ")
    assert ": its process python" in found.reason
    assert "ended and its interface mygw is gone; it forwarded " in found.reason
    assert found.repetitions[0].value is None


@pytest.mark.more
@needs.TUN
def test_one_that_seems_to_be_alive_has_no_rate_either(tmp_path: Path) -> None:
    """Only frames tell that it ended, so that the last rate that passed is tried again."""
    gateway = forwarder(tmp_path, DIES_AFTER, alive=["true"])
    found = measured(tmp_path, gateway, procedure="throughput", search=SEARCH)
    assert found.repetitions[0].value is None
    # A busy machine may have had it end before any rate passed.
    assert "trials contradict each other: " in found.reason or "forwards nothing" in found.reason


@needs.programs("nft")
def test_a_table_that_is_never_emptied_makes_no_rate(tmp_path: Path) -> None:
    """New connections are limited to 5,000 a second, and those of earlier trials stay, whatever `count` says."""
    rules = [
        "add table ip mine", "add chain ip mine out { type nat hook postrouting priority srcnat; }",
        "add rule ip mine out limit rate over 5000/second burst 100 packets drop",
        'add rule ip mine out oifname "{right}" masquerade',
    ]  # fmt: skip
    gateway = {
        "driver": "command",
        "stateful": True,
        "masquerades": True,
        "apply": [["sysctl", "-qw", "net.ipv4.ip_forward=1"], *(["nft", rule] for rule in rules)],
        "remove": [["nft", "add table ip mine; delete table ip mine"]],
        "clear": [["true"]],
        "count": ["echo", "0 sessions"],
    }
    search = {"min_rate": "2500", "max_rate": "30k", "error": "20%"}
    found = measured(tmp_path, gateway, procedure="connection-rate", connections="5k", search=search)
    assert found.repetitions == [] or found.repetitions[0].value is None
    assert found.state in {State.NO_RESULT, State.FAILED}
    assert "`count`" in found.reason
