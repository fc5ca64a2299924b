# SPDX-License-Identifier: Apache-2.0
"""Measures the kernel memory that a connection takes in gateways of a lab, and writes the table in
docs/reference/gateways.md: `python -m tools.table_memory`, as root, after `make jool`.

The kernel keeps connections as objects of slab caches, and /proc/slabinfo counts them. Caches that gained an object for
at least every other connection are taken for those of the table; hash tables are no slabs, and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from mmap import PAGESIZE
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from natxy.dut.base import Gateway
from natxy.engine.client import EngineClient
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.scale import table_need
from natxy.plan.yaml.loading import plan_of
from natxy.procedures.common.streams import establish_request
from natxy.run.setup import Setups
from tools.bench.speed_tables import put

PAGE: Final = Path("docs/reference/gateways.md")
RATE_FPS: Final = 10_000
# Jool has a session for each connection, and a binding for each address and port on the left.
PLAN: Final = """
name: table-memory
timing: {preset: lab, max_pause: 1s, overrun_floor: 1s}
defaults:
  procedure: connection-rate
  search: {min_rate: 10k, max_rate: 10k}
  connections: 100k
  ports: {source: 10000-10999, destination: 1000-1099}
experiments:
  - name: filter
    title: "`nftables`, `nat: false`"
    gateway: {driver: nftables, nat: false, udp_timeout_s: 600}
  - name: nat44
    title: "`nftables`, NAT44"
    gateway: {driver: nftables, udp_timeout_s: 600}
  - name: nat44-guest
    title: "`iptables`, NAT44"
    gateway: {driver: iptables, backend: legacy, kernel: user-mode, conntrack_max: 200k, udp_timeout_s: 600}
  - name: jool-sessions
    title: "`jool`, NAT64, 1,000 ports on the left"
    gateway: {driver: jool, kernel: user-mode, udp_timeout_s: 600}
    translation: nat64
  - name: jool-bindings
    title: "`jool`, NAT64, 50,000 ports on the left"
    gateway: {driver: jool, kernel: user-mode, udp_timeout_s: 600}
    translation: nat64
    connections: 50k
    ports: {source: 10000-59999, destination: 1000}
"""


@dataclass(frozen=True)
class Cache:
    """Holds the objects in use of a slab cache, the size of each, and the memory of all its slabs."""

    objects: int
    object_bytes: int
    slab_bytes: int


def caches(slabinfo: str) -> dict[str, Cache]:
    """Reads /proc/slabinfo (slabinfo(5)), version 2.1."""
    found = {}
    for line in slabinfo.splitlines()[2:]:
        name, active, _, object_bytes, _, pages, *rest = line.split()
        slabs = int(rest[rest.index("slabdata") + 2])
        found[name] = Cache(int(active), int(object_bytes), slabs * int(pages) * PAGESIZE)
    return found


def of_connections(before: Mapping[str, Cache], after: Mapping[str, Cache], connections: int) -> dict[str, int]:
    """Returns the bytes by which each cache of the table grew."""
    none = Cache(0, 0, 0)
    grown = {name: (before.get(name, none), cache) for name, cache in after.items()}
    return {
        f"{name}, {cache.object_bytes} B": cache.slab_bytes - was.slab_bytes
        for name, (was, cache) in grown.items()
        if cache.objects - was.objects >= connections / 2
    }


def rows() -> Iterator[str]:
    yield "| gateway | kernel | connections | bytes a connection | slab caches | `natxy check` counts on |"
    yield "|---|---|---:|---:|---|---:|"
    plan = plan_of(PLAN, Path("table-memory.yaml"))
    with TemporaryDirectory() as folder, Setups(plan, Path(folder) / "engine.log") as setups:
        for experiment in plan.experiments:
            setup = setups.provide(experiment)
            assert isinstance(setup.tester, EngineClient)
            with setup.gateway() as gateway:
                yield _row(experiment, setup.tester, gateway)


def _row(experiment: Experiment, engine: EngineClient, gateway: Gateway[Any]) -> str:
    connections = experiment.connections
    need = table_need(experiment, RATE_FPS)
    assert connections is not None
    assert need is not None
    gateway.clear()
    before = _read(gateway)
    result = engine.run_trial(establish_request(experiment, RATE_FPS, seed=1))
    after = _read(gateway)
    count = gateway.count() or 0
    if count < 0.99 * connections:
        raise DutError(f"{experiment.title}: {count} of {connections} connections in the table; {result.reason}")
    grown = of_connections(before, after, count)
    assumed = experiment.gateway.table_bytes(need)
    assert assumed is not None
    kernel = gateway.transport.run(["uname", "-r"]).stdout.strip()
    cells = (
        experiment.title,
        kernel,
        f"{count:,}",
        f"{sum(grown.values()) / count:.0f}",
        "; ".join(grown),
        f"{assumed / connections:.0f}",
    )
    return f"| {' | '.join(cells)} |"


def _read(gateway: Gateway[Any]) -> dict[str, Cache]:
    return caches(gateway.transport.run(["cat", "/proc/slabinfo"]).stdout)


if __name__ == "__main__":
    PAGE.write_text(put(PAGE.read_text(encoding="utf-8"), "memory", rows()), encoding="utf-8")
