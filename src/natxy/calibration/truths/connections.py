# SPDX-License-Identifier: Apache-2.0
"""Truths about connections: the rates at which they are made and deleted, and the number that a table holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from natxy.calibration.case import Case, Expected, exactly, within
from natxy.calibration.scale import Scale
from natxy.plan.frames.forms import Protocol
from natxy.plan.gateways.limits import TablePolicy
from natxy.plan.model.units import Unit, format_duration
from natxy.plan.procedures.lives import ChurnConfig

CAPACITY: Final = 3000
CLEAR_S: Final = 0.02
TEAR_DOWN_S: Final = 0.5
LIFETIME_S: Final = 2.0
CLOSED_S: Final = 0.5

# A command to the gateway is timed by the program that sends it.
COMMAND_S: Final = 0.01
_WHY_COMMAND: Final = f"two commands are timed from outside, to {format_duration(COMMAND_S)}"

_POLICIES: Final = {
    TablePolicy.KEEP: "refuse new connections",
    TablePolicy.LRU: "replace the oldest ones",
    TablePolicy.EARLY_DROP: "replace those without a reply",
    TablePolicy.COLLAPSE: "collapse",
}


def connection_rate(scale: Scale) -> Iterator[Case]:
    yield _connecting("connection-rate", "Connections", scale)


def validated_connection_rate(scale: Scale) -> Iterator[Case]:
    yield _connecting("validated-connection-rate", "Validated connections", scale)


def tear_down_rate(scale: Scale) -> Iterator[Case]:
    net_s = TEAR_DOWN_S
    rate_cps = scale.connections / net_s
    share = COMMAND_S / net_s
    yield Case(
        "tear-down-rate", "Deleting connections", {"mode": "nat", "tear_down_rate": rate_cps, "clear_time": CLEAR_S},
        {"procedure": "tear-down-rate", "connections": scale.connections, "phase1_rate": scale.connections_cps},
        {
            "rate": within(rate_cps, rate_cps * share / (1 - share), _WHY_COMMAND),
            "net": within(net_s, COMMAND_S, _WHY_COMMAND),
        },
    )  # fmt: skip


def table_capacity(scale: Scale) -> Iterator[Case]:
    rate_cps = scale.connections_cps
    for policy in TablePolicy:
        yield Case(
            f"table-capacity-{policy}", f"Table that, if full, would {_POLICIES[policy]}",
            {"mode": "nat", "table_capacity": CAPACITY, "table_policy": policy.value},
            {
                # The gateway is as fast with many connections as with few, so lower rates need not be tried.
                "procedure": {
                    "name": "table-capacity", "initial_connections": 1000, "max_connections": 20_000,
                    "beta": 0.9, "gamma": 0.9,
                },
                "search": {"min_rate": rate_cps / 2, "max_rate": rate_cps, "error": rate_cps / 2},
            },
            {"capacity": exactly(CAPACITY)},
        )  # fmt: skip


def tcp_connection_rate(scale: Scale) -> Iterator[Case]:
    yield _connecting("tcp-connection-rate", "TCP connections opened, used and closed", scale, protocol="tcp")


def churn(scale: Scale) -> Iterator[Case]:
    """Connections live so briefly that few are enough for a table in steady state at the search's highest rate."""
    lives = ChurnConfig(step=0.02, age=0.1, lifetime=0.2)
    assert lives.lifetime is not None
    enough = 2 * lives.most_at_once(2**32, scale.search(scale.connections_cps)["max_rate"], Protocol.UDP)
    longer = replace(scale, connections=max(scale.connections, enough))
    case = _connecting("churn", "Connections that come and go", longer, lifetime=lives.lifetime)
    procedure: dict[str, object] = {"name": lives.name, **lives.model_dump(exclude_unset=True)}
    yield replace(case, experiment={**case.experiment, "procedure": procedure})


def ageing(scale: Scale) -> Iterator[Case]:
    """A lifetime is known to within the time between two probes."""
    longest_s, connections = 2 * LIFETIME_S, 200
    apart_s = longest_s / connections
    for name, title, lifetime_s, tried in (
        ("ageing", "Idle connections", LIFETIME_S, {"procedure": {"name": "ageing", "longest": longest_s}}),
        (
            "ageing-closed", "Idle connections of TCP that both sides closed", CLOSED_S,
            {"procedure": {"name": "ageing", "state": "closed", "longest": longest_s}, "protocol": "tcp"},
        ),
    ):  # fmt: skip
        yield Case(
            name, title, {"mode": "nat", "lifetime": LIFETIME_S, "closed_lifetime": CLOSED_S},
            {"connections": connections, "rate": scale.connections_cps, **tried},
            {"lifetime": within(lifetime_s, apart_s, f"probes are {format_duration(apart_s)} apart")},
        )  # fmt: skip


def fill(scale: Scale) -> Iterator[Case]:
    connections = 2 * CAPACITY
    yield Case(
        "fill", "Connections beyond a table's capacity", {"mode": "nat", "table_capacity": CAPACITY},
        {"procedure": "fill", "connections": connections, "rate": scale.connections_cps},
        {"refused": exactly(connections - CAPACITY), "refused_from": exactly(100 * CAPACITY / connections)},
    )  # fmt: skip


def port_set(scale: Scale) -> Iterator[Case]:
    """The gateway keeps the ports of the host, of which 1,024 are in the set and a quarter as many are not."""
    ports = {"psid": 32, "psid_length": 6, "offset": 0}
    sources, outside, destinations = 1280, 256, 4
    tried = {
        "procedure": {"name": "port-set", "port_set": ports, "destinations": destinations},
        "ports": {"source": f"32768-{32768 + sources - 1}", "destination": f"7-{7 + destinations - 1}"},
        "rate": scale.connections_cps,
    }
    yield Case(
        "port-set", "Ports of a set, and others", {"mode": "nat"}, tried,
        {
            "connections": exactly(sources), "several": exactly(destinations * sources), "ports": exactly(100),
            "ranges": exactly(100), "outside": exactly((1 + destinations) * outside),
        },
    )  # fmt: skip
    few = 500
    yield Case(
        "port-set-few", "Fewer connections than ports", {"mode": "nat", "table_capacity": few}, tried,
        {"connections": exactly(few), "several": exactly(few)},
    )  # fmt: skip


def _connecting(procedure: str, title: str, scale: Scale, *, lifetime: float | None = None, **tried: object) -> Case:
    """Returns a search on a gateway that establishes the scale's connections per second; `tried` has further fields of
    the experiment."""
    rate_cps = scale.connections_cps
    gateway = {"mode": "nat", "connection_rate": rate_cps, "connection_burst": scale.buffer(rate_cps)}
    return Case(
        procedure, title, gateway if lifetime is None else gateway | {"lifetime": lifetime},
        {"procedure": procedure, "connections": scale.connections, "search": scale.search(rate_cps), **tried},
        {"rate": _highest_connection_rate(scale)},
    )  # fmt: skip


def _highest_connection_rate(scale: Scale) -> Expected:
    """Returns the highest rate of a phase 1 without loss: the buffer holds the connections that arrive too fast."""
    rate_cps, connections = scale.connections_cps, scale.connections
    truth = rate_cps * connections / (connections - scale.buffer(rate_cps))
    late_cps = truth * (rate_cps * scale.late_s + 1) / connections
    width = rate_cps * scale.width
    return Expected(truth, scale.why_rate(Unit.CPS, width), width + late_cps, late_cps)
