# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.plan.resolve import resolve
from natxy.plan.resolve_test import FORWARDING, PHASE2, RATE, plan_of
from natxy.procedures.deviations import deviations


def test_a_plan_to_the_letter_has_no_deviations() -> None:
    to_the_letter = FORWARDING | {"gateway": "simulated"}
    assert deviations(resolve(plan_of(to_the_letter, testbed={"kind": "simulated"}))) == []


def test_a_router_in_a_lab_deviates_in_neighbours_and_networks() -> None:
    neighbours, networks = deviations(resolve(plan_of(FORWARDING)))
    assert "RFC 2544 §23 sends learning frames before each trial" in neighbours
    assert "RFC 2544 §12 asks for a second run with random destinations in 256 networks" in networks
    assert not any("256 networks" in sentence for sentence in deviations(resolve(plan_of(RATE))))
    second = FORWARDING | {"name": "second-run", "addresses": {"networks": 256}}
    both = deviations(resolve(plan_of(FORWARDING, second)))
    assert not any("256 networks" in sentence for sentence in both)


def test_fields_that_count_in_stateless_traffic_are_deviations() -> None:
    counting = FORWARDING | {"orders": {"source_port": "increasing", "source_address": "decreasing"}}
    assert any(
        "source ports are in counting order; RFC 4814 §4" in sentence
        for sentence in deviations(resolve(plan_of(counting)))
    )


def test_short_trials_of_connection_rates_are_deviations() -> None:
    long = RATE | {"search": {"max_rate": "50k"}, "connections": "3M"}
    assert not any("lasts as long as" in sentence for sentence in deviations(resolve(plan_of(long))))
    rate = RATE | {"connections": "100k"}
    assert any(
        "100,000 at the search's highest rate, 1 Mcps, are 100 ms; RFC 2544 §24 asks for at least 60 s" in sentence
        for sentence in deviations(resolve(plan_of(rate)))
    )
    assert any(
        "are 100 ms, 1 % of which is the 1 ms that the last frame may be late; RFC 2544 §24" in sentence
        for sentence in deviations(resolve(plan_of(rate, timing="lab")))
    )


def test_a_drain_that_ends_early_is_a_deviation() -> None:
    def early(timing: object) -> bool:
        sentences = deviations(resolve(plan_of(FORWARDING, timing=timing)))
        return any("ends as soon as every frame has arrived" in sentence for sentence in sentences)

    assert early("lab")
    assert early({"preset": "rfc", "drain_ends_early": True})
    assert not early("rfc")
    assert not early({"preset": "lab", "drain_ends_early": False})


def test_shorter_trials_and_few_repetitions_are_deviations() -> None:
    sentences = " ".join(deviations(resolve(plan_of(FORWARDING, timing="lab", repeat=3))))
    assert "RFC 2544 §24 asks for at least 60 s" in sentences
    assert "measured 3 times" in sentences


def test_the_line_rate_of_a_lab_is_called_nominal() -> None:
    def nominal(testbed: str) -> list[str]:
        gateway = "simulated" if testbed == "simulated" else "linux-forward"
        plan = plan_of(FORWARDING | {"gateway": gateway}, testbed={"kind": testbed}, line_rate="1 Gbps")
        return [sentence for sentence in deviations(resolve(plan)) if "nominal" in sentence]

    assert nominal("lab") == [
        "The line rate of 1 Gbit/s is nominal: a lab's links are software, so that more than the theoretical maximum "
        "can pass."
    ]
    assert nominal("simulated") == []


def test_a_baseline_that_is_not_selected_is_reported_last() -> None:
    plan = resolve(plan_of(FORWARDING, RATE, PHASE2), only=["phase2"])
    assert deviations(plan)[-1].startswith("phase2: the plan compares with forwarding, which `--only` leaves out")


def test_a_threshold_that_goes_with_its_baseline_is_reported() -> None:
    judged = PHASE2 | {"expect": {"ratio_at_least": "60%"}}
    plan = resolve(plan_of(FORWARDING, RATE, judged), only=["phase2"])
    assert deviations(plan)[-1].startswith("phase2: `ratio_at_least` is not judged")
