# SPDX-License-Identifier: Apache-2.0
"""Measures netfilter in labs whose `clear` and `count` lie, whose connections expire, or whose rule vanishes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.errors import DutError
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, State
from natxy.run.run import run_plan
from tests.support import needs

pytestmark = [*needs.LAB, needs.programs("conntrack")]

LIFETIME_S: Final = 2
CONNECTIONS: Final = 1000
MASQUERADE: Final = 'add rule ip mine out oifname "{right}" masquerade'
COUNT: Final = ["cat", "/proc/sys/net/netfilter/nf_conntrack_count"]
FLUSH: Final = [["conntrack", "-F"]]


def measured(folder: Path, gateway: dict[str, Any], own: dict[str, Any]) -> ExperimentRecord:
    netfilter: dict[str, Any] = {
        "driver": "command",
        "stateful": True,
        "masquerades": True,
        "apply": [
            ["sysctl", "-qw", "net.ipv4.ip_forward=1", *gateway.pop("sysctls", [])],
            ["nft", "add table ip mine"],
            ["nft", "add chain ip mine out { type nat hook postrouting priority srcnat; }"],
            ["nft", MASQUERADE],
        ],
        "remove": [["nft", "add table ip mine; delete table ip mine"]],
        "clear": FLUSH,
    }
    # A busy machine delays frames, and that decides nothing here.
    timing = {"preset": "lab", "max_pause": "1s", "overrun_floor": "1s"}
    experiment = {"name": "x", "connections": CONNECTIONS, "max_invalid": 20, "gateway": netfilter | gateway} | own
    plan = {"name": "p", "repeat": 1, "timing": timing, "experiments": [experiment]}
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) == DutError.exit_code
    return RunReader(folder).run.experiments[0]


@pytest.mark.parametrize(
    ("gateway", "found"),
    [
        ({"clear": [["true"]]}, "replies of 16 of 16 connections made before it still came through, instead of none;"),
        ({"clear": [["true"]], "count": ["echo", "0"]}, "instead of none, although `count` said 0;"),
        ({"count": ["echo", "thread 0: 0 sessions"]}, "`count` said 0 after phase 1 had made "),
    ],
)
def test_a_clear_or_a_count_that_lies_ends_the_experiment(tmp_path: Path, gateway: dict[str, Any], found: str) -> None:
    # A frame that a busy machine lost would be a rate that fails, and nothing is compared then.
    own = {"procedure": "connection-rate", "search": {"min_rate": 1000, "max_rate": 1000}, "loss_tolerance": "50%"}
    ended = measured(tmp_path / "run", gateway, own)
    assert ended.state is State.FAILED
    assert found in ended.reason


def test_a_clear_that_fails_later_ends_the_experiment(tmp_path: Path) -> None:
    # It deletes the few connections that are made before the first phase 1.
    fails = f"[ $({' '.join(COUNT)}) -gt {CONNECTIONS // 2} ] || conntrack -F"
    own = {"procedure": "connection-rate", "search": {"min_rate": 500, "max_rate": 1000}}
    ended = measured(tmp_path / "run", {"clear": [["sh", "-c", fails]]}, own)
    assert ended.state is State.FAILED
    assert "replies of 16 of 16 connections made before it still came through" in ended.reason
    assert ended.repetitions[0].trials


@pytest.mark.parametrize("kept", [0, 2], ids=["before the first trial", "before the second trial"])
def test_a_gateway_that_stops_translating_during_a_run_has_no_result(tmp_path: Path, kept: int) -> None:
    # The table is cleared twice before the first phase 1, and then before each.
    cleared = tmp_path / "cleared"
    vanish = f"echo >> {cleared}; [ $(wc -l < {cleared}) -le {kept} ] || nft flush chain ip mine out"
    own = {"procedure": "throughput", "phase1_rate": 1000, "search": {"min_rate": 500, "max_rate": 1000}}
    ended = measured(tmp_path / "run", {"clear": [*FLUSH, ["sh", "-c", vanish]]}, own)
    assert ended.state is State.FAILED
    assert "connections of phase 1 came through untranslated, with the left hosts' own addresses" in ended.reason


def test_connections_that_expire_are_told_with_their_lifetime(tmp_path: Path) -> None:
    sysctls = [f"net.netfilter.nf_conntrack_{name}={LIFETIME_S}" for name in ("udp_timeout", "udp_timeout_stream")]
    own = {"procedure": "throughput", "phase1_rate": 250, "search": {"min_rate": 1000, "max_rate": 1000}}
    ended = measured(tmp_path / "run", {"sysctls": sysctls}, own)
    assert ended.state is State.NO_RESULT
    told = re.search(r"the connections expired after about ([\d.]+) s without a frame", ended.reason)
    assert told, ended.reason
    assert float(told[1]) == pytest.approx(LIFETIME_S, rel=0.15)
