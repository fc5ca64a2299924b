# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.errors import PlanError
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.loading_test import REPOSITORY, errors_of, load

HEAD = """\
name: swept
testbed: {kind: simulated}
defaults:
  gateway: simulated
  search: {min_rate: 1k, max_rate: 1M, error: 1k}
experiments:
"""


def swept(*lines: str) -> str:
    """Returns a valid plan whose experiments begin in line 7."""
    return HEAD + "".join(f"  {line}\n" for line in lines)


FORWARDING = ("- name: forwarding", "  title: Forwarding", "  procedure: throughput")
RATE = ("- name: rate", "  procedure: connection-rate")


def names(plan: ResolvedPlan) -> list[str]:
    return [experiment.name for experiment in plan.experiments]


def test_a_list_makes_an_experiment_of_each_value(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*FORWARDING, "  frame_size: [64, 1518]", *RATE, "  connections: 50k"))
    assert names(plan) == ["forwarding/frame_size=64", "forwarding/frame_size=1518", "rate"]
    assert [experiment.frame_size for experiment in plan.experiments[:2]] == [64, 1518]
    assert [experiment.title for experiment in plan.experiments] == [
        "Forwarding, 64-byte frames",
        "Forwarding, 1518-byte frames",
        "rate",
    ]
    assert [(experiment.sweep, experiment.cell) for experiment in plan.experiments] == [
        ("forwarding", {"frame_size": 64}),
        ("forwarding", {"frame_size": 1518}),
        (None, {}),
    ]


def test_a_truth_value_is_named_as_yaml_writes_it(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*FORWARDING, "  timing: {drain_ends_early: [true, false]}"))
    assert names(plan) == [
        "forwarding/drain_ends_early=true",
        "forwarding/drain_ends_early=false",
    ]


def test_commands_are_no_sweep_though_another_gateway_takes_a_single_word_there(tmp_path: Path) -> None:
    documented = (REPOSITORY / "docs/reference/gateways.md").read_text()
    example = documented.partition("as the tests run it in a lab:\n\n```yaml\n")[2].partition("```")[0]
    text = swept(*RATE, "  connections: 1k", *(f"  {line}" for line in example.splitlines()))
    (experiment,) = load(tmp_path, text.replace("simulated}", "lab}").replace("  gateway: simulated\n", "")).experiments
    assert experiment.gateway.model_dump()["clear"] == [["conntrack", "-F"]]


def test_several_lists_make_the_cross_product_and_the_first_varies_slowest(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*RATE, "  connections: [10k, 40k]", "  ports: {source: [1-40000, 5000-65000]}"))
    assert [experiment.cell for experiment in plan.experiments] == [
        {"connections": 10_000, "ports.source": "1-40000"},
        {"connections": 10_000, "ports.source": "5000-65000"},
        {"connections": 40_000, "ports.source": "1-40000"},
        {"connections": 40_000, "ports.source": "5000-65000"},
    ]
    assert plan.experiments[3].name == "rate/connections=40k,source=5000-65000"
    assert plan.experiments[3].title == "rate, 40k connections, source ports 5000-65000"
    assert plan.experiments[3].ports.source.min == 5000


def test_lists_of_the_defaults_reach_who_takes_them_and_vary_fastest(tmp_path: Path) -> None:
    text = swept(*RATE, "  connections: [10k, 40k]", "- name: validated", "  procedure: validated-connection-rate")
    text = text.replace("  gateway: simulated", "  gateway: simulated\n  alpha: [0.5, 1]\n  connections: 10k")
    plan = load(tmp_path, text)
    assert [experiment.cell for experiment in plan.experiments] == [
        {"connections": 10_000},
        {"connections": 40_000},
        {"alpha": 0.5},
        {"alpha": 1},
    ]


def test_gateways_are_called_by_their_driver_and_by_what_tells_them_apart(tmp_path: Path) -> None:
    gateways = "  gateway: [simulated, {driver: simulated, forwarding_fps: [10k, 20k], clear_time: 1s}]"
    plan = load(tmp_path, swept(*FORWARDING, gateways))
    assert [experiment.cell for experiment in plan.experiments] == [
        {"gateway": "simulated"},
        {"gateway": "simulated clear_time=1s", "gateway.forwarding_fps": 10_000},
        {"gateway": "simulated clear_time=1s", "gateway.forwarding_fps": 20_000},
    ]
    assert names(plan)[2] == "forwarding/gateway=simulated-clear_time=1s,forwarding_fps=20k"


