# SPDX-License-Identifier: Apache-2.0
"""Compares siitperf's scripts with plans of the same configuration: both measure the same gateways.

The gateways have limits that natxy did not make, so that neither of the two can be right by agreeing with the other.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.support import needs
from tests.support.siitperf_confs import conf_text
from tests.support.siitperf_labs import ScriptLab
from tests.support.siitperf_scripts import (
    Bed,
    Phase1,
    Search,
    binary_connection_rate,
    binary_rate_stateful,
)

pytestmark = [*needs.LAB, pytest.mark.long]

# In a second, each direction carries the burst and the rate: pauses of a busy machine do not decide.
RATE: Final = 1000
BURST: Final = 1000
LIMIT: Final = RATE + BURST
# As many connections pass in a second, and fewer in less time.
CONNECTIONS: Final = LIMIT

MAXIMUM, ERROR = 3600, 500
TRIED: Final = [(1800, True), (2700, False), (2250, False)]
SEARCH: Final = {"search": {"kind": "binary", "min_rate": 100, "max_rate": MAXIMUM, "error": ERROR}}

NAT44: Final = conf_text("nat44", Fwd_sport_min="10000", Fwd_sport_max="10099", Fwd_dport_min="80", Fwd_dport_max="99")


def _limiter(family: str) -> str:
    """Returns rules that make the kernel drop what exceeds a rate, in each direction, before the gateway sees it."""
    drops = "\n".join(
        f"iifname {side} meta l4proto udp limit rate over {RATE}/second burst {BURST} packets drop"
        for side in ("LEFT", "RIGHT")
    )
    return f"table {family} limiter {{ chain in {{ type filter hook prerouting priority -400;\n{drops}\n}}\n}}\n"


LIMITER: Final = _limiter("ip") + _limiter("ip6")


def _agree(what: str, script: Search, plan: float) -> None:
    """Asserts that both searches ended within their error below the limit."""
    print(f"{what}: limit {LIMIT}, script {script.best}, plan {plan:.0f}")
    assert script.tried == TRIED
    for found in (script.best, plan):
        assert LIMIT - ERROR <= found <= LIMIT


def test_nat44(tmp_path: Path) -> None:
    lab = ScriptLab(tmp_path, NAT44, "nftables", LIMITER)
    plan = lab.plan(
        throughput=SEARCH | {"connections": 100, "phase1_rate": 1000},
        connection_rate=SEARCH | {"connections": CONNECTIONS},
    )
    with lab.standing(plan) as call:
        found = binary_rate_stateful(Bed(call), MAXIMUM, ERROR, Phase1(100, 1000))
        made = binary_connection_rate(Bed(call), MAXIMUM, ERROR, Phase1(CONNECTIONS, 1000))
    throughput, connection_rate = lab.measured(plan)
    _agree("rate over connections", found, max(throughput.values))
    _agree("connection rate", made, max(connection_rate.values))
