# SPDX-License-Identifier: Apache-2.0
"""A run's gateways side by side: what was asked of several of them, once of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.terms import Kernel
from natxy.results.records import ExperimentRecord, RunRecord

# How much a gateway was given, not which one it is.
_AMOUNTS: Final = {"conntrack_max", "hash_size", "udp_timeout_s", "udp_stream_timeout_s", "states", "table_capacity"}


@dataclass(frozen=True)
class GatewayRow:
    """`kernel`: what it said of it; empty where it didn't. `variant`: settings that tell it from others of its driver.
    `experiments`: by their procedures' names."""

    driver: str
    kernel: str
    variant: tuple[str, ...]
    traffic: str
    experiments: Mapping[str, ExperimentRecord]


@dataclass(frozen=True)
class SideBySide:
    """`procedures`: those of the columns, in the plan's order. Rows of one kernel stand together."""

    procedures: tuple[str, ...]
    rows: tuple[GatewayRow, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """Those that are known. Rates of different ones cannot be compared."""
        return tuple(dict.fromkeys(row.kernel for row in self.rows if row.kernel))


def side_by_side(run: RunRecord) -> SideBySide | None:
    """None unless two gateways or more have two procedures or more in common, each measured once on each of them."""
    found: dict[tuple[str, str], dict[str, list[ExperimentRecord]]] = {}
    for experiment in run.experiments:
        kept = {name: value for name, value in experiment.settings["gateway"].items() if name not in _AMOUNTS}
        key = (json.dumps(kept, sort_keys=True), _traffic(experiment))
        found.setdefault(key, {}).setdefault(experiment.procedure, []).append(experiment)
    asked = dict.fromkeys(experiment.procedure for experiment in run.experiments)
    procedures = tuple(procedure for procedure in asked if _is_column(procedure, list(found.values())))
    if len(procedures) < 2:
        return None
    gateways = [json.loads(gateway) for gateway, _ in found]
    rows = [
        GatewayRow(
            driver=gateway["driver"],
            kernel=_kernel(gateway, [one for same in own.values() for one in same]),
            variant=_variant(gateway, gateways),
            traffic=traffic,
            experiments={procedure: own[procedure][0] for procedure in procedures if procedure in own},
        )
        for gateway, ((_, traffic), own) in zip(gateways, found.items(), strict=True)
    ]
    order = list(dict.fromkeys(row.kernel for row in rows))
    together = sorted(rows, key=lambda row: order.index(row.kernel))
    return SideBySide(procedures, tuple(row for row in together if row.experiments))


def _kernel(gateway: Mapping[str, Any], experiments: Sequence[ExperimentRecord]) -> str:
    """One that was never set up has what the plan gives it."""
    told = (experiment.dut["settings"].get("kernel") for experiment in experiments if experiment.dut)
    planned = "user-mode Linux" if gateway.get("kernel") == Kernel.USER_MODE else ""
    return next((kernel for kernel in told if kernel), planned)


def several_kernels(run: RunRecord) -> bool:
    """Among the gateways that stand side by side."""
    compared = side_by_side(run)
    return compared is not None and len(compared.kernels) > 1


def _traffic(experiment: ExperimentRecord) -> str:
    translation = experiment.settings.get("translation")
    return translation["kind"].upper() if translation else experiment.family.replace("ipv", "IPv")


def _is_column(procedure: str, gateways: list[dict[str, list[ExperimentRecord]]]) -> bool:
    measured = [len(own[procedure]) for own in gateways if procedure in own]
    return len(measured) > 1 and set(measured) == {1}


def _variant(gateway: Mapping[str, Any], gateways: list[dict[str, Any]]) -> tuple[str, ...]:
    """Where others of its driver have another value or none."""
    same = [other for other in gateways if other["driver"] == gateway["driver"]]
    return tuple(
        value if isinstance(value, str) else f"{name}={value}"
        for name, value in gateway.items()
        if name != "kernel" and any(other.get(name) != value for other in same)
    )