def test_procedures_and_their_settings_are_swept_too(tmp_path: Path) -> None:
    text = swept(
        "- name: rate",
        "  procedure: [connection-rate, validated-connection-rate]",
        "  connections: 10k",
        "- name: loss",
        "  procedure: {name: frame-loss-rate, maximum_rate: [100k, 200k]}",
    ).replace("  gateway: simulated", "  gateway: simulated\n  alpha: 0.25")
    plan = load(tmp_path, text)
    assert names(plan)[:2] == ["rate/procedure=connection-rate", "rate/procedure=validated-connection-rate"]
    assert [each.cell for each in plan.experiments[2:]] == [
        {"procedure.maximum_rate": 100_000},
        {"procedure.maximum_rate": 200_000},
    ]
    assert [each.alpha for each in plan.experiments[:2]] == [None, 0.25]


def test_what_is_a_list_by_nature_is_not_swept(tmp_path: Path) -> None:
    left = "{dut: 10.0.0.1/24, tester: 10.0.0.2/24, behind: [10.1.0.0/16, 10.2.0.0/16]}"
    plan = load(tmp_path, swept(*FORWARDING, f"  addresses: {{left: {left}}}"))
    assert names(plan) == ["forwarding"]
    assert len(plan.experiments[0].addresses.left.behind) == 2
    assert "plan.yaml:8:5: experiments[0].title: expected text" in errors_of(
        tmp_path, swept("- name: forwarding", "  title: [a, b]", "  procedure: throughput")
    )


@pytest.mark.parametrize(
    ("line", "position", "message"),
    [
        ("frame_size: [64, 63]", "10:22", "experiments[0].frame_size[1]: expected at least 64, got 63"),
        ("search: {error: [1k, 2M]}", "10:26", "experiments[0].search.error[1]: an error of 2e+06 is wider than"),
        ("search: {error: [1k, lots]}", "10:26", "experiments[0].search.error[1]: expected a rate such as 1.5M"),
        (
            "gateway: [simulated, {driver: simulated, clear_tim: 1}]",
            "10:46",
            "experiments[0].gateway[1].clear_tim: unk",
        ),
        ("frame_size: []", "10:5", "experiments[0].frame_size: the list is empty; give the values to sweep"),
        (
            "addresses: {pool: [198.19.4.4, 198.19.4.5]}",
            "10:17",
            "experiments[0].addresses.pool: a list would be as many experiments with one of its items each; give one",
        ),
        ("frame_size: [64, null]", "10:5", "experiments[0].frame_size: an item of the list is empty"),
        ("frame_size: [[64, 84], 512]", "10:5", "experiments[0].frame_size: a list within the list"),
        ("frame_size: [64, 84, 64]", "10:5", "experiments[0].frame_size: 64 is in the list twice"),
        (
            "gateway: [nftables, nftables]",
            "10:5",
            "experiments[0].gateway: nftables is in the list twice; remove one, or write {driver: chain, gateways:",
        ),
        ("frame_sise: [64]", "10:5", "experiments[0].frame_sise: unknown field; did you mean 'frame_size'?"),
    ],
)
def test_an_error_in_a_list_is_told_where_it_stands(tmp_path: Path, line: str, position: str, message: str) -> None:
    assert f"plan.yaml:{position}: {message}" in errors_of(tmp_path, swept(*FORWARDING, f"  {line}"))


def test_an_error_that_all_cells_have_is_told_once(tmp_path: Path) -> None:
    text = swept(*FORWARDING, "  frame_size: [64, 512]", "  ttl: 0")
    assert errors_of(tmp_path, text).count("experiments[0].ttl") == 1


def test_an_error_in_a_list_of_the_defaults_is_told_there(tmp_path: Path) -> None:
    text = swept(*FORWARDING).replace("simulated\n  search", "simulated\n  frame_size: [64, 9]\n  search")
    assert errors_of(tmp_path, text).splitlines()[1].startswith("plan.yaml:5:20: defaults.frame_size[1]: expected")


def test_a_bad_name_is_told_as_it_is_written(tmp_path: Path) -> None:
    text = swept("- name: Bad", "  procedure: throughput", "  frame_size: [64, 128]")
    assert "got 'Bad'" in errors_of(tmp_path, text)


