# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import PlanProblems
from natxy.plan.model.thresholds import Thresholds
from natxy.plan.procedures.frame_loss_rate import FrameLossRateConfig
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.published import published_names


def plan_of(*experiments: dict[str, Any], **top: Any) -> Plan:
    complete = [{"search": {"max_rate": "1M"}} | experiment for experiment in experiments]
    return Plan.model_validate({"name": "p", "experiments": complete} | top)


FORWARDING = {"name": "forwarding", "gateway": "linux-forward", "procedure": "throughput"}
RATE = {"name": "rate", "gateway": "nftables", "procedure": "connection-rate", "connections": "50k"}
PHASE2 = {
    "name": "phase2",
    "gateway": "nftables",
    "procedure": "throughput",
    "connections": "50k",
    "phase1_rate": {"experiment": "rate", "percent": 50},
    "baseline": "forwarding",
}


def only_experiment(experiment: dict[str, Any], **top: Any) -> Experiment:
    return resolve(plan_of(experiment, **top)).experiments[0]


def problems_of(plan: Plan) -> list[tuple[str | int, ...]]:
    with pytest.raises(PlanProblems) as caught:
        resolve(plan)
    return [problem.location for problem in caught.value.problems]


def test_stateless_traffic_has_the_ports_of_rfc_4814() -> None:
    ports = only_experiment(FORWARDING).ports
    assert (ports.source.min, ports.source.max) == (1024, 65535)
    assert (ports.destination.min, ports.destination.max) == (1, 49151)


@given(st.integers(min_value=1, max_value=1_000_000_000))
def test_derived_ports_hold_the_connections_and_hardly_more(connections: int) -> None:
    experiment = only_experiment(RATE | {"connections": connections})
    destinations = experiment.ports.destination.size
    assert connections <= experiment.flow_space_size < connections + destinations


@pytest.mark.parametrize(("family", "size"), [("ipv4", 64), ("ipv6", 84)])
def test_the_smallest_frame_of_the_family_is_the_default(family: str, size: int) -> None:
    assert only_experiment(FORWARDING, family=family).frame_size == size


@pytest.mark.parametrize(
    ("gateway", "family", "left", "right"),
    [
        ("linux-forward", "ipv4", "198.18.0.1/24", "198.19.0.1/24"),
        ("nftables", "ipv4", "10.0.0.1/24", "198.19.0.1/24"),
        ("linux-forward", "ipv6", "2001:2::1/64", "2001:2:0:8000::1/64"),
        ("nftables", "ipv6", "fd00:2::1/64", "2001:2:0:8000::1/64"),
    ],
)
def test_a_nat_has_a_private_left_side(gateway: str, family: str, left: str, right: str) -> None:
    addresses = only_experiment(RATE | {"gateway": gateway} if gateway == "nftables" else FORWARDING, family=family)
    assert (str(addresses.addresses.left.dut), str(addresses.addresses.right.dut)) == (left, right)


@pytest.mark.parametrize(("family", "count"), [("ipv4", 65279), ("ipv6", 65536)])
@pytest.mark.parametrize("experiment", [FORWARDING, RATE])
def test_multiple_addresses_lie_behind_the_testers_next_hop(
    experiment: dict[str, Any], family: str, count: int
) -> None:
    addresses = only_experiment(experiment | {"addresses": "multiple"}, family=family).addresses
    for link, hosts in ((addresses.left, addresses.left_hosts), (addresses.right, addresses.right_hosts)):
        assert hosts.size == count
        assert hosts.first in link.behind[0]
        assert hosts.last in link.behind[0]
        assert hosts.first not in link.dut.network


