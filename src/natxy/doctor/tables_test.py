# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.doctor.tables import small_tables
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


def small(*gateways: object, testbed: object = None) -> dict[str, list[str]]:
    own: dict[str, Any] = {"procedure": "connection-rate", "connections": "5k", "search": {"max_rate": "100k"}}
    experiments = [own | {"name": f"e{number}", "gateway": gateway} for number, gateway in enumerate(gateways)]
    plan = {"name": "p", "testbed": testbed or {"kind": "lab"}, "experiments": experiments}
    return small_tables(resolve(Plan.model_validate(plan)))


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: LocalTransport, argv: list[str], **__: Any) -> CompletedCommand:
        assert argv == ["sysctl", "-n", "net.netfilter.nf_conntrack_max"]
        return CompletedCommand(tuple(argv), 0, "4999\n", "")

    monkeypatch.setattr(LocalTransport, "run", run)


@pytest.mark.usefixtures("machine")
def test_a_table_that_is_too_small_is_told_once_for_all_that_need_more() -> None:
    ((line, names),) = small("nftables", "iptables", {"driver": "nftables", "conntrack_max": 5000}).items()
    assert "holds at most 4999 entries (nf_conntrack_max), but the plan needs 5000 connections" in line
    assert names == ["e0", "e1"]


@pytest.mark.usefixtures("machine")
def test_another_machine_has_a_table_of_its_own() -> None:
    port = {"interface": "eth0"}
    far = {"kind": "hardware", "left": port, "right": port | {"interface": "eth1"}}
    assert small("nftables", testbed=far | {"dut": {"ssh": "dut", "left": "eth0", "right": "eth1"}}) == {}


def test_a_kernel_that_tracks_nothing_yet_says_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(*_: object, **__: object) -> CompletedCommand:
        raise DutError("no such sysctl")

    monkeypatch.setattr(LocalTransport, "run", run)
    assert small("nftables") == {}
