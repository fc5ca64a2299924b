# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest

from natxy.engine.messages.results import SourceSpread, StreamResult, TrialResult, Verdict
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.faults.astray import astray, check_translated

CONNECTIONS: dict[str, Any] = {"connections": 1000, "phase1_rate": "1k"}


def planned(**own: Any) -> Experiment:
    given = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "9k"}} | own
    [experiment] = resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [given]})).experiments
    return experiment


def said(verdict: Verdict, *misrouted: int, **own: Any) -> str:
    counts: list[dict[str, Any]] = [{"misrouted": count} for count in misrouted]
    streams = [StreamResult.model_construct(**count) for count in counts]
    trial: dict[str, Any] = {"verdict": verdict, "streams": streams}
    return astray(planned(**own), TrialResult.model_construct(**trial))


@pytest.mark.parametrize(
    ("own", "how"),
    [
        ({"gateway": "tayga", "translation": "siit"}, "untranslated, or with other addresses, ports or another family"),
        ({"gateway": "nftables"} | CONNECTIONS, "untranslated, or with other addresses or ports than those of their "),
        (
            {"gateway": {"driver": "nftables", "nat": False}} | CONNECTIONS,
            "with other addresses or ports than those of",
        ),
        ({}, "to the wrong port, or with an address family that was not sent"),
    ],
)
def test_the_reason_counts_them_apart(own: dict[str, Any], how: str) -> None:
    assert said(Verdict.FAIL, 1000, 234, **own).startswith(f"1,234 frames came through {how}")


def test_nothing_is_said_of_none_nor_of_trials_that_did_not_fail() -> None:
    assert said(Verdict.FAIL, 0, 0) == ""
    assert said(Verdict.PASS, 1, 0) == ""
    assert said(Verdict.INVALID, 1, 0) == ""


def test_nothing_is_said_of_connections_that_had_not_arrived() -> None:
    counts: dict[str, Any] = {"misrouted": 9, "absent": 9}
    trial: dict[str, Any] = {"verdict": Verdict.FAIL, "streams": [StreamResult.model_construct(**counts)]}
    assert astray(planned(), TrialResult.model_construct(**trial)) == ""


def arrived_with(*sources: str) -> TrialResult:
    """Returns a phase 1 whose connections arrived with addresses from the first to the last source, or from none."""
    spread: dict[str, Any] = {"sources": None}
    if sources:
        spread["sources"] = SourceSpread(
            connections=1000, addresses=2, fewest=1, most=999, lowest=ip_address(sources[0]),
            highest=ip_address(sources[-1]),
        )  # fmt: skip
    return TrialResult.model_construct(**spread)


@pytest.mark.parametrize("highest", [None, "198.19.0.1"])
def test_connections_that_kept_their_addresses_are_no_nats(highest: str | None) -> None:
    hidden = planned(gateway="nftables", **CONNECTIONS)
    own = str(hidden.addresses.left_hosts.first)
    kept = (own, highest or own)
    with pytest.raises(DutError, match=f"came through untranslated, .* such as {own}: check that the gateway's rule"):
        check_translated(hidden, arrived_with(*kept))


@pytest.mark.parametrize("own", [{"gateway": "nftables"}, {"gateway": {"driver": "nftables", "nat": False}}])
def test_public_addresses_are_right_and_so_are_those_that_nothing_hides(own: dict[str, Any]) -> None:
    experiment = planned(**own, **CONNECTIONS)
    first = str(experiment.addresses.left_hosts.first)
    source = "198.19.0.1" if experiment.gateway.hides_left else first
    check_translated(experiment, arrived_with(source, source))
    check_translated(experiment, arrived_with())


@pytest.mark.parametrize("source", ["8.8.8.8", "203.0.113.9"])
def test_replies_never_go_to_a_public_address_that_the_plan_does_not_name(source: str) -> None:
    experiment = planned(gateway="nftables", **CONNECTIONS)
    with pytest.raises(DutError, match=rf"come from {source}, a public address, to which replies would go \(RFC 6815"):
        check_translated(experiment, arrived_with(source, source))


@pytest.mark.parametrize("source", ["198.19.0.9", "10.1.2.3", "192.168.7.7"])
def test_other_addresses_of_benchmarks_and_private_ones_are_answered(source: str) -> None:
    check_translated(planned(gateway="nftables", **CONNECTIONS), arrived_with(source, source))