SIZES = st.lists(st.integers(min_value=64, max_value=1518), min_size=1, max_size=3, unique=True)
COUNTS = st.lists(st.integers(min_value=1, max_value=100_000), min_size=1, max_size=3, unique=True)
ALPHAS = st.lists(st.sampled_from([0.1, 0.25, 0.5, 1.0]), min_size=1, max_size=3, unique=True)


@settings(max_examples=25, deadline=None)
@given(sizes=SIZES, connections=COUNTS, alphas=ALPHAS, own=st.permutations(["frame_size", "connections", "alpha"]))
def test_there_are_as_many_cells_as_combinations_and_the_resolved_plan_has_the_same(
    sizes: list[int], connections: list[int], alphas: list[float], own: list[str]
) -> None:
    lists: dict[str, list[Any]] = {"frame_size": sizes, "connections": connections, "alpha": alphas}
    experiment = {"name": "all", "procedure": "validated-connection-rate"} | {field: lists[field] for field in own}
    with TemporaryDirectory() as folder:
        file = Path(folder) / "plan.yaml"
        file.write_text(HEAD + f"  - {json.dumps(experiment)}\n")
        plan = load_plan(file)
        assert len(plan.experiments) == math.prod(map(len, lists.values())) == len(set(names(plan)))
        assert [[*each.cell] for each in plan.experiments] == [own] * len(plan.experiments)
        assert [*dict.fromkeys(each.cell[own[0]] for each in plan.experiments)] == lists[own[0]]
        file.write_text(plan.to_yaml())
        assert load_plan(file) == plan


ROWS = (
    *RATE,
    "  gateway: {driver: simulated, clear_time: 1s}",
    "  sweep:",
    "    - {connections: 100, ports: {source: 1-10, destination: 1-10}, gateway: {table_capacity: 200}, ttl: 9}",
    "    - {connections: 400, ports: {source: 1-20, destination: 1-20}, gateway: {table_capacity: 800}, ttl: 9}",
)


def test_fields_of_a_row_change_together(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*ROWS, "  alpha: null"))
    assert names(plan) == ["rate/connections=100", "rate/connections=400"]
    assert [experiment.title for experiment in plan.experiments] == ["rate, 100 connections", "rate, 400 connections"]
    assert [experiment.cell for experiment in plan.experiments] == [
        {"connections": 100, "ports.source": "1-10", "ports.destination": "1-10", "gateway.table_capacity": 200},
        {"connections": 400, "ports.source": "1-20", "ports.destination": "1-20", "gateway.table_capacity": 800},
    ]
    gateways = [experiment.gateway.model_dump() for experiment in plan.experiments]
    assert [(gateway["clear_time"], gateway["table_capacity"]) for gateway in gateways] == [(1, 200), (1, 800)]
    assert load(tmp_path, plan.to_yaml()) == plan


def test_rows_are_combined_with_lists_and_called_by_all_when_the_first_does_not_tell(tmp_path: Path) -> None:
    rows = "  sweep: [{ttl: 9, repeat: 2}, {ttl: 9, repeat: 3}]"
    plan = load(tmp_path, swept(*RATE, "  connections: [10, 20]", rows))
    assert names(plan) == [f"rate/connections={count},repeat={repeat}" for count in (10, 20) for repeat in (2, 3)]


def test_all_rows_have_the_same_coordinates_whatever_each_says(tmp_path: Path) -> None:
    rows = """  sweep:
    - {gateway: simulated, loss_tolerance: {reverse: 0.01%}, connections: 100}
    - {gateway: {driver: simulated, clear_time: 1s}, loss_tolerance: null}"""
    plan = load(tmp_path, swept(*RATE, "  connections: 10", rows))
    assert [each.cell for each in plan.experiments] == [
        {"gateway": "simulated", "loss_tolerance": "reverse=0.01%", "connections": 100},
        {"gateway": "simulated clear_time=1s", "loss_tolerance": "none", "connections": 10},
    ]
    assert len(set(names(plan))) == 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("connections: 400", "connections: few", "12:10: experiments[0].sweep[1].connections: expected a whole number"),
        ("table_capacity: 800", "table_size: 1", "experiments[0].sweep[1].gateway.table_size: unknown field"),
        ("1-20}, gateway", "1-2}, gateway", "12:10: experiments[0].sweep[1].connections: addresses and ports give 40 "),
    ],
)
def test_an_error_in_a_row_is_told_where_it_stands(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert message in errors_of(tmp_path, swept(*ROWS).replace(old, new))


def test_rows_are_mappings(tmp_path: Path) -> None:
    assert "plan.yaml:9:5: experiments[0].sweep: expected a list of mappings of the fields that change" in errors_of(
        tmp_path, swept(*RATE, "  sweep: [1, 2]")
    )


# --- references between sweeps


def phase2(*lines: str, share: str = "rate") -> tuple[str, ...]:
    known = f"  phase1_rate: {{experiment: {share}, percent: 50}}"
    return ("- name: phase2", "  procedure: throughput", known, *(f"  {line}" for line in lines))


def phase1_sources(plan: ResolvedPlan) -> list[str | None]:
    return [each.phase1_rate.experiment for each in plan.experiments if each.phase1_rate]


def test_a_cell_refers_to_the_cell_with_equal_coordinates(tmp_path: Path) -> None:
    rate = (*RATE, "  connections: [10k, 40_000]")
    plan = load(tmp_path, swept(*rate, *phase2("frame_size: [64, 128]", "connections: [40k, 10k]")))
    assert phase1_sources(plan) == 2 * ["rate/connections=40000", "rate/connections=10k"]


def test_a_cell_refers_to_what_is_not_swept(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*RATE, "  connections: 10k", *phase2("connections: [10k, 20k]")))
    assert phase1_sources(plan) == ["rate", "rate"]


