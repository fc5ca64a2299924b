# SPDX-License-Identifier: Apache-2.0
"""Makes a run of sweeps without measuring: cores, connections, frame sizes, α, addresses × ports. One cell failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from natxy.plan.frames.sizes import line_rate_fps
from natxy.results.records import State
from tests.support.sample_runs import SampleRun, Sought, measured_latency

NAT: Final[dict[str, Any]] = {"gateway": "nftables", "repeat": 3}
RATE: Final[dict[str, Any]] = {"procedure": "connection-rate", **NAT}
PORTS: Final = {"source": {"min": 10_000, "max": 29_999}, "destination": {"min": 1000, "max": 1004}}


def sweeps(folder: Path) -> Path:
    run = SampleRun(folder, name="sweeps")
    for cores, rate, frames, forwarded in ((1, 45e3, 83e3, 182e3), (2, 74e3, 148e3, 304e3), (4, 141e3, 275e3, None)):
        cell = {"cores": cores}
        where, words = f"cores={cores}", f"{cores} core{'s' if cores > 1 else ''}"
        own: dict[str, Any] = {"cell": cell, "cores": cores, "connections": 100_000, "ports": PORTS}
        run.experiment(
            f"forward/{where}", Sought(forwarded), title=f"Linux IPv4 forwarding, {words}", cell=cell, cores=cores
        )
        run.experiment(f"rate/{where}", Sought(rate), title=f"NAT44 rate, {words}", **own, **RATE)
        run.experiment(
            f"nat44/{where}", Sought(frames), title=f"NAT44 throughput, {words}", baseline=f"forward/{where}",
            phase1_rate={"rate": 20e3}, **own, **NAT,
        )  # fmt: skip
    for connections, rate in ((50_000, 240e3), (200_000, 228e3), (800_000, 224e3), (3_200_000, 140e3)):
        run.experiment(
            f"many/connections={connections}", Sought(rate), title=f"Connection rate, {connections:,} connections",
            cell={"connections": connections}, connections=connections, table_size=round(1.34 * connections),
            ports={"source": {"min": 1024, "max": 41_023}, "destination": {"min": 1, "max": connections // 40_000 + 1}},
            **RATE,
        )  # fmt: skip
    last = run.declare(
        "many/connections=12800000", title="Connection rate, 12,800,000 connections", cell={"connections": 12_800_000},
        connections=12_800_000, ports=PORTS, **RATE,
    )  # fmt: skip
    run.store.set_experiment_state(last, State.FAILED, "the connection tracking table holds at most 4194304 entries")
    for size in (64, 128, 256, 512, 1024, 1280, 1518):
        truth = min(line_rate_fps(1e9, size) * 0.999, 310e3)
        run.experiment(
            f"sizes/frame_size={size}", Sought(truth), title=f"Forwarding, {size}-byte frames",
            cell={"frame_size": size}, frame_size=size, line_rate=1e9,
        )  # fmt: skip
    for alpha, rate in ((0.8, 62e3), (0.6, 83e3), (0.5, 93e3), (0.25, 92.8e3)):
        run.experiment(
            f"alpha/alpha={alpha}", Sought(rate), title=f"Validated rate, α = {alpha}", cell={"alpha": alpha},
            **RATE | {"procedure": "validated-connection-rate"}, alpha=alpha, connections=100_000, ports=PORTS,
        )  # fmt: skip
    for addresses in ("single", "multiple"):
        for ports in ("fixed", "random"):
            truth = 310e3 if ports == "random" else 96e3 if addresses == "single" else 205e3
            run.experiment(
                f"spread/addresses={addresses},source={ports}", Sought(truth),
                title=f"Addresses and ports, {addresses} addresses, source ports {ports}",
                cell={"addresses": addresses, "ports.source": ports},
            )  # fmt: skip
    _delays(run)
    return run.end()


def _delays(run: SampleRun) -> None:
    for size, typical in ((64, 31_000), (1518, 44_000)):
        measured_latency(
            run, f"latency/frame_size={size}", typical, title=f"Latency, {size}-byte frames",
            cell={"frame_size": size}, frame_size=size,
        )  # fmt: skip
