# SPDX-License-Identifier: Apache-2.0
"""Measures TCP goodput by iperf3 through real gateways in a lab."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from natxy.run.run import run_plan
from tests.support import needs

# The gateway reaches these hosts through the links' next hops.
BEHIND = {"left_hosts": "198.18.1.7", "right_hosts": "198.19.1.9"}
CUSTOMER = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}

pytestmark = [
    pytest.mark.lab,
    pytest.mark.same_machine,
    needs.NAMESPACES,
    needs.programs("iperf3", "nft", "tayga"),
    needs.TUN,
]


def measure(folder: Path, **fields: Any) -> tuple[int, RunRecord]:
    procedure = {"name": "tcp-goodput", "duration": 1, "best_of": 1}
    experiment = {"name": "x", "procedure": procedure, "repeat": 1, "timing": "lab"} | fields
    plan = resolve(Plan.model_validate({"name": "p", "experiments": [experiment]}))
    code = run_plan(plan, folder / "run", RunListener())
    return code, RunReader(folder / "run").run


def namespaces() -> list[str]:
    listed = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if line.startswith(f"natxy-{os.getpid()}-")]


@pytest.mark.parametrize(
    "fields",
    [
        {"gateway": "linux-forward", "family": "ipv6", "flows": 3},
        {"gateway": "linux-forward", "addresses": BEHIND, "directions": "forward"},
        {"gateway": "nftables", "directions": "reverse"},
        {"gateway": "tayga", "translation": "siit", "directions": "forward"},
        {"gateway": "tayga", "translation": "nat46", "directions": "forward"},
        {"gateway": "tayga-netfilter", "translation": "nat64"},
        {"gateway": {"driver": "chain", "gateways": [CUSTOMER, "map-t", "map-t"]}, "directions": "forward"},
    ],
    ids=["IPv6", "behind a next hop", "NAT44", "SIIT", "NAT46", "NAT64", "MAP-T"],
)
def test_tcp_comes_through(fields: dict[str, Any], tmp_path: Path) -> None:
    code, run = measure(tmp_path, **fields)
    assert code == 0
    figures = run.experiments[0].repetitions[0].figures
    directions = {"forward": 1, "reverse": 1, "bidirectional": 2}[fields.get("directions", "bidirectional")]
    measured = [figures.get(f"goodput_{name}") for name in ("forward", "reverse")]
    assert sum(value is not None and value > 0 for value in measured) == directions
    assert figures["goodput"] == sum(value or 0 for value in measured)
    assert run.engine == {}
    assert "iperf 3" in run.testbed["left host"]
    assert any("not one of RFC 2544 or RFC 8219" in caveat.text for caveat in run.caveats)
    assert not namespaces()


def test_a_gateway_that_forwards_nothing_is_its_own_failure(tmp_path: Path) -> None:
    gateway = {"driver": "command", "apply": [["true"]], "remove": [["true"]]}
    code, run = measure(tmp_path, gateway=gateway, directions="forward")
    assert code == 4
    assert "through the gateway: unable to connect to server" in run.experiments[0].reason
    assert not namespaces()