def test_one_that_is_not_swept_refers_to_the_cell_that_is_like_it_or_is_named(tmp_path: Path) -> None:
    rate = (*RATE, "  connections: [10k, 40k]")
    assert phase1_sources(load(tmp_path, swept(*rate, *phase2("connections: 40k")))) == ["rate/connections=40k"]
    named = phase2("connections: 20k", share="rate/connections=10k")
    assert phase1_sources(load(tmp_path, swept(*rate, *named))) == ["rate/connections=10k"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "connections: 20k",
            "'rate' is swept over connections, which leaves open what is meant: sweep it here too, or",
        ),
        ("connections: [10k, 20k]", "'rate' is swept too, but has no cell with connections 20000; give both the same"),
    ],
)
def test_a_reference_that_fits_no_cell_or_several_is_refused(tmp_path: Path, line: str, message: str) -> None:
    errors = errors_of(tmp_path, swept(*RATE, "  connections: [10k, 40k]", *phase2(line)))
    assert errors.count("plan.yaml:") == 1
    assert f"plan.yaml:12:19: experiments[1].phase1_rate.experiment: {message}" in errors


def test_baselines_and_rates_are_linked_like_phase_1(tmp_path: Path) -> None:
    forwarding = (*FORWARDING, "  frame_size: [64, 128]")
    nat = ("- name: nat", "  procedure: throughput", "  frame_size: [128, 64]", "  baseline: forwarding")
    latency = ("- name: latency", "  procedure: latency", "  frame_size: [64, 128]",
               "  rate: {experiment: nat, percent: 100}")  # fmt: skip
    plan = load(tmp_path, swept(*forwarding, *nat, *latency))
    assert [each.baseline for each in plan.experiments[2:4]] == [
        "forwarding/frame_size=128",
        "forwarding/frame_size=64",
    ]
    assert [each.rate.experiment for each in plan.experiments if each.rate] == [
        "nat/frame_size=64",
        "nat/frame_size=128",
    ]


def test_only_takes_a_sweep_or_one_of_its_cells(tmp_path: Path) -> None:
    file = tmp_path / "plan.yaml"
    file.write_text(swept(*RATE, "  connections: [10k, 40k]", *phase2("connections: [10k, 40k]")))
    assert names(load_plan(file, only=["rate"])) == ["rate/connections=10k", "rate/connections=40k"]
    assert names(load_plan(file, only=["phase2/connections=40k"])) == ["rate/connections=40k", "phase2/connections=40k"]
    with pytest.raises(PlanError, match=r"no experiment 'none'; it has rate, phase2$"):
        load_plan(file, only=["none"])


def test_a_single_row_sweeps_nothing(tmp_path: Path) -> None:
    [experiment] = load(tmp_path, swept(*FORWARDING, "  sweep: [{ttl: 7}]")).experiments
    assert (experiment.name, experiment.ttl, experiment.sweep, experiment.cell) == ("forwarding", 7, None, {})


def test_ports_are_named_by_one_number_or_two(tmp_path: Path) -> None:
    plan = load(tmp_path, swept(*FORWARDING, "  ports: {source: [7, 1-10, {min: 5, max: 5}]}"))
    assert [experiment.cell["ports.source"] for experiment in plan.experiments] == [7, "1-10", 5]
