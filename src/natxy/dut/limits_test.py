# SPDX-License-Identifier: Apache-2.0
"""Checks that plans which repeat a published measurement wait as long as it took there to empty the table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from natxy.dut import registry
from natxy.dut.base import Capability, DutInterfaces
from natxy.dut.limits import table_timeout_s
from natxy.dut.linux.conntrack import COUNT_PATH
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.linux import ConntrackModel
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.plan.yaml.loading import load_plan
from natxy.published import published_table
from natxy.system.machine_sysctls import MachineSysctls

PLANS = sorted((Path(__file__).parents[3] / "plans" / "paper").glob("*.yaml"))


def published(name: str, *columns: str) -> list[tuple[float, ...]]:
    table = published_table(name)
    return [tuple(float(row[table.columns.index(column)]) for column in columns) for row in table.rows]


# The time per entry and per empty bucket of the slowest published gateway, iptables.
ENTRY_S = max(1 / rate for (rate,) in published("iptables-tear-down", "Tear-down cps"))
BUCKET_S = max(empty_s / size for empty_s, size in published("iptables-tear-down", "Empty s max", "Hash size"))


class FullDut:
    """A transport to a DUT with a full table, which takes as long to empty as the slowest published one."""

    def __init__(self, entries: int, buckets: int) -> None:
        self.machine = MachineSysctls()
        self.network = OwnSysctls(self)
        self.entries = entries
        self._buckets = buckets

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        output = ""
        match list(argv):
            case ["cat", path] if path == COUNT_PATH:
                output = f"{self.entries}\n"
            case ["sysctl", "-n", "net.netfilter.nf_conntrack_buckets"]:
                output = f"{self._buckets}\n"
            case ["sysctl", "-n", "net.netfilter.nf_conntrack_max"]:
                output = f"{self.entries}\n"
            case ["sysctl", "-n", "kern.boottime"]:
                output = f"{self.entries}\n"
            case ["sh", "-c", _]:
                output = f"{self.entries}\n"
            case ["pfctl", "-si"]:
                output = f"  current entries   {self.entries}\n"
            case ["ifconfig", *_]:
                output = "status: active\n"
            case ["shutdown", *_]:
                self.entries = 0
            case ["conntrack", "-F"] | ["jool", "instance", "remove", _] | ["pfctl", "-F", "states"]:
                taken_s = self.entries * ENTRY_S + self._buckets * BUCKET_S
                if taken_s > timeout_s:
                    raise DutError(f"{argv} was stopped after {timeout_s:g} s, and needs {taken_s:g} s")
                self.entries = 0
        return CompletedCommand(tuple(argv), 0, output, "")

    def describe(self) -> str:
        return "made up"


def stateful_experiments() -> Iterator[tuple[str, Experiment]]:
    for file in PLANS:
        for experiment in load_plan(file).experiments:
            if experiment.uses_connections:
                yield f"{file.stem}, {experiment.name}", experiment


def most_connections(experiment: Experiment) -> int:
    if isinstance(experiment.procedure, TableCapacityConfig):
        return experiment.procedure.max_connections
    assert experiment.connections is not None
    return experiment.connections


@pytest.mark.parametrize("experiment", [pytest.param(each, id=name) for name, each in stateful_experiments()])
def test_a_published_table_is_emptied_in_time(experiment: Experiment) -> None:
    config = experiment.gateway
    buckets = (config.hash_size or 0) if isinstance(config, ConntrackModel) else 0
    dut = FullDut(most_connections(experiment), buckets)
    gateway = registry.create(config, dut, DutInterfaces(left="a", right="b"), experiment.address_plan)
    assert Capability.CLEAR in gateway.capabilities
    gateway.clear()
    assert dut.entries == 0


@pytest.mark.parametrize("name", ["iptables-tear-down", "jool-tear-down"])
def test_the_limit_is_twice_what_any_published_table_took(name: str) -> None:
    for entries, full_s in published(name, "Connections", "Full s max"):
        assert table_timeout_s(int(entries)) > 2 * full_s
