# SPDX-License-Identifier: Apache-2.0
"""Identifies the gateways of a run, and sets those side by side that were measured with the same procedures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.chain import Kinds
from natxy.plan.model.terms import Family, Kernel, MapEnd, SoftwireEnd, TranslationKind
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.system.interrupts import dumped

# The resources that a gateway was given do not make it another gateway.
_AMOUNTS: Final = {"conntrack_max", "hash_size", "udp_timeout_s", "udp_stream_timeout_s", "states", "table_capacity"}

_TOGETHER: Final[Mapping[Kinds, str]] = {(TranslationKind.CLAT, TranslationKind.NAT64): "464XLAT"}


@dataclass(frozen=True)
class GatewayName:
    """Names a gateway.

    `kernel` is what the gateway reported, empty if it did not. `variant` has the settings that distinguish it from
    others of its driver.
    """

    driver: str
    kernel: str
    variant: tuple[str, ...]


@dataclass(frozen=True)
class GatewayRow(GatewayName):
    """Holds the experiments on a gateway with one kind of traffic, by the names of their procedures."""

    traffic: str
    experiments: Mapping[str, ExperimentRecord]


@dataclass(frozen=True)
class SideBySide:
    """Holds a row for each gateway and kind of traffic, and a column for each of `procedures`, in the plan's order.

    Rows with the same kernel are adjacent.
    """

    procedures: tuple[str, ...]
    rows: tuple[GatewayRow, ...]

    @property
    def kernels(self) -> tuple[str, ...]:
        """The known kernels. Rates on different kernels cannot be compared."""
        return tuple(dict.fromkeys(row.kernel for row in self.rows if row.kernel))


def gateway_key(experiment: ExperimentRecord) -> str:
    """Returns a key that all experiments on one gateway have in common."""
    return json.dumps(_settings(experiment.planned.gateway), sort_keys=True)


def _settings(gateway: GatewayModel) -> dict[str, Any]:
    """Returns what makes a gateway another one; of several, each setting after its gateway's place."""
    each = [dumped(hop, exclude_none=True, exclude=_AMOUNTS) for hop in gateway.hops]
    own = (
        each[0]
        if len(each) == 1
        else {
            f"{number} {name}": value
            for number, settings in enumerate(each, 1)
            for name, value in settings.items()
            if name != "driver"
        }
    )
    return own | {"driver": gateway.title}


def gateway_names(run: RunRecord) -> dict[str, GatewayName]:
    """Returns the names of all gateways of a run, by their keys."""
    found: dict[str, list[ExperimentRecord]] = {}
    for experiment in run.experiments:
        found.setdefault(gateway_key(experiment), []).append(experiment)
    gateways = {key: json.loads(key) for key in found}
    return {
        key: GatewayName(gateway["driver"], _kernel(gateway, found[key]), _variant(gateway, [*gateways.values()]))
        for key, gateway in gateways.items()
    }


def traffic(experiment: ExperimentRecord) -> str:
    """Names the translation of the packets, such as `NAT64` or `NAT44`, or the family if there is none."""
    planned = experiment.planned
    if planned.translation:
        return planned.translation.kind.upper()
    if MapEnd.CORE in (planned.kinds or ()):
        return "MAP-T"
    if SoftwireEnd.CORE in (planned.kinds or ()):
        return _softwire_traffic(planned)
    if kinds := [kind for kind in planned.kinds or () if kind]:
        return _TOGETHER.get(tuple(kinds), " + ".join(kind.upper() for kind in kinds))
    if planned.gateway.hides_left:
        return "NAT44" if planned.family == Family.IPV4 else "NAT66"
    return planned.family.replace("ipv", "IPv")


def _softwire_traffic(planned: Experiment) -> str:
    """Names a softwire by where a NAT44 is: behind its core as in DS-Lite (RFC 6333), or before its edge as in lw4o6
    (RFC 7596) and MAP-E (RFC 7597)."""
    hides = [hop.hides_left for hop in planned.gateway.hops]
    behind = (planned.kinds or ()).index(SoftwireEnd.CORE)
    if any(hides[behind:]):
        return "DS-Lite"
    return "NAT44 + softwire" if any(hides) else "softwire"


def side_by_side(run: RunRecord) -> SideBySide | None:
    """Returns None unless two or more gateways have two or more procedures in common, each measured once on each."""
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
    """Returns the kernel that a gateway reported, or the planned one if it was never set up."""
    reported = (dut.settings.get("kernel") for experiment in experiments for dut in experiment.duts)
    planned = "user-mode Linux" if gateway.get("kernel") == Kernel.USER_MODE else ""
    return next((kernel for kernel in reported if kernel), planned)


def several_kernels(run: RunRecord) -> bool:
    """Returns whether the gateways side by side have different kernels."""
    compared = side_by_side(run)
    return compared is not None and len(compared.kernels) > 1


def _is_column(procedure: str, gateways: list[dict[str, list[ExperimentRecord]]]) -> bool:
    measured = [len(own[procedure]) for own in gateways if procedure in own]
    return len(measured) > 1 and set(measured) == {1}


def _variant(gateway: Mapping[str, Any], gateways: list[dict[str, Any]]) -> tuple[str, ...]:
    """Returns the settings that another gateway of the same driver has with another value, or not at all."""
    same = [other for other in gateways if other["driver"] == gateway["driver"]]
    return tuple(
        value if isinstance(value, str) else f"{name}={value}"
        for name, value in gateway.items()
        if name != "kernel" and any(other.get(name) != value for other in same)
    )