@pytest.mark.parametrize(
    ("own", "timing", "kind"),
    [
        ({}, "lab", "mlrsearch"),
        ({}, "rfc", "binary"),
        ({"error": "100%"}, "lab", "binary"),
        ({"min_rate": "1M"}, "lab", "binary"),
    ],
)
def test_in_a_lab_no_single_trial_decides_on_a_rate_if_there_is_a_range(
    own: dict[str, Any], timing: str, kind: str
) -> None:
    search = only_experiment(FORWARDING | {"search": {"max_rate": "1M"} | own}, timing=timing).search
    assert search is not None
    assert search.kind == kind


def test_percentages_are_shares_of_the_line_rate() -> None:
    search = {"min_rate": "1%", "max_rate": "100%"}
    resolved = only_experiment(FORWARDING | {"search": search}, line_rate="1Gbps").search
    assert resolved is not None
    assert resolved.max_rate == pytest.approx(1_488_095.24)
    assert resolved.min_rate == pytest.approx(14_880.95)


@pytest.mark.parametrize(("share", "mean_frame"), [("10%", 66), ("50%", 74), ("90%", 82)])
def test_percentages_are_shares_of_what_the_line_carries_of_a_mix(share: str, mean_frame: int) -> None:
    experiment = only_experiment(FORWARDING | {"background": share, "search": {"max_rate": "50%"}}, line_rate="1Gbps")
    assert experiment.maximum_fps == pytest.approx(1e9 / 8 / (mean_frame + 20))
    assert experiment.search is not None
    assert experiment.search.max_rate == pytest.approx(1e9 / 8 / (mean_frame + 20) / 2)


@pytest.mark.parametrize(("family", "opening"), [("ipv4", 86), ("ipv6", 106)])
def test_the_line_opens_connections_of_tcp_by_segments_without_data(family: str, opening: int) -> None:
    own = {"name": "e", "gateway": "nftables", "procedure": "connection-rate", "protocol": "tcp", "connections": 1000}
    experiment = only_experiment(own | {"family": family, "frame_size": 1518}, line_rate="1Gbps")
    assert experiment.maximum_fps == pytest.approx(1e9 / 8 / (opening + 20))


def test_a_tag_takes_its_part_of_the_line() -> None:
    own = {"name": "e", "gateway": "linux-forward", "procedure": "throughput", "search": {"max_rate": "100%"}}
    ports = {side: {"interface": "a", "vlan": vlan} for side, vlan in (("left", 10), ("right", 20))}
    testbed = {"kind": "hardware", **ports, "dut": {"left": "b.10", "right": "b.20", "namespace": "dut"}}
    plan = {"name": "p", "line_rate": "1Gbps", "testbed": testbed, "experiments": [own]}
    (experiment,) = resolve(Plan.model_validate(plan)).experiments
    assert experiment.maximum_fps == pytest.approx(1e9 / 8 / (64 + 4 + 20))
    assert experiment.search
    assert experiment.search.max_rate == experiment.maximum_fps


def test_the_loss_rate_s_maximum_follows_the_frame_size_on_the_line() -> None:
    sizes = (64, 1518)
    losses = [FORWARDING | {"name": str(size), "procedure": "frame-loss-rate", "frame_size": size} for size in sizes]
    plan = Plan.model_validate({"name": "p", "line_rate": "1Gbps", "experiments": losses})
    maxima = [
        each.procedure.maximum_rate
        for each in resolve(plan).experiments
        if isinstance(each.procedure, FrameLossRateConfig)
    ]
    assert maxima == [pytest.approx(1e9 / 8 / (size + 20)) for size in sizes]
    without = plan.model_copy(update={"line_rate": None})
    assert problems_of(without) == [("experiments", number, "procedure", "maximum_rate") for number in range(2)]


