# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.events.run import Warned
from natxy.locks.files import exclusive
from natxy.locks.session import LossesTold, claims, reserved
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.machines import SshTarget
from natxy.plan.written import Plan
from natxy.system.process_owner import Owner
from tests.support.command import HANG_S

EXPERIMENT = {
    "name": "a",
    "gateway": "linux-forward",
    "procedure": "throughput",
    "search": {"min_rate": "1k", "max_rate": "10k", "error": "1k"},
}
DUT: dict[str, Any] = {"left": "eth1", "right": "eth2"}
PORTS: dict[str, Any] = {"left": {"interface": "ens1"}, "right": {"pci": "0000:41:00.0"}}
OF_ANOTHER: dict[str, Any] = {"tester": {"ssh": "root@b"}, **PORTS, "dut": {"left": "eth3", "right": "eth4"}}
HOSTS = {"left": {"ssh": "a", "interface": "eth0"}, "right": {"ssh": "b", "interface": "eth0"}}


@pytest.mark.parametrize(
    ("testbed", "claimed"),
    [
        ({"kind": "simulated"}, set()),
        ({"kind": "lab"}, {"core 0", "core 1"}),
        ({"kind": "lab", "tester_cores": [2, 3], "dut_cores": 1}, {"core 1", "core 2", "core 3"}),
        ({"kind": "loop"}, {"core 0"}),
        (
            {"kind": "hardware", **PORTS, "dut": {**DUT, "ssh": "root@dut"}},
            {"core 0", "port ens1", "port 0000:41:00.0", "gateway root@dut"},
        ),
        (
            {"kind": "hardware", **PORTS, "dut": {**DUT, "namespace": "dut"}},
            {"core 0", "port ens1", "port 0000:41:00.0", "namespace dut"},
        ),
        (
            {"kind": "hardware", **PORTS, "dut": {**DUT, "namespace": "dut"}, "more_pairs": [OF_ANOTHER]},
            {"core 0", "port ens1", "port 0000:41:00.0", "tester root@b", "namespace dut"},
        ),
        (
            {"kind": "hosts", **HOSTS, "dut": DUT},
            {"host a", "host b", "interface eth1", "interface eth2"},
        ),
    ],
)  # fmt: skip
def test_a_session_claims_its_cores_and_ports_and_what_others_can_reach(
    testbed: dict[str, Any], claimed: set[str]
) -> None:
    experiment: dict[str, Any] = EXPERIMENT
    if testbed["kind"] == "hosts":
        experiment = {"name": "a", "gateway": "linux-forward", "procedure": "tcp-goodput"}
    if gateway := {"loop": "wire", "simulated": "simulated"}.get(testbed["kind"]):
        experiment = EXPERIMENT | {"gateway": gateway}
    plan = Plan.model_validate({"name": "p", "testbed": testbed, "experiments": [experiment]})
    assert {*claims(resolve(plan), 1, range(4))} == claimed


def test_who_is_waited_for_and_who_measures_beside_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path)
    monkeypatch.setattr("natxy.locks.session.other_labs", lambda: [Owner(4242, 1)])
    plan = resolve(Plan.model_validate({"name": "p", "experiments": [EXPERIMENT]}))
    told: list[str] = []

    class Told(RunListener):
        def warned(self, event: Warned) -> None:
            told.append(event.text)
            free.set()

    def hold() -> None:
        with exclusive(["core 0"], lambda _: None):
            held.set()
            free.wait(HANG_S)

    held, free = threading.Event(), threading.Event()
    thread = threading.Thread(target=hold)
    thread.start()
    assert held.wait(HANG_S)
    with reserved(plan, 1, Told()):
        thread.join(HANG_S)
    waiting, beside = told
    assert waiting.startswith(f"waiting for core 0, which process {os.getpid()} (")
    assert beside == "another natxy, process 4242, has a lab on this machine; the two disturb each other"


def test_each_machine_is_reserved_on_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[tuple[str, int | None]] = []

    @contextmanager
    def there(
        target: SshTarget, waiting: Callable[[], None], lost: Callable[[], None], own: set[str]
    ) -> Iterator[None]:
        del waiting, own
        lost()
        held.append((target.host, target.port))
        yield

    monkeypatch.setattr("natxy.system.ledger.default_folder", lambda: tmp_path)
    monkeypatch.setattr("natxy.locks.session.exclusive_there", there)
    monkeypatch.setattr("natxy.locks.session.other_labs", list)
    behind_it = OF_ANOTHER | {"tester": {"ssh": {"host": "b", "port": 2222}}, "dut": {"left": "e", "right": "f"}}
    hardware = {"kind": "hardware", **PORTS, "dut": {**DUT, "ssh": "a"}, "more_pairs": [OF_ANOTHER, behind_it]}
    plan = resolve(Plan.model_validate({"name": "p", "testbed": hardware, "experiments": [EXPERIMENT]}))
    told: list[str] = []

    class Told(RunListener):
        def warned(self, event: Warned) -> None:
            told.append(event.text)

    with reserved(plan, 1, Told()) as losses:
        assert held == [("a", None), ("b", None), ("b", 2222)]
        # They arrive in other threads; the run's own thread tells them.
        assert told == []
        LossesTold(losses, Told()).receive(Warned(text="next"))
    assert [text.partition(" is lost with")[0] for text in told] == [
        "the lock of a", "the lock of root@b", "the lock of b", "next",
    ]  # fmt: skip
