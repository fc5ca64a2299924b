# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest

from natxy.dut.linux.made import Existing, existing, gone
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.network_namespace import Process

BEFORE = Existing(frozenset({"lo", "eth1"}), {7: "sh"})
READY = Existing(frozenset({"lo", "eth1", "gw"}), {7: "sh", 9: "gw", 11: "helper"})
MADE = Existing(frozenset({"gw"}), {9: "gw", 11: "helper"})


class Namespace(LocalTransport):
    """A namespace with these processes, whose interfaces can be asked or not."""

    def __init__(self, *running: Process, code: int = 0) -> None:
        super().__init__(MachineSysctls())
        self._running, self._code = running, code

    def processes(self) -> list[Process]:
        return [*self._running]

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        assert not check
        return CompletedCommand(tuple(argv), self._code, "" if self._code else "eth1\ngw\nlo\n", "")


def test_what_was_made_is_what_was_not_there_before() -> None:
    assert READY - BEFORE == MADE
    assert not BEFORE - BEFORE
    assert not Existing()


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (READY, ""),
        (Existing(READY.interfaces, {9: "gw"}), "its process helper (pid 11) ended"),
        (
            Existing(BEFORE.interfaces, {7: "sh", 11: "helper"}),
            "its process gw (pid 9) ended and its interface gw is gone",
        ),
        # Another one of the name has taken its place.
        (Existing(READY.interfaces, {13: "gw", 11: "helper"}), ""),
        # Where interfaces cannot be asked, nothing is said of them.
        (Existing(None, READY.processes), ""),
    ],
)
def test_what_is_gone_is_named(now: Existing, said: str) -> None:
    assert gone(MADE, now) == said


def test_interfaces_that_were_not_known_before_are_not_missed() -> None:
    assert gone(READY - Existing(None), Existing()) == "its process sh (pid 7) ended and " + (
        "its process gw (pid 9) ended and its process helper (pid 11) ended"
    )


def test_what_a_process_has_started_is_its_own_matter() -> None:
    found = existing(Namespace(Process(9, 1, "gw"), Process(10, 9, "worker"), Process(11, 10, "pipe")))
    assert found == Existing(frozenset({"eth1", "gw", "lo"}), {9: "gw"})


def test_a_machine_of_another_kind_has_no_such_list() -> None:
    assert existing(Namespace(code=2)) == Existing(None)
    here = existing(LocalTransport(MachineSysctls()))
    assert "lo" in (here.interfaces or ())
    assert here.processes == {}