def test_a_percentage_needs_a_line_rate() -> None:
    plan = plan_of(FORWARDING | {"search": {"max_rate": "50%"}})
    assert problems_of(plan) == [("experiments", 0, "search", "max_rate")]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"search": {}}, ("search", "max_rate")),
        ({"search": {"min_rate": "2M", "max_rate": "1M"}}, ("search", "min_rate")),
        ({"search": {"max_rate": "1M", "error": "2M"}}, ("search", "error")),
        ({"connections": "50k", "phase1_rate": "1k"}, ("connections",)),
        ({"phase1_rate": "1k"}, ("phase1_rate",)),
        ({"gateway": "simulated"}, ("gateway",)),
        ({"gateway": "nftables"}, ("connections",)),
        ({"baseline": "forwarding"}, ("baseline",)),
    ],
)
def test_what_contradicts_itself_is_refused(change: dict[str, Any], field: tuple[str, ...]) -> None:
    assert ("experiments", 0, *field) in problems_of(plan_of(FORWARDING | change))


def test_more_than_one_queue_of_af_xdp_is_refused() -> None:
    assert problems_of(plan_of(FORWARDING, testbed={"kind": "lab", "queues": 2})) == [("testbed", "queues")]
    assert resolve(plan_of(FORWARDING, testbed={"kind": "lab", "io": "af_packet", "queues": 2})).testbed.kind == "lab"


def test_an_overload_needs_several_flows() -> None:
    overload = {"name": "overload", "gateway": "linux-forward", "procedure": "overload"}
    assert problems_of(plan_of(overload)) == [("experiments", 0, "flows")]
    assert only_experiment(overload | {"flows": 2}).flows == 2


def test_phase_2_needs_a_phase_1_rate() -> None:
    without = {name: value for name, value in PHASE2.items() if name not in {"phase1_rate", "baseline"}}
    assert problems_of(plan_of(without)) == [("experiments", 0, "phase1_rate")]


def test_references_are_to_earlier_experiments() -> None:
    assert resolve(plan_of(FORWARDING, RATE, PHASE2)).experiments[2].baseline == "forwarding"
    assert problems_of(plan_of(PHASE2, FORWARDING, RATE)) == [
        ("experiments", 0, "phase1_rate", "experiment"),
        ("experiments", 0, "baseline"),
    ]


def test_a_ratio_between_different_frames_is_refused() -> None:
    assert problems_of(plan_of(FORWARDING, RATE, PHASE2 | {"frame_size": 512})) == [("experiments", 2, "baseline")]


def test_names_are_taken_once() -> None:
    assert problems_of(plan_of(FORWARDING, FORWARDING)) == [("experiments", 1, "name")]


def test_only_keeps_what_a_phase_1_rate_comes_from() -> None:
    plan = resolve(plan_of(FORWARDING, RATE, PHASE2), only=["phase2"])
    assert [experiment.name for experiment in plan.experiments] == ["rate", "phase2"]
    assert plan.experiments[1].baseline is None
    assert plan.absent_baselines == {"forwarding": ["phase2"]}


def test_only_names_the_thresholds_that_go_with_a_baseline() -> None:
    judged = PHASE2 | {"expect": {"ratio_at_least": "60%", "at_least": "1k"}}
    plan = resolve(plan_of(FORWARDING, RATE, judged), only=["phase2"])
    assert plan.unjudged_ratios == ["phase2"]
    assert plan.experiments[1].expect == Thresholds(at_least="1k")
    assert resolve(plan_of(FORWARDING, RATE, judged), only=["phase2", "forwarding"]).unjudged_ratios == []
    assert resolve(plan_of(FORWARDING, RATE, PHASE2), only=["phase2"]).unjudged_ratios == []


def test_only_names_what_there_is() -> None:
    with pytest.raises(PlanError, match="no experiment 'nat'; it has forwarding"):
        resolve(plan_of(FORWARDING), only=["nat"])


def test_public_destinations_need_permission() -> None:
    link = {"dut": "8.8.8.1/24", "tester": "8.8.8.2/24"}
    experiment = FORWARDING | {"addresses": {"right": link}}
    assert problems_of(plan_of(experiment)) == [("experiments", 0, "addresses", "right_hosts")]
    assert resolve(plan_of(experiment, allow_public_destinations=True)).allow_public_destinations


