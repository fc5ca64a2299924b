# SPDX-License-Identifier: Apache-2.0
"""Tests `natxy lab up` and `natxy lab down`, with frames through the lab that stands, and after kills."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Final

import pytest

from natxy.system.process_owner import Owner
from natxy_siitperf.trial.lines import LEFT_LATE
from tests.support import needs
from tests.support.command import HANG_S
from tests.support.own_ledger import natxy_with_ledger
from tests.support.processes import runs
from tests.support.siitperf_bed import Ended, run_program
from tests.support.siitperf_confs import conf_text
from tests.support.timing import wait_until
from tests.support.undisturbed import undisturbed

pytestmark = needs.LAB

PLAN: Final = """
name: standing
timing: {preset: lab, trial: 50ms, max_pause: 50ms, overrun_floor: 50ms}
testbed: {kind: lab}
experiments:
  - {name: router, gateway: linux-forward, max_invalid: 50, procedure: throughput, search: &search
     {min_rate: 1k, max_rate: 2k, error: 1k}}
  - name: nat
    gateway: {driver: nftables, udp_timeout_s: 77}
    procedure: throughput
    connections: 100
    phase1_rate: 1000
    search: *search
  - {name: truth, gateway: reference, max_invalid: 50, procedure: throughput, search: *search}
"""


class Standing:
    """Runs natxy with a ledger of its own, in a folder with a plan."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / "plan.yaml"
        self.plan.write_text(PLAN)
        self.made: set[str] = set()

    def natxy(self, *arguments: str | Path, code: int = 0, kill: tuple[str, int] = ("", 0)) -> str:
        """Returns what natxy wrote to stdout, or with another exit code than 0 to stderr.

        `kill`: the moment, and the number of the write to the ledger, at which the process that writes is killed.
        """
        done = self.run(*arguments, kill=kill)
        assert done.returncode == code, done.stdout + done.stderr
        return done.stderr if code else done.stdout

    def run(self, *arguments: str | Path, kill: tuple[str, int] = ("", 0)) -> subprocess.CompletedProcess[str]:
        command = natxy_with_ledger(self.folder / "ledger", *arguments, kill=kill)
        # A keeper that held the pipes open would make this wait until its end.
        return subprocess.run(command, capture_output=True, text=True, timeout=HANG_S, check=False)

    def up(self, *options: str) -> dict[str, str]:
        """Builds the lab; returns the variables that it exports, and the keys of siitperf.conf that it states."""
        lines = self.natxy("lab", "up", self.plan, *options).splitlines()
        assert all(line.startswith(("# ", "export ")) for line in lines), lines
        self.made |= {line.split("=")[1] for line in lines if line.startswith("export NATXY_LAB_")}
        keys = dict(line.split()[1:] for line in lines if re.match(r"#   \S+-[LR]-\S+ \S+$", line))
        assert len(keys) == 8
        return keys | dict(
            word.split("=", 1) for line in lines if line.startswith("export ") for word in shlex.split(line)[1:]
        )

    def writes(self) -> int:
        """Returns how often the keeper of the last lab has written to the ledger."""
        return (self.folder / "writes").stat().st_size

    def entries(self) -> list[dict[str, str]]:
        file = self.folder / "ledger" / "ledger.json"
        entries: list[dict[str, str]] = json.loads(file.read_text()) if file.exists() else []
        return entries

    def left(self) -> list[object]:
        """Returns what the labs left: entries in the ledger, namespaces and live keepers."""
        return [*self.entries(), *(namespaces() & self.made), *self.keepers()]

    def keepers(self) -> list[Owner]:
        return [Owner.parse(entry["owner"]) for entry in self.entries() if entry["kind"] == "lab"]


@pytest.fixture
def standing(tmp_path: Path) -> Iterator[Standing]:
    standing = Standing(tmp_path)
    yield standing
    standing.natxy("cleanup")


def namespaces() -> set[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0] for line in listed.splitlines()}


def assert_all_arrive(standing: Standing, environment: dict[str, str], conf: str) -> None:
    """Has siitperf-tp measure in the lab. Asserts that no frame of either phase is lost."""
    (standing.folder / "siitperf.conf").write_text(conf)
    inside = ["ip", "netns", "exec", environment["NATXY_LAB_TESTER"]]
    patient = environment | {"NATXY_SIITPERF_OVERRUN_FLOOR_MS": "1000"}
    arguments = "84 400 1 2000 2 2 100 100 1000 2000 2500"
    ended = undisturbed(
        lambda: run_program("tp", arguments, standing.folder, prefix=inside, **patient), Ended.disturbance
    )
    for direction, frames in (("Preliminary", 100), ("Forward", 400), ("Reverse", 400)):
        assert ended.number(f"{direction} frames received") == frames, ended


