# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.api.labs import CORES, IO, LEFT, RIGHT
from natxy.errors import PlanError
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.trial.ports import KEEP_OPEN, find_trial_ports
from tests.support.siitperf_confs import conf_text

CONF = conf_text("nat44", CPU_L_Send="1", CPU_R_Recv="3", CPU_R_Send="2", CPU_L_Recv="1")


@pytest.mark.parametrize(
    ("usable", "environment", "workers", "tasks"),
    [
        (range(4), {}, "1,2,3", [([1], [1]), ([2], [3])]),
        (range(3), {}, "0", [(None, None)] * 2),
        (range(4), {CORES: "3,2"}, "3,2", [(None, None)] * 2),
        (range(4), {CORES: " 3, 2 "}, "3,2", [(None, None)] * 2),
        # Empty is unset.
        (range(4), {CORES: "", IO: "", KEEP_OPEN: ""}, "1,2,3", [([1], [1]), ([2], [3])]),
    ],
)
def test_ports_are_on_siitperfs_cores_if_the_machine_has_them(
    monkeypatch: pytest.MonkeyPatch,
    usable: range,
    environment: dict[str, str],
    workers: str,
    tasks: list[tuple[list[int] | None, list[int] | None]],
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*usable})
    monkeypatch.setattr("natxy_siitperf.trial.ports.find_engine", lambda: Path("natxy-engine"))
    devices = {LEFT: "net_null0", RIGHT: "net_null1"}
    tester = find_trial_ports(parse_conf(CONF), 64, devices | environment)
    assert "--eal" not in tester.argv
    assert tester.argv[:3] == ["natxy-engine", "--worker-cores", workers]
    assert [(port.send_cores, port.receive_cores) for port in tester.ports] == tasks
    assert tester.claims == {f"core {core}" for core in workers.split(",")}


@pytest.mark.parametrize("cores", ["1,x", "1,2-3", "1,", ",", "1 2", "4", "-1", "²", "9" * 5000])
def test_each_of_the_cores_has_to_be_one(monkeypatch: pytest.MonkeyPatch, cores: str) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(4)})
    with pytest.raises(PlanError, match=rf"{CORES} is '{cores}', expected cores of this process \(0,1,2,3\)"):
        find_trial_ports(parse_conf(CONF), 64, {LEFT: "net_null0", RIGHT: "net_null1", CORES: cores})


def test_an_empty_medium_is_the_usual_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("natxy_siitperf.trial.ports.find_engine", lambda: Path("natxy-engine"))
    found = [
        find_trial_ports(parse_conf(CONF), 64, {LEFT: "lo", RIGHT: "lo", **environment}).ports
        for environment in ({IO: ""}, {}, {IO: "af_packet"})
    ]
    assert found[0] == found[1] != found[2]


@pytest.mark.parametrize(("channels", "argument"), [(None, "-n1"), ("8", "-n8")])
def test_cards_have_siitperfs_memory_channels(
    monkeypatch: pytest.MonkeyPatch, channels: str | None, argument: str
) -> None:
    monkeypatch.setattr("natxy_siitperf.trial.ports.find_engine", lambda: Path("natxy-engine"))
    conf = parse_conf(conf_text("nat44", MEM_Channels=channels))
    tester = find_trial_ports(conf, 64, {LEFT: "0000:41:00.0", RIGHT: "0000:41:00.1"})
    assert {each for each in tester.claims if not each.startswith("core ")} == {
        "port 0000:41:00.0",
        "port 0000:41:00.1",
    }
    assert tester.argv[-6:] == ["--pci", "0000:41:00.0", "--pci", "0000:41:00.1", "--eal", argument]
