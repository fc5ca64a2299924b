# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.causes.causes import explain
from natxy.engine.messages.results import SourceSpread
from natxy.results.dut_counts import DutCounts
from natxy.results.trials import TrialKind
from tests.support.failed_trials import FOUR_HOSTS, ONE_HOST, connections, experiment, record, stream


def test_a_bounded_search_for_a_port() -> None:
    # At the highest rate the queue of the core was full, too.
    lost = {60_000: (6920, 927), 25_903: (1532, 1532), 11_183: (1517, 1517), 5000: (1541, 1541)}
    trials = [connections(rate, 63_800, *_refused(*each)) for rate, each in lost.items()]
    assert explain(experiment(63_800), trials) == (
        "2.42 % of the connections are lost at every rate from 5 kcps to 25.9 kcps, so the loss does not depend on the "
        "rate: netfilter gives up its search for a free port after some hundreds of tries (insert_failed rose by 1,541 "
        "in `conntrack -S`): 63,800 connections to 1 destination need 98.9 % of the 64,512 ports that 1 public address "
        "has; give the gateway more public addresses (`addresses.pool`), more destinations (`right_hosts`, destination "
        "ports), or ask for fewer `connections`"
    )


def _refused(lost: int, refused: int) -> tuple[int, dict[str, int]]:
    return lost, {"insert_failed": refused, "drop": refused}


def test_a_search_for_a_port_that_begins_where_ports_are_taken() -> None:
    trials = [connections(rate, 40_000, *_refused(lost, lost)) for rate, lost in ((40_000, 30), (5000, 39), (5000, 45))]
    found = explain(experiment(40_000, addresses=FOUR_HOSTS), trials)
    assert "(insert_failed rose by 39 in `conntrack -S`): 40,000 connections to 1 destination need 62 % of the" in found
    assert "4 hosts want the same ones, so that those taken lie side by side; spread the source ports" in found


def test_connections_that_collide_although_there_are_ports() -> None:
    trials = [connections(rate, 20_000, *_refused(300, 300)) for rate in (1000, 8000)]
    found = explain(experiment(20_000), trials)
    assert "because others had the same addresses and ports (insert_failed rose by 300" in found


def _spread(connections: int, endpoints: int, lowest: int, highest: int, addresses: int = 1) -> SourceSpread:
    return SourceSpread(
        connections=connections, addresses=addresses, fewest=connections // addresses, most=connections // addresses,
        endpoints=endpoints, lowest_port=lowest, highest_port=highest,
    )  # fmt: skip


def _destinations(number: int) -> dict[str, Any]:
    return ONE_HOST | {"right_hosts": {"first": "198.19.1.0", "last": f"198.19.1.{number - 1}"}}


def _with_sources(spread: SourceSpread, planned: int, refused: bool = False, **own: Any) -> str:
    lost = planned - spread.connections
    counts = DutCounts(rose={"conntrack -S": {"insert_failed": lost}}) if refused else None
    trials = [
        record(rate, stream("phase 1", planned, lost, rate), kind=TrialKind.PHASE1, sources=spread, counts=counts)
        for rate in (5000, 20_000)
    ]
    return explain(experiment(planned, **own), trials)


def test_ports_that_are_not_used_again_for_another_destination() -> None:
    found = _with_sources(_spread(64_512, 64_512, 1024, 65535), 100_000, addresses=_destinations(2))
    assert found.endswith(
        ": the connections have 64,512 of the ports 1024 to 65535 of 1 public address, each a port of its own, "
        "although they lead to 2 destinations: the gateway does not use a port again for another destination; give it "
        "more public addresses (`addresses.pool`), or ask for fewer `connections`"
    )


@pytest.mark.parametrize(
    ("spread", "own"),
    [
        # Half of the ports are used for both destinations.
        (_spread(64_512, 32_256, 1024, 65_535), {"addresses": _destinations(2)}),
        # The plan's own source ports, which the gateway keeps.
        (
            _spread(4000, 4000, 10_000, 13_999),
            {"ports": {"source": "10000-13999", "destination": 7}, "addresses": _destinations(10)},
        ),
        (_spread(10_000, 10_000, 1024, 65_535), {}),
    ],
)
def test_ports_that_are_not_used_up_are_no_cause(spread: SourceSpread, own: dict[str, Any]) -> None:
    found = _with_sources(spread, 40_000 if spread.connections < 40_000 else 100_000, **own)
    assert "connections and no more" in found
    assert "of the ports" not in found


def test_ports_that_are_split_among_workers() -> None:
    found = _with_sources(_spread(16_127, 16_127, 17_152, 33_278), 40_000, refused=True)
    assert found.endswith(
        ": the connections have 16,127 of the ports 17152 to 33278 of 1 public address (insert_failed rose by 23,873 "
        "in `conntrack -S`), which are one of 4 equal parts of its ports: the gateway's rule gives no others, or each "
        "of 4 workers or subscribers has a part, and all connections fall to one of them; give the rule more ports, "
        "spread the connections over more hosts (`left_hosts`), run the gateway with fewer workers, or ask for fewer "
        "`connections`"
    )


def test_ports_of_a_set_whatever_the_rate() -> None:
    trials = [connections(rate, 48, *_refused(32, 32)) for rate in (20_000, 5000, 1000, 1000)]
    assert explain(experiment(48), trials) == (
        "66.7 % of the connections are lost at every rate from 1 kcps to 20 kcps, so the loss does not depend on the "
        "rate: 16 connections to 1 destination get a port, and all others none (insert_failed rose by 32 in `conntrack "
        "-S`): the gateway has 16 ports for a destination; give its rule or port set more ports, let its other ranges "
        "be used too, or ask for fewer `connections` or more destinations (`right_hosts`, destination ports)"
    )


@pytest.mark.parametrize(("refused", "full"), [(True, ""), (False, ", or its table is full with as many")])
def test_a_range_of_ports_that_is_no_part_of_all(refused: bool, full: str) -> None:
    # The other one is as large as a part, and begins elsewhere.
    for spread in (_spread(10_000, 10_000, 20_000, 29_999), _spread(4001, 4001, 2000, 6000)):
        found = _with_sources(spread, 40_000, refused)
        assert f": the gateway's rule or port set gives no others{full}; give it more ports" in found
