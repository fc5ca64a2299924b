# SPDX-License-Identifier: Apache-2.0
"""Tests what is said of plans whose connections cannot have all their frames in the trial that opens them."""

from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.checks.port_sets_test import problems
from natxy.plan.model.problems import PlanProblems
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

SEARCH = {"min_rate": "1k", "max_rate": "10k", "error": "10%"}
NAT = {"driver": "nftables", "udp_timeout_s": 120}


def told(**fields: Any) -> dict[str, str]:
    """Returns the problems of an experiment on a NAT, but for that of a `rate` which its procedure does not take."""
    found = problems(**{"gateway": NAT} | fields)
    return {place: text for place, text in found.items() if place != "rate"}


def test_closing_needs_tcp() -> None:
    own = {"procedure": "tcp-connection-rate", "connections": "1k", "search": SEARCH}
    assert told(protocol="tcp", **own) == {}
    found = told(protocol="udp", **own)
    assert "tcp-connection-rate opens and closes connections of TCP; give `protocol: tcp`" in found["protocol"]


@pytest.mark.parametrize(
    ("procedure", "connections", "place", "words"),
    [
        (
            {"age": "90ms", "lifetime": "3s"},
            "100k",
            "procedure.age",
            "expected at least 100 ms: raise `age`, or lower `step`",
        ),
        (
            {"age": "10ms", "lifetime": "3s"},
            "100k",
            "procedure.age",
            "expected at least 100 ms: raise `age`, or lower `step`",
        ),
        ({"lifetime": "10s"}, "50k", "connections", "give at least 221,000 for a table in steady state"),
        ({"lifetime": "3s"}, "100k", "", ""),
        ({"lifetime": "2s"}, "100k", "procedure.lifetime", "keeps connections for longer, 3 s (udp_timeout_s)"),
        ({"lifetime": "121s"}, "3M", "procedure.lifetime", "keeps no idle connection for longer than 120 s"),
        (
            {},
            "100k",
            "procedure.lifetime",
            "the longest time for which the gateway keeps an idle UDP connection",
        ),
        ({"lifetime": "3s", "close": "reset"}, "100k", "procedure.close", "connections of UDP are not closed"),
    ],
)
def test_churn_lets_old_connections_expire(procedure: dict[str, Any], connections: str, place: str, words: str) -> None:
    gateway = {"driver": "nftables", "udp_timeout_s": 3}
    found = told(procedure={"name": "churn", **procedure}, connections=connections, search=SEARCH, gateway=gateway)
    assert ({place} if place else set()) == set(found)
    assert words in found.get(place, "")


def test_a_table_has_to_hold_the_connections_alive_at_once() -> None:
    small = {"driver": "nftables", "conntrack_max": 45_000, "udp_timeout_s": 3}
    own = {"connections": "1M", "search": SEARCH, "gateway": small}
    assert told(procedure={"name": "churn", "lifetime": "3s"}, **own) == {}
    assert "gateway.conntrack_max" in told(procedure={"name": "churn", "lifetime": "5s"}, **own)


def test_the_core_that_receives_connections_also_sends_their_replies() -> None:
    def told_of(**right: int) -> dict[str, str]:
        cores = {"left": {"send": 1, "receive": 2}, "right": right}
        given = {"driver": "nftables", "udp_timeout_s": 3}
        own = {"name": "x", "procedure": "fill", "connections": 1000, "rate": 1000, "gateway": given}
        plan = {"name": "p", "timing": "lab", "testbed": {"kind": "lab", "tester_cores": cores}, "experiments": [own]}
        try:
            resolve(Plan.model_validate(plan))
        except PlanProblems as refused:
            return {".".join(map(str, each.location)): each.message for each in refused.problems}
        return {}

    assert told_of(send=3, receive=3) == {}
    assert told_of(send=3, receive=2) == {
        "testbed.tester_cores.right": "fill needs one core that sends and receives on the right port; give `send` and "
        "`receive` the same core"
    }


@pytest.mark.parametrize(
    ("procedure", "protocol", "place", "words"),
    [
        ({"state": "closed"}, "udp", "procedure.state", "cannot be left closed; expected opened or replied or used"),
        ({"state": "closed"}, "tcp", "", ""),
        ({"longest": "1s"}, "udp", "", ""),
    ],
)
def test_connections_age_in_a_state_that_they_have(
    procedure: dict[str, Any], protocol: str, place: str, words: str
) -> None:
    found = told(procedure={"name": "ageing", **procedure}, protocol=protocol, connections="20k")
    assert ({place} if place else set()) == set(found)
    assert words in found.get(place, "")


def test_idle_times_may_be_longer_than_a_lifetime() -> None:
    short = {"driver": "nftables", "udp_timeout_s": 5}
    assert told(procedure={"name": "ageing", "longest": "1000s"}, connections="1k", gateway=short) == {}


def test_probes_are_as_frequent_as_the_engine_can_send() -> None:
    found = told(procedure={"name": "ageing", "longest": "1h"}, connections=10)
    assert found == {"connections": "10 probes in 1 h 00 min are too few; give at least 36"}


@pytest.mark.parametrize("procedure", ["connection-rate", "tcp-connection-rate"])
@pytest.mark.parametrize("takes", ["fill", {"name": "ageing", "longest": 10}])
def test_a_rate_of_new_connections_is_a_share_of_a_measured_rate(procedure: str, takes: Any) -> None:
    def told_of(protocol: str, **rate: Any) -> list[str]:
        of_tcp = {"gateway": NAT, "connections": 5000, "frame_size": 128}
        first = of_tcp | {"name": "first", "procedure": procedure, "search": SEARCH, "protocol": "tcp"}
        later = of_tcp | {"name": "later", "procedure": takes, "rate": rate, "protocol": protocol, "frame_size": 256}
        try:
            resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [first, later]}))
        except PlanProblems as refused:
            return [each.message for each in refused.problems if each.location[-1] == "experiment"]
        return []

    assert told_of("tcp", experiment="first", percent=50) == []
    assert told_of("udp", experiment="first", percent=50) == [
        "'first' has the protocol tcp, so its rate cannot be used here"
    ]
    [unknown] = told_of("tcp", experiment="none", percent=50)
    assert "no earlier connection-rate or validated-connection-rate or tcp-connection-rate experiment" in unknown


def test_an_age_of_exactly_three_steps_is_enough() -> None:
    procedure = {"name": "churn", "step": 0.05, "age": 0.15, "lifetime": "3s"}
    found = told(procedure=procedure, protocol="tcp", connections="1M", search=SEARCH)
    assert "procedure.age" not in found


def test_a_host_sends_no_more_at_once_than_a_window() -> None:
    own: dict[str, Any] = {"protocol": "tcp", "connections": "100k", "search": SEARCH, "frame_size": 1518}
    assert "procedure.response" not in told(procedure={"name": "tcp-connection-rate", "response": 32}, **own)
    jumbo = own | {"frame_size": 9000}
    found = told(procedure={"name": "tcp-connection-rate", "response": 8}, **jumbo)
    assert "give at most 7, or a smaller `frame_size`" in found["procedure.response"]
