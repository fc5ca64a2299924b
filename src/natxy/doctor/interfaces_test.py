# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from natxy.doctor import interfaces
from natxy.doctor.interfaces import probe_interface, probe_interfaces
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import run_program
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.system.machine_sysctls import MachineSysctls

FEATURES = """\
Features for ens1f0:
generic-segmentation-offload: off
generic-receive-offload: {gro}
large-receive-offload: off [fixed]
"""
BY_PORTS = "IP SA\nIP DA\nL4 bytes 0 & 1 [TCP/UDP src port]\nL4 bytes 2 & 3 [TCP/UDP dst port]\n"


class Card:
    """Simulates ethtool's and the kernel's answers about ens1f0."""

    def __init__(self, folder: Path) -> None:
        self.machine = MachineSysctls()
        self.network = OwnSysctls(self)
        self.gro = "off"
        self.hashed: str | None = BY_PORTS
        self._queues = folder / "ens1f0" / "queues"
        self.give_queues(1)

    def describe(self) -> str:
        return "a machine"

    def give_queues(self, count: int) -> None:
        for number in range(count):
            (self._queues / f"rx-{number}").mkdir(parents=True, exist_ok=True)

    def run(self, argv: Sequence[str], **_: object) -> CompletedCommand:
        if argv[0] != "ethtool":
            return run_program(argv, check=False)
        if argv[1] == "--show-features":
            return CompletedCommand(tuple(argv), 0, FEATURES.format(gro=self.gro), "")
        if self.hashed is None:
            return CompletedCommand(tuple(argv), 1, "", "Operation not supported")
        return CompletedCommand(tuple(argv), 0, self.hashed, "")


@pytest.fixture
def card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Card:
    card = Card(tmp_path)
    monkeypatch.setattr(interfaces, "INTERFACES", tmp_path)
    return card


def found(card: Card, queues: int = 1, io: str = "af_xdp") -> dict[str, tuple[bool | None, str]]:
    """Returns the findings about ens1f0. The other port belongs to DPDK."""
    testbed = HardwareConfig.model_validate(
        {
            "kind": "hardware",
            "left": {"interface": "ens1f0"},
            "right": {"pci": "0000:41:00.0"},
            "dut": {"left": "d1", "right": "d2"},
            "io": io,
            "queues": queues,
        }
    )
    findings = probe_interfaces(testbed.engine_ports, card)
    assert all((finding.remedy is None) == (finding.ok is True) for finding in findings)
    return {finding.name.removeprefix("ens1f0: "): (finding.ok, finding.value) for finding in findings}


def test_offloads_that_merge_frames_are_named(card: Card) -> None:
    assert found(card)["offloads"] == (True, "off")
    card.gro = "on"
    assert found(card)["offloads"] == (None, "generic-receive-offload on")


def test_af_xdp_loses_what_comes_to_queues_that_it_does_not_open(card: Card) -> None:
    assert found(card)["receive queues"] == (True, "1, and the plan opens 1")
    assert found(card, queues=2)["receive queues"][0] is False
    card.give_queues(8)
    assert found(card)["receive queues"] == (False, "8, and the plan opens 1; frames on the others would be lost")
    assert found(card, io="af_packet")["receive queues"][0] is True


@pytest.mark.parametrize(
    ("hashed", "expected"),
    [(BY_PORTS, (True, "yes")), ("IP SA\nIP DA\n", (None, "no")), (None, (None, "unknown: Operation not supported"))],
)
def test_queues_are_of_use_if_ports_are_hashed(
    card: Card, hashed: str | None, expected: tuple[bool | None, str]
) -> None:
    card.give_queues(4)
    card.hashed = hashed
    assert found(card, queues=4)["UDP ports spread frames over queues (RSS)"] == expected


def test_the_queues_of_a_dut_are_for_its_cores(card: Card) -> None:
    def queues(cores: int) -> list[tuple[bool | None, str]]:
        return [(finding.ok, finding.value) for finding in probe_interface("ens1f0", card, cores)[1:]]

    assert queues(1) == [(True, "1")]
    assert queues(4) == [(None, "1, so one of 4 cores receives all frames")]
    card.give_queues(4)
    assert queues(4) == [(True, "4"), (True, "yes")]
    card.hashed = "IP SA\nIP DA\n"
    assert queues(4)[1] == (None, "no")


def test_the_ports_of_further_pairs_are_examined(card: Card) -> None:
    testbed = HardwareConfig.model_validate(
        {
            "kind": "hardware",
            "left": {"pci": "0000:41:00.0"},
            "right": {"pci": "0000:41:00.1"},
            "dut": {"left": "d1", "right": "d2"},
            "more_pairs": [
                {
                    "left": {"interface": "ens1f0"},
                    "right": {"interface": "absent0"},
                    "dut": {"left": "d3", "right": "d4"},
                }
            ],
        }
    )
    found = {finding.name: finding.ok for finding in probe_interfaces(testbed.engine_ports, card)}
    assert found == {"ens1f0: offloads": True, "ens1f0: receive queues": True, "absent0": False}
