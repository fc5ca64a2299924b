# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.hardware import CabledPort, HardwareConfig
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.testbeds.tester_cores import CoresOfPort, CoresOfTasks
from natxy.plan.yaml.loading import load_plan
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import Source
from tests.support.siitperf_confs import conf_text

CARDS = ("0000:41:00.0", "0000:41:00.1")


def read_testbed(folder: Path, text: str) -> TestbedConfig:
    (folder / "plan.yaml").write_text(text, encoding="utf-8")
    return load_plan(folder / "plan.yaml").testbed


def on_hardware(cards: Iterable[str] = (), **changed: str | None) -> str:
    conf = parse_conf(conf_text("nat44", **changed))
    return import_plan(Source(conf, "throughput", hardware=True, cards=[*cards]))


def filled_in(text: str) -> str:
    text = text.replace("left: FILL IN, right: FILL IN", "left: eth1, right: eth2")
    return text.replace("root@FILL IN", "root@dut.lab")


@pytest.mark.parametrize("stateful", ["1", "2"])
def test_hardware_has_the_cards_addresses_cores_and_memory_of_siitperf(tmp_path: Path, stateful: str) -> None:
    """With Stateful 2, siitperf's right, which has the second card, is the plan's left."""
    text = on_hardware(CARDS, Stateful=stateful, MEM_Channels="2")
    testbed = read_testbed(tmp_path, filled_in(text))
    assert isinstance(testbed, HardwareConfig)
    left = CabledPort(pci=CARDS[0], mac="02:00:00:00:00:01", dut_mac="02:00:00:00:00:11")
    right = CabledPort(pci=CARDS[1], mac="02:00:00:00:01:01", dut_mac="02:00:00:00:01:11")
    assert (testbed.left, testbed.right) == ((left, right) if stateful == "1" else (right, left))
    of_left, of_right = CoresOfPort(send=[2], receive=[8]), CoresOfPort(send=[6], receive=[4])
    if stateful == "2":
        of_left, of_right = of_right, of_left
    assert testbed.tester_cores == CoresOfTasks(left=of_left, right=of_right)
    assert testbed.memory_channels == 2
    assert "not in the plan" not in text.replace("Promisc 0 is not", "")


def test_check_lists_what_a_user_of_hardware_has_to_fill_in(tmp_path: Path) -> None:
    (tmp_path / "plan.yaml").write_text(on_hardware(), encoding="utf-8")
    checked = CliRunner().invoke(app, ["check", str(tmp_path / "plan.yaml")])
    assert checked.exit_code == 2
    fields = re.findall(r"plan.yaml:\d+:\d+: (\S+): expected .*, got 'FILL IN'", checked.output)
    assert fields == [f"testbed.{each}" for each in ("left.pci", "right.pci", "dut.ssh", "dut.left", "dut.right")]
    assert on_hardware().count("FILL IN") == len(fields) + "replace each FILL IN".count("FILL IN")


def test_what_siitperf_conf_does_not_have_is_natxys_default_on_hardware(tmp_path: Path) -> None:
    absent = dict.fromkeys(("MAC_L_Tester", "MAC_L_DUT", "MAC_R_Tester"))
    testbed = read_testbed(tmp_path, filled_in(on_hardware(CARDS, **absent)))
    assert isinstance(testbed, HardwareConfig)
    assert testbed.left == CabledPort(pci=CARDS[0])
    assert testbed.right == CabledPort(pci=CARDS[1], dut_mac="02:00:00:00:01:11")
    assert testbed.memory_channels is None


@pytest.mark.parametrize("cards", [(), CARDS[:1], CARDS])
def test_the_command_prints_a_plan_whether_or_not_cards_are_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cards: tuple[str, ...]
) -> None:
    """Memory channels are of PCI addresses, which `FILL IN` stands for."""
    monkeypatch.setattr("natxy_siitperf.cards.bound_cards", lambda: [*cards])
    conf = tmp_path / "siitperf.conf"
    conf.write_text(conf_text("nat64", MEM_Channels="2"), encoding="utf-8")
    printed = CliRunner().invoke(app, ["import", str(conf), "--testbed", "hardware"])
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.count('{pci: "') == len(cards)
    assert printed.stdout.count("{pci: FILL IN") == 2 - len(cards)
    text = filled_in(printed.stdout).replace("pci: FILL IN", 'pci: "0000:42:00.0"', 1)
    testbed = read_testbed(tmp_path, text.replace("pci: FILL IN", 'pci: "0000:42:00.1"'))
    assert isinstance(testbed, HardwareConfig)
    assert testbed.memory_channels == 2


def test_the_command_finds_the_cards_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy_siitperf.cards.bound_cards", lambda: [*CARDS])
    conf = tmp_path / "siitperf.conf"
    conf.write_text(conf_text("router-many"), encoding="utf-8")
    for asked, there in ((["--testbed", "hardware"], True), ([], False)):
        printed = CliRunner().invoke(app, ["import", str(conf), *asked])
        assert printed.exit_code == 0, printed.output
        assert ('right: {pci: "0000:41:00.1"' in printed.stdout) == there
        assert ("kind: hardware" in printed.stdout) == there


@pytest.mark.parametrize(
    ("changed", "usable", "line"),
    [
        ({}, range(10), "{left: {send: 2, receive: 8}, right: {send: 6, receive: 4}}"),
        ({"Stateful": "2"}, range(10), "{left: {send: 6, receive: 4}, right: {send: 2, receive: 8}}"),
        ({"Reverse": "0", "CPU_R_Send": None, "CPU_L_Recv": None}, range(9),
         "{left: {send: 2, receive: 2}, right: {send: 4, receive: 4}}"),
        ({}, (0, 1, 2, 4, 6), None),
        ({}, (2, 4, 6, 8), None),
    ],
)  # fmt: skip
def test_cores_are_siitperfs_if_the_machine_has_them_and_one_for_the_gateway(
    tmp_path: Path, changed: dict[str, str | None], usable: Iterable[int], line: str | None
) -> None:
    conf = parse_conf(conf_text("nat44", **changed))
    text = import_plan(Source(conf, "throughput", usable_cores=frozenset(usable)))
    assert (f"\ntestbed: {{kind: lab, tester_cores: {line}}}  # CPU-L-Send (line " in text) == bool(line)
    assert ("this machine lacks one of these cores" in " ".join(text.split())) == (line is None)
    testbed = read_testbed(tmp_path, text)
    assert isinstance(testbed, LabConfig)
    assert isinstance(testbed.tester_cores, CoresOfTasks) == bool(line)
