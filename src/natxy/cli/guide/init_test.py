# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import pty
import subprocess
import sys
from itertools import chain, combinations
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.cli.guide.first_plan import (
    Answers,
    Aspect,
    Cabling,
    Place,
    aspects_of,
    first_plan,
    gateways_at,
    protocols_of,
    translations_of,
)
from natxy.plan.frames.forms import Protocol
from natxy.plan.scale import left_to_the_dut
from natxy.plan.yaml.loading import load_plan
from natxy.plan.zero_checksums import without_tolerance
from natxy.shipped import schema_comment
from tests.support.command import HANG_S

CABLED = "--left 0000:41:00.0 --right ens1f1 --dut root@dut.lab --dut-left eth1 --dut-right eth2"


def init(arguments: str, plan: Path) -> Result:
    return CliRunner().invoke(app, ["init", str(plan), *arguments.split()])


@pytest.mark.parametrize(
    ("place", "gateway", "translation", "protocol"),
    [
        (place, name, kind, protocol)
        for place in Place
        for name in gateways_at(place)
        for kind in translations_of(name)
        for protocol in protocols_of(name)
    ],
)
def test_every_combination_of_answers_gives_a_plan_without_errors(
    place: Place, gateway: str, translation: str, protocol: str, tmp_path: Path
) -> None:
    plan = tmp_path / "plan.yaml"
    aspects = aspects_of(gateway)
    cabling = Cabling("0000:41:00.0", "ens1f1", "root@dut.lab", "eth1", "eth2", "10 Gbps")
    for wanted in chain.from_iterable(combinations(aspects, count) for count in range(1, len(aspects) + 1)):
        wired = cabling if place == Place.HARDWARE else None
        answers = Answers("plan.yaml", "plan", place, gateway, wanted, wired, translation, Protocol(protocol))
        plan.write_text(first_plan(answers))
        found = load_plan(plan)
        assert left_to_the_dut(found) == without_tolerance(found) == {}
        assert found.testbed.kind == place
        names = {each.name for each in found.experiments}
        assert ("validated-rate" in names) == (Aspect.CONNECTIONS in wanted)
        assert ("lives" in names) == (Aspect.CONNECTIONS in wanted and protocol == "tcp")
        assert {each.protocol for each in found.experiments} == {Protocol(protocol)}
        assert ("forwarding-latency" in names) == (Aspect.LATENCY in wanted)
        ours = [each for each in found.experiments if each.gateway.driver == gateway]
        measured = [each for each in ours if not each.name.startswith("forwarding")]
        assert measured or gateway == "linux-forward"
        assert all((each.translation.kind if each.translation else "none") == translation for each in measured)
        assert all(each.baseline == "forwarding" for each in measured if each.name == "throughput")


def test_every_place_offers_what_runs_there() -> None:
    assert "nftables" in gateways_at(Place.LAB)
    assert "openbsd-pf" in gateways_at(Place.HARDWARE)
    assert not {"openbsd-pf", "map646"} & {*gateways_at(Place.VM)}
    assert all("command" in gateways_at(place) for place in Place)
    assert not {"simulated", "wire", "reference"} & {*gateways_at(Place.HARDWARE)}


def test_without_a_terminal_options_and_defaults_answer(tmp_path: Path) -> None:
    plan = tmp_path / "my-plan.yaml"
    done = init("", plan)
    assert done.exit_code == 0
    assert f"`natxy check {plan}`" in done.output.replace("\n", " ")
    assert plan.read_text().startswith(f"{schema_comment(tmp_path)}\n# `natxy check")
    found = load_plan(plan)
    assert (found.name, found.testbed.kind) == ("my-plan", "lab")
    names = ["forwarding", "forwarding-latency", "rate", "validated-rate", "throughput", "latency"]
    assert [each.name for each in found.experiments] == names
    assert found.experiments[2].gateway.driver == "nftables"

    done = init(f"--testbed hardware --gateway jool --measure connections {CABLED}", tmp_path / "cabled.yaml")
    assert done.exit_code == 0
    found = load_plan(tmp_path / "cabled.yaml")
    assert [each.name for each in found.experiments] == ["rate", "validated-rate"]
    assert found.testbed.engine_ports
    assert found.testbed.engine_ports.name == "0000:41:00.0+ens1f1"