def test_a_plan_names_published_tables_that_there_are() -> None:
    known = published_names()[0]
    assert resolve(plan_of(FORWARDING, published=[known])).published == [known]
    with pytest.raises(ValidationError, match=f"unknown table 'no such'; expected one of {known}"):
        plan_of(FORWARDING, published=["no such"])


def test_timing_layers() -> None:
    experiment = only_experiment(FORWARDING | {"timing": {"trial": "3s"}}, timing="lab")
    assert (experiment.timing.trial, experiment.timing.drain) == (3.0, 0.1)
    assert experiment.timing.drain_ends_early
    experiment = only_experiment(FORWARDING | {"timing": "rfc"}, timing={"preset": "lab", "trial": "3s"})
    assert (experiment.timing.trial, experiment.timing.drain) == (60.0, 2.0)
    assert not experiment.timing.drain_ends_early


def test_the_longest_trial_spans_both_phases() -> None:
    timing = {"trial": "60s", "drain": "2s", "learning_pause": "1s"}
    rate, validated, phase2 = resolve(
        plan_of(
            RATE | {"search": {"min_rate": "10k", "max_rate": "1M"}, "timing": timing},
            RATE
            | {
                "name": "validated",
                "procedure": "validated-connection-rate",
                "alpha": 0.5,
                "search": {"min_rate": "10k", "max_rate": "1M"},
                "timing": timing,
            },
            {name: value for name, value in PHASE2.items() if name != "baseline"} | {"timing": timing},
        )
    ).experiments
    assert rate.longest_trial_s(None) == pytest.approx(5 + 2)
    assert validated.longest_trial_s(None) == pytest.approx(5 + 2 + 10 + 2)
    assert phase2.longest_trial_s(25_000) == pytest.approx(2 + 2 + 1 + 60 + 2)


def test_a_space_that_phase_1_cannot_enumerate_is_refused() -> None:
    ports = {"source": "1-65535", "destination": "1-65535"}
    assert problems_of(plan_of(RATE | {"addresses": "multiple", "ports": ports})) == [("experiments", 0, "connections")]


def test_openbsd_runs_on_a_machine_of_its_own() -> None:
    pf = RATE | {"gateway": "openbsd-pf"}
    assert problems_of(plan_of(pf)) == [("experiments", 0, "gateway")]
    dut = {"ssh": "root@pf.lab", "left": "em0", "right": "em1"}
    hardware = {"kind": "hardware", "left": {"interface": "a"}, "right": {"interface": "b"}, "dut": dut}
    assert resolve(plan_of(pf, testbed=hardware)).experiments[0].gateway.driver == "openbsd-pf"


@pytest.mark.parametrize(
    ("kind", "size", "most"), [("hardware", 64, 1e6), ("hardware", 9216, 10e9 / (8 * 9236)), ("lab", 9216, 1e6)]
)
def test_no_search_goes_above_the_line_unless_its_rate_is_nominal(kind: str, size: int, most: float) -> None:
    ports = {"left": {"pci": "0000:41:00.0"}, "right": {"pci": "0000:41:00.1"}}
    cabled = ports | {"dut": {"ssh": "root@dut", "left": "eth1", "right": "eth2"}}
    testbed = {"kind": kind} | (cabled if kind == "hardware" else {"io": "af_packet"})
    found = only_experiment(FORWARDING | {"frame_size": size}, testbed=testbed, line_rate="10Gbps")
    assert found.search
    assert found.search.max_rate == pytest.approx(most)


def test_a_search_that_begins_above_the_line_is_an_error() -> None:
    above = FORWARDING | {"gateway": "simulated", "search": {"min_rate": "200k", "max_rate": "1M"}, "frame_size": 9216}
    with pytest.raises(
        PlanProblems, match=r"min_rate \(200000\) must not be above max_rate \(135340, that of the line"
    ):
        only_experiment(above, testbed={"kind": "simulated"}, line_rate="10Gbps")
