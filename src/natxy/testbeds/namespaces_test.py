# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

import pytest

from natxy.dut.transport.local import run_program
from natxy.engine.messages.common import Side
from natxy.errors import PlanError
from natxy.system.network_namespace import NAMED
from natxy.system.process_owner import Owner
from natxy.testbeds.namespaces import LabNamespaces, check_root


def test_a_lab_needs_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(PlanError, match="needs root"):
        check_root()


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_interfaces_of_a_killed_run_return() -> None:
    lab, interface = LabNamespaces(Owner.current()), f"nsb{os.getpid()}"
    host = lab.host(Side.LEFT)
    lab.add(host)
    try:
        run_program(["ip", "-n", host, "link", "add", interface, "type", "veth", "peer", "name", "far"])
        lab.remove_hosts()
        assert interface in run_program(["ip", "-brief", "link", "show", "dev", interface]).stdout
    finally:
        lab.remove_hosts()
        run_program(["ip", "link", "del", interface], check=False)


@pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")
def test_several_labs_of_a_process_have_names_of_their_own() -> None:
    first = LabNamespaces.free()
    assert first == LabNamespaces(Owner.current())
    first.add(first.tester, first.dut)
    try:
        second = LabNamespaces.free()
        assert second.number == 2
        second.add(second.tester, second.dut)
        first.remove()
        assert LabNamespaces.free() == first, "a number is free again"
        assert {second.tester, second.dut} <= set(os.listdir(NAMED))
        assert not {first.tester, first.dut} & set(os.listdir(NAMED))
    finally:
        for number in (1, 2):
            LabNamespaces(Owner.current(), number).remove()