def test_a_connection_rate_on_cables_is_measured_for_long_enough(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    done = init(f"--testbed hardware --gateway openbsd-pf --translation nat64 {CABLED}", plan)
    assert done.exit_code == 0
    assert "has never run on OpenBSD" in plan.read_text()
    rate = next(each for each in load_plan(plan).experiments if each.name == "rate")
    assert rate.translation
    assert rate.search
    assert rate.connections
    assert rate.connections / rate.search.max_rate >= 0.1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("--testbed labs", "--testbed: expected one of lab, hardware, vm, got 'labs'; did you mean 'lab'?"),
        ("--testbed vm --gateway openbsd-pf", "--gateway: expected one of linux-forward"),
        ("--gateway tayga --translation nat64", "--translation: expected one of siit, got 'nat64'"),
        ("--gateway tayga --protocol tcp", "--protocol: expected one of udp, got 'tcp'"),
        ("--gateway tayga --measure connections", "--measure: expected one of throughput, latency, got 'connections'"),
        ("--testbed hardware", "--left is missing, the tester's left port"),
        (f"--testbed hardware {CABLED} --line-rate fast", "--line-rate: expected"),
        (f"--testbed hardware {CABLED} --dut-left a/b", "--dut-left: expected the name of an interface"),
        (f"--testbed hardware {CABLED} --left 41:00.0", "--left: expected a PCI address"),
        (f"--testbed hardware {CABLED} --dut root@", "--dut: expected the name or address of a host, such as dut.lab"),
        ("--dut root@dut.lab", "--dut is for --testbed hardware, not lab; remove it"),
    ],
)
def test_a_bad_answer_is_an_error_and_nothing_is_written(arguments: str, said: str, tmp_path: Path) -> None:
    done = init(arguments, tmp_path / "plan.yaml")
    assert done.exit_code == 2
    assert said in done.stderr
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["2024", "1e5", "0x10", "true", "null"])
def test_a_name_that_yaml_reads_as_something_else_stays_a_name(name: str, tmp_path: Path) -> None:
    plan = tmp_path / f"{name}.yaml"
    assert init("", plan).exit_code == 0
    assert load_plan(plan).name == name


@pytest.mark.parametrize("name", ["plan.yml", "My plan.yaml", "missing/plan.yaml"])
def test_a_file_that_cannot_be_a_plan_is_an_error(name: str, tmp_path: Path) -> None:
    done = init("", tmp_path / name)
    assert done.exit_code == 2
    assert not [*tmp_path.iterdir()]


def test_an_existing_file_is_left_as_it_is(tmp_path: Path) -> None:
    plan, link = tmp_path / "plan.yaml", tmp_path / "link.yaml"
    plan.write_text("mine")
    link.symlink_to("nowhere.yaml")
    for each in (plan, link):
        done = init("", each)
        assert done.exit_code == 2
        assert f"{each} exists, and is left as it is" in done.stderr
    assert plan.read_text() == "mine"
    assert not (tmp_path / "nowhere.yaml").exists()


def on_terminal(answers: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    """Types the answers at a terminal. `\\x04` ends the input."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answers.encode())
        command = [sys.executable, "-m", "natxy", "init"]
        return subprocess.run(
            command, stdin=theirs, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_S, check=False
        )
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_person_is_asked_and_asked_again(tmp_path: Path) -> None:
    done = on_terminal("\ntaiga\ntayga\nthroughput, latency\n", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "did you mean 'tayga'?" in done.stderr
    assert done.stdout.count("Gateway [nftables]: ") == 2
    assert done.stdout.count("linux-forward") == 1
    found = load_plan(tmp_path / "my-plan.yaml")
    assert [each.name for each in found.experiments if each.gateway.driver == "tayga"] == ["throughput", "latency"]


def test_the_end_of_the_answers_is_an_error(tmp_path: Path) -> None:
    done = on_terminal("lab\n\x04", tmp_path)
    assert done.returncode == 2
    assert "the answers ended" in done.stderr
    assert not [*tmp_path.iterdir()]