def test_siitperfs_programs_measure_in_a_lab_that_stands(standing: Standing) -> None:
    exports = standing.up("--experiment", "nat")
    assert {exports["NATXY_LAB_TESTER"], exports["NATXY_LAB_DUT"]} <= namespaces()
    (keeper,) = standing.keepers()
    assert os.getsid(keeper.pid) == keeper.pid
    assert "natxy lab down" in standing.natxy("doctor")
    keys = {name: value for name, value in exports.items() if name.startswith("IP")}
    # Of a testbed that siitperf has measured with: the environment has the lab's.
    macs = {
        f"MAC-{side}-{of}": f"a0:36:9f:74:73:{byte}"
        for byte, (side, of) in enumerate(product("LR", ("Tester", "DUT")), 64)
    }
    ports = {"sport-min": "10000", "sport-max": "10009", "dport-min": "80", "dport-max": "89"}
    conf = conf_text("nat44", **keys, **macs, **{f"Fwd-{end}": port for end, port in ports.items()})
    assert_all_arrive(standing, exports, conf)
    # What `--initiator right` would print.
    left, right = exports["NATXY_SIITPERF_DUT_MACS"].split(",")
    exchanged = {"LEFT": "right", "RIGHT": "left", "DUT_MACS": f"{right},{left}"}
    reals = {"IPv4-L-Real": keys["IPv4-R-Real"], "IPv4-R-Real": keys["IPv4-L-Real"]}
    of_right = {f"Rev-{end}": port for end, port in ports.items()} | {"Rev-var-sport": "3", "Rev-var-dport": "3"}
    assert_all_arrive(
        standing,
        exports | {f"NATXY_SIITPERF_{name}": value for name, value in exchanged.items()},
        conf_text("nat44", **macs, **reals, **of_right, Stateful="2"),
    )
    # The NAT of the plan forwarded them.
    table = subprocess.run(
        ["ip", "netns", "exec", exports["NATXY_LAB_DUT"], "nft", "list", "ruleset"],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert "masquerade" in table or "snat" in table, table
    refused = standing.natxy("lab", "up", standing.plan, code=2)
    assert "stands already" in refused
    assert "warning" not in refused
    assert standing.natxy("lab", "down") == (
        f"Removed: the lab of {standing.plan}, experiment nat (process {keeper.pid}).\n"
    )
    assert (standing.entries(), runs(keeper.pid)) == ([], False)
    assert not {exports["NATXY_LAB_TESTER"], exports["NATXY_LAB_DUT"]} & namespaces()
    assert standing.natxy("lab", "down") == "No lab stands.\n"


def counted_by_kernel(namespace: str) -> dict[str, int]:
    """Returns the counters of a namespace's kernel, such as `Ip ForwDatagrams` (RFC 1213)."""
    command = ["ip", "netns", "exec", namespace, "cat", "/proc/net/snmp"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    counted: dict[str, int] = {}
    for named, valued in zip(lines[::2], lines[1::2], strict=True):
        kind, *names = named.split()
        counted |= {f"{kind[:-1]} {name}": int(value) for name, value in zip(names, valued.split()[1:], strict=True)}
    return counted


def test_the_reference_gateway_has_the_addresses_that_are_stated_and_its_kernel_is_silent(standing: Standing) -> None:
    exports = standing.up("--experiment", "truth")
    keys = {name: value for name, value in exports.items() if "-" in name}
    (standing.folder / "siitperf.conf").write_text(conf_text("nat44", Stateful="0", Enumerate_ports="0", **keys))
    inside = ["ip", "netns", "exec", exports["NATXY_LAB_TESTER"]]
    environment = exports | {"NATXY_SIITPERF_OVERRUN_FLOOR_MS": "1000"}
    ended = undisturbed(
        lambda: run_program("tp", "84 400 1 2000 2 2", standing.folder, prefix=inside, **environment),
        Ended.disturbance,
    )
    assert [ended.number(f"{direction} frames received") for direction in ("Forward", "Reverse")] == [400, 400]
    # Standard error would tell of duplicates and of frames that nobody sent. A busy machine sends some frames late, and
    # its cores may be another test's for a while.
    assert [line for line in ended.errors if LEFT_LATE not in line and "waiting for core" not in line] == []
    counted = counted_by_kernel(exports["NATXY_LAB_DUT"])
    assert [counted[f"Ip {name}"] for name in ("ForwDatagrams", "OutRequests")] == [0, 0]
    assert counted["Icmp OutMsgs"] == 0


def test_another_run_leaves_a_lab_that_stands_alone(standing: Standing) -> None:
    exports = standing.up()
    standing.natxy("run", standing.plan, "--only", "router", "--repeat", "1", "--output", standing.folder / "run")
    assert exports["NATXY_LAB_TESTER"] in namespaces()
    assert len(standing.keepers()) == 1
    assert "Removed: the lab of" in standing.natxy("cleanup")
    assert exports["NATXY_LAB_TESTER"] not in namespaces()


@pytest.mark.parametrize("verb", [["lab", "down"], pytest.param(["cleanup"], marks=pytest.mark.more)])
def test_what_a_killed_keeper_left_is_given_back(standing: Standing, verb: list[str]) -> None:
    exports = standing.up("--experiment", "nat")
    (keeper,) = standing.keepers()
    os.kill(keeper.pid, signal.SIGKILL)
    wait_until(lambda: not runs(keeper.pid))
    assert exports["NATXY_LAB_DUT"] in namespaces()
    assert "left by killed runs" in standing.natxy("doctor")
    standing.natxy(*verb)
    assert standing.left() == []


@pytest.mark.long
def test_a_keeper_that_is_killed_while_it_builds_or_removes(standing: Standing) -> None:
    standing.up("--experiment", "nat")
    built = standing.writes()
    standing.natxy("lab", "down")
    for number in (built // 2, built):
        # The first write is that of the command itself.
        said = standing.natxy("lab", "up", standing.plan, "--experiment", "nat", code=4, kill=("after", number))
        assert "`natxy lab down` removes what it left" in said
        standing.made |= {f"natxy-{keeper}-{end}" for keeper in standing.keepers() for end in ("tester", "dut")}
        assert standing.natxy("lab", "down").startswith("Removed: ")
        assert standing.left() == [], number
    standing.natxy("lab", "up", standing.plan, "--experiment", "nat", kill=("after", built + 2))
    assert standing.natxy("lab", "down").startswith("Removed: ")
    assert standing.left() == []


def test_of_two_labs_one_stands(standing: Standing) -> None:
    with ThreadPoolExecutor() as both:
        ended = [*both.map(lambda _: standing.run("lab", "up", standing.plan), range(2))]
    assert sorted(each.returncode for each in ended) == [0, 2]
    assert len([each for each in ended if "stands already" in each.stderr]) == 1
    assert len(standing.keepers()) == 1


def test_programs_in_the_namespaces_end_with_the_lab(standing: Standing) -> None:
    exports = standing.up()
    with subprocess.Popen(["ip", "netns", "exec", exports["NATXY_LAB_TESTER"], "sleep", "600"]) as sleeping:
        wait_until(lambda: "sleep" in Path(f"/proc/{sleeping.pid}/cmdline").read_text().split("\0")[0])
        standing.natxy("lab", "down")
        assert sleeping.wait(HANG_S) == -signal.SIGKILL


def test_a_lab_that_cannot_be_built_leaves_nothing(standing: Standing) -> None:
    standing.plan.write_text(PLAN.replace("gateway: linux-forward", "gateway: {driver: command, apply: [['false']]}"))
    said = standing.natxy("lab", "up", standing.plan, code=4)
    assert " false` failed with exit code 1" in said
    # As after a run: a gateway that was half set up stays in the ledger.
    assert [entry["kind"] for entry in standing.entries()] == ["gateway"]
    assert standing.natxy("lab", "down") == "No lab stands.\n"
    standing.natxy("cleanup")
    assert standing.left() == []


def test_only_labs_stand(standing: Standing) -> None:
    standing.plan.write_text(PLAN.replace("kind: lab", "kind: memif"))
    said = standing.natxy("lab", "up", standing.plan, code=2)
    assert said.startswith("natxy: ")
    assert standing.entries() == []
