# SPDX-License-Identifier: Apache-2.0
"""The results that every procedure has to measure on the reference gateway. A new procedure adds its cases to TRUTHS.

A truth follows from the gateway's settings by arithmetic. Its tolerance is what the search, the clock and the limits of
a valid trial leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from natxy.calibration.case import Case
from natxy.calibration.scale import Scale
from natxy.calibration.truths import connections, delays, rates, recovery, softwires

TRUTHS: Final[dict[str, Callable[[Scale], Iterator[Case]]]] = {
    "throughput": rates.throughput,
    "ndr-pdr": rates.ndr_pdr,
    "frame-loss-rate": rates.frame_loss_rate,
    "receive-rate": rates.receive_rate,
    "latency": delays.latency,
    "single-tag-latency": delays.single_tag_latency,
    "pdv": delays.pdv,
    "ipdv": delays.ipdv,
    "back-to-back": rates.back_to_back,
    "burst": rates.burst,
    "system-recovery": recovery.system_recovery,
    "reset": recovery.reset,
    "overload": rates.overload,
    "connection-rate": connections.connection_rate,
    "validated-connection-rate": connections.validated_connection_rate,
    "tear-down-rate": connections.tear_down_rate,
    "table-capacity": connections.table_capacity,
    "binding-check": softwires.binding_check,
    "binding-churn": softwires.binding_churn,
    "port-set": connections.port_set,
    "tcp-connection-rate": connections.tcp_connection_rate,
    "churn": connections.churn,
    "ageing": connections.ageing,
    "fill": connections.fill,
}
