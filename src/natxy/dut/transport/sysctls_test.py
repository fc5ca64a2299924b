# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest

from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.system.ledger import Ledger, Place
from natxy.system.machine_sysctls import MachineSysctls
from natxy.system.process_owner import Owner

pytestmark = pytest.mark.usefixtures("own_ledger")

ME = Owner.current()
OTHER = Owner(ME.pid + 1, 1)
NAME = "net.ipv4.ip_forward"
PLACE = Place(boot_id="the DUT's", ssh='{"host": "dut"}')


class Dut(LocalTransport):
    """Has one sysctl."""

    def __init__(self) -> None:
        super().__init__(MachineSysctls())
        self.value = "0"

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if argv[1] == "-qw":
            self.value = argv[-1].partition("=")[2]
        return CompletedCommand(tuple(argv), 0, self.value, "")


@pytest.mark.parametrize("lasting", [True, False])
def test_a_released_one_is_as_before(lasting: bool) -> None:
    dut = Dut()
    sysctls = OwnSysctls(dut, lambda: PLACE if lasting else None)
    sysctls.hold(NAME, "1")
    assert len(Ledger().entries()) == lasting
    sysctls.release(NAME)
    assert dut.value == "0"
    assert Ledger().entries() == []
    dut.value = "2"
    sysctls.release(NAME)
    assert dut.value == "2"


def test_one_that_a_live_run_needs_stays_until_that_has_ended() -> None:
    dut = Dut()
    mine, others = OwnSysctls(dut, lambda: PLACE), OwnSysctls(dut, lambda: PLACE)
    others._ledger = Ledger(owner=OTHER)
    mine.hold(NAME, "1")
    others.hold(NAME, "1")
    mine.release(NAME)
    assert dut.value == "1"
    assert [entry.process() for entry in Ledger().entries()] == [OTHER]
    others.release(NAME)
    assert dut.value == "0"
    assert Ledger().entries() == []


def test_a_boot_of_the_dut_restored_it() -> None:
    dut = Dut()
    places = iter([PLACE, PLACE.model_copy(update={"boot_id": "another"})])
    sysctls = OwnSysctls(dut, lambda: next(places))
    sysctls.hold(NAME, "1")
    dut.value = "3"
    sysctls.hold(NAME, "1")
    assert [entry.original for entry in Ledger().entries()] == ["3"]
