# SPDX-License-Identifier: Apache-2.0
"""A run's gateways: what tells them apart, and side by side what was asked of several of them, once of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.model.terms import Family, Kernel
from natxy.results.records import ExperimentRecord, RunRecord

# How much a gateway was given, not which one it is.
_AMOUNTS: Final = {"conntrack_max", "hash_size", "udp_timeout_s", "udp_stream_timeout_s", "states", "table_capacity"}


@dataclass(frozen=True)
class GatewayName:
    """`kernel`: what it said of it; empty where it didn't. `variant`: settings that tell it from others of its
    driver."""

    driver: str
    kernel: str
    variant: tuple[str, ...]


@dataclass(frozen=True)
class GatewayRow(GatewayName):
    """`experiments`: by their procedures' names."""

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


def gateway_key(experiment: ExperimentRecord) -> str:
    """The same for all experiments on one gateway, whatever they ask of it."""
    given = experiment.planned.gateway.model_dump(mode="json", exclude_none=True, exclude=_AMOUNTS)
    return json.dumps(given, sort_keys=True)


def gateway_names(run: RunRecord) -> dict[str, GatewayName]:
    """Of all gateways of a run, by their keys."""
    found: dict[str, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        found.setdefault(gateway_key(experiment), []).append(experiment)
    gateways = {key: json.loads(key) for key in found}
    return {
        key: GatewayName(gateway["driver"], _kernel(gateway, found[key]), _variant(gateway, [*gateways.values()]))
        for key, gateway in gateways.items()
    }


def traffic(experiment: ExperimentRecord) -> str:
    """`NAT64`, `NAT44`, `IPv6`: what becomes of the packets' headers on the way."""
    planned = experiment.planned
    if planned.translation:
        return planned.translation.kind.upper()
    if planned.gateway.hides_left:
        return "NAT44" if planned.family == Family.IPV4 else "NAT66"
    return planned.family.replace("ipv", "IPv")


def side_by_side(run: RunRecord) -> SideBySide | None:
    """None unless two gateways or more have two procedures or more in common, each measured once on each of them."""
    found: dict[tuple[str, str], dict[str, list[ExperimentRecord]]] = {}
    for experiment in run.experiments:
        key = (gateway_key(experiment), traffic(experiment))
        found.setdefault(key, {}).setdefault(experiment.procedure, []).append(experiment)
    asked = dict.fromkeys(experiment.procedure for experiment in run.experiments)
    procedures = tuple(procedure for procedure in asked if _is_column(procedure, list(found.values())))
    if len(procedures) < 2:
        return None
    names = gateway_names(run)
    rows = [
        GatewayRow(
            driver=names[gateway].driver,
            kernel=names[gateway].kernel,
            variant=names[gateway].variant,
            traffic=shown,
            experiments={procedure: own[procedure][0] for procedure in procedures if procedure in own},
        )
        for (gateway, shown), own in found.items()
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
