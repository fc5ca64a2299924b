# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.caveats import Caveat, CaveatKind, departure, limitation, own_rule
from natxy.plan.resolve import resolve
from natxy.plan.resolve_test import FORWARDING, PHASE2, RATE, plan_of
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.procedures.caveats import caveats_of_plan


def texts(plan: ResolvedPlan) -> list[str]:
    return [caveat.text for caveat in caveats_of_plan(plan)]


def test_a_plan_to_the_letter_has_no_caveats() -> None:
    to_the_letter = FORWARDING | {"gateway": "simulated"}
    assert caveats_of_plan(resolve(plan_of(to_the_letter, testbed={"kind": "simulated"}))) == []


def test_a_router_in_a_lab_deviates_in_neighbours_and_networks() -> None:
    [networks] = texts(resolve(plan_of(FORWARDING)))
    neighbours, *_ = texts(resolve(plan_of(FORWARDING, timing="lab")))
    assert "RFC 2544 §23 sends learning frames before each trial" in neighbours
    assert "RFC 2544 §12 asks for a second run with random destinations in 256 networks" in networks
    assert not any("256 networks" in sentence for sentence in texts(resolve(plan_of(RATE))))
    second = FORWARDING | {"name": "second-run", "addresses": {"networks": 256}}
    both = texts(resolve(plan_of(FORWARDING, second)))
    assert not any("256 networks" in sentence for sentence in both)


def test_fields_that_count_in_stateless_traffic_are_caveats() -> None:
    counting = FORWARDING | {"orders": {"source_port": "increasing", "source_address": "decreasing"}}
    assert any(
        "source ports are in counting order; RFC 4814 §4" in sentence for sentence in texts(resolve(plan_of(counting)))
    )


def test_short_trials_of_connection_rates_are_caveats() -> None:
    long = RATE | {"search": {"max_rate": "50k"}, "connections": "50k"}
    assert not any("lasts as long as" in sentence for sentence in texts(resolve(plan_of(long))))
    rate = RATE | {"connections": "100k"}
    assert any(
        "100,000 at the search's highest rate, 1 Mcps, are 100 ms. So short a trial may show what" in sentence
        for sentence in texts(resolve(plan_of(rate)))
    )
    assert any(
        "are 100 ms, 1 % of which is the 1 ms that the last frame may be late. So short" in sentence
        for sentence in texts(resolve(plan_of(rate, timing="lab")))
    )


@pytest.mark.parametrize(
    ("own", "tried"),
    [({"masquerades": True}, True), ({}, False), ({"count": ["cat", "/n"]}, None), ({"stateful": False}, None)],
)
def test_a_table_that_cannot_be_counted_is_a_gap(own: dict[str, Any], tried: bool | None) -> None:
    gateway = {"driver": "command", "stateful": True} | own
    gateway |= {"clear": [["true"]]} if gateway["stateful"] else {}
    phase1 = RATE if gateway["stateful"] else FORWARDING
    found = caveats_of_plan(resolve(plan_of(phase1 | {"gateway": gateway})))
    gaps = [caveat.text for caveat in found if caveat.kind is CaveatKind.GAP]
    assert len(gaps) == (tried is not None)
    for sentence in gaps:
        assert "table of the gateway `command` is never checked to be empty before a trial" in sentence
        assert ("tried once in each experiment" in sentence) is tried


def test_a_pause_after_phase_1_has_no_length_in_the_rfcs() -> None:
    def named(experiment: dict[str, Any]) -> bool:
        timing = {"learning_pause": "1s"}
        return any("RFC 2544 §23 asks for 2 s" in each for each in texts(resolve(plan_of(experiment, timing=timing))))

    assert named(FORWARDING)
    assert not named(RATE)


def test_connections_that_may_be_missing_are_a_departure() -> None:
    own = FORWARDING | {"gateway": "nftables", "connections": "50k", "phase1_rate": "1k", "phase1_loss": 2}
    assert (
        "forwarding: phase 1 may leave out up to 2 of the 50,000 connections, and phase 2 uses the others; RFC 9693 "
        "§4.2 makes all of them."
    ) in texts(resolve(plan_of(own)))


def test_addresses_that_are_resolved_once_are_a_caveat() -> None:
    def once(timing: object) -> bool:
        sentences = texts(resolve(plan_of(FORWARDING, timing=timing)))
        return any(sentence.startswith("Neighbours are resolved once") for sentence in sentences)

    assert once("lab")
    assert once({"preset": "rfc", "learning_frames": False})
    assert not once("rfc")
    assert not once({"preset": "lab", "learning_frames": True})


def test_a_drain_that_ends_early_is_a_caveat() -> None:
    def early(timing: object) -> bool:
        sentences = texts(resolve(plan_of(FORWARDING, timing=timing)))
        return any("ends as soon as every frame has arrived" in sentence for sentence in sentences)

    assert early("lab")
    assert early({"preset": "rfc", "drain_ends_early": True})
    assert not early("rfc")
    assert not early({"preset": "lab", "drain_ends_early": False})


def test_shorter_trials_and_few_repetitions_are_caveats() -> None:
    sentences = " ".join(texts(resolve(plan_of(FORWARDING, timing="lab", repeat=3))))
    assert "RFC 2544 §24 asks for at least 60 s" in sentences
    assert "measured 3 times" in sentences


def test_the_line_rate_of_a_lab_is_called_nominal() -> None:
    def nominal(testbed: str) -> list[str]:
        gateway = "simulated" if testbed == "simulated" else "linux-forward"
        plan = plan_of(FORWARDING | {"gateway": gateway}, testbed={"kind": testbed}, line_rate="1 Gbps")
        return [sentence for sentence in texts(resolve(plan)) if "nominal" in sentence]

    assert nominal("lab") == [
        "The line rate of 1 Gbit/s is nominal: a lab's links are software, so that more than the theoretical maximum "
        "can pass."
    ]
    assert nominal("simulated") == []


def test_a_baseline_that_is_not_selected_is_reported_last() -> None:
    plan = resolve(plan_of(FORWARDING, RATE, PHASE2), only=["phase2"])
    assert texts(plan)[-1].startswith("phase2: the plan compares with forwarding, which `--only` leaves out")


def test_a_threshold_that_goes_with_its_baseline_is_reported() -> None:
    judged = PHASE2 | {"expect": {"ratio_at_least": "60%"}}
    plan = resolve(plan_of(FORWARDING, RATE, judged), only=["phase2"])
    assert texts(plan)[-1].startswith("phase2: the ratio is not judged")


SIMULATED: dict[str, Any] = {"testbed": {"kind": "simulated"}}


def simulated(*experiments: dict[str, Any], **top: Any) -> list[Caveat]:
    """Returns the caveats of experiments on the simulated testbed, which has none itself."""
    own = [experiment | {"gateway": "simulated"} for experiment in experiments]
    return caveats_of_plan(resolve(plan_of(*own, **SIMULATED, **top)))


@pytest.mark.parametrize(
    ("timing", "expected"),
    [
        ({"trial": "60s"}, None),
        ({"trial": "59s"}, departure("The traffic of a trial lasts 59 s; RFC 2544 §24 asks for at least 60 s.")),
        ({"drain": "2s"}, None),
        ({"drain": "1.9s"}, departure("The wait for residual frames is 1.9 s; RFC 2544 §23 asks for 2 s.")),
        ({"settle": "4s"}, departure("The rest between trials is 4 s; RFC 2544 §23 asks for at least 5 s.")),
        (
            {"learning_pause": "1s"},
            departure("The pause between learning and the traffic is 1 s; RFC 2544 §23 asks for 2 s."),
        ),
        ({"overrun_floor": 0}, None),
        (
            {"overrun_floor": "1ms"},
            own_rule(
                "A trial whose last frame is up to 1 ms late counts as valid, even if that is more than "
                "0.001 % of its duration."
            ),
        ),
        ({"max_pause": "1ms"}, None),
        (
            {"max_pause": "1.1ms"},
            own_rule(
                "Loss counts against the gateway although "
                "bursts after pauses of the tester's core of up to 1.1 ms could "
                "explain it."
            ),
        ),
        (
            {"max_backlog": "5%"},
            own_rule(
                "A trial of a search for a rate fails if its last frame is delayed by more than 5 % of "
                "its traffic's length (at least 5 ms), because the gateway's queue would hide loss from a short trial."
            ),
        ),
    ],
)
def test_times_that_are_not_the_rfcs_are_told(timing: dict[str, Any], expected: Caveat | None) -> None:
    assert simulated(FORWARDING, timing=timing) == ([expected] if expected else [])


def test_trials_as_long_as_their_connections_have_no_length_to_deviate_in() -> None:
    rate = RATE | {"connections": "60M", "search": {"max_rate": "1M"}}
    assert simulated(rate, timing={"trial": "1s"}) == [
        limitation("Connections are UDP, and results need not carry over to TCP.")
    ]


def test_two_limits_of_tcp_name_their_experiments() -> None:
    tcp = {"protocol": "tcp", "frame_size": 128}
    lives = RATE | tcp | {"name": "lives", "title": "Whole", "procedure": "tcp-connection-rate", "connections": "1M"}
    both = [each.text for each in simulated(RATE | tcp | {"title": "Handshakes"}, lives)]
    assert any(text.startswith("Handshakes: All connections take a step") for text in both)
    assert any(text.startswith("Whole: The segments of a connection follow") for text in both)
    assert any(text.startswith("The segments of a connection follow") for text in (e.text for e in simulated(lives)))


GOAL = "(MLRsearch's goal exceed ratio); RFC 2544 §26.1 allows no loss."


@pytest.mark.parametrize(
    ("experiment", "goal", "expected"),
    [
        (FORWARDING, "strict", []),
        (FORWARDING, {"initial_trial": "60s", "final_trial": "60s", "trials": 2}, []),
        (
            FORWARDING,
            {"initial_trial": "59s", "final_trial": "59s", "trials": 2},
            [departure("The trials that decide on a rate last 59 s; RFC 2544 §24 asks for at least 60 s.")],
        ),
        (
            FORWARDING,
            {"exceed_ratio": 0.25},
            [departure(f"A rate passes although trials with up to 25 % of its trial time lose frames {GOAL}")],
        ),
        (
            RATE | {"connections": "60M"},
            "robust",
            [
                departure(f"A rate passes although up to 50 % of its 5 trials lose frames {GOAL}"),
                limitation("Connections are UDP, and results need not carry over to TCP."),
            ],
        ),
    ],
)
def test_a_goal_that_tolerates_what_the_rfcs_do_not(
    experiment: dict[str, Any], goal: Any, expected: list[Caveat]
) -> None:
    search = {"kind": "mlrsearch", "max_rate": "1M", "goal": goal}
    assert simulated(experiment | {"search": search}) == expected


def test_a_tolerated_loss_names_its_experiments_and_a_sweep_once() -> None:
    tolerant = FORWARDING | {"loss_tolerance": "0.01%"}
    cells = [
        tolerant | {"name": f"sizes-{size}", "sweep": "sizes", "cell": {"frame_size": size}, "frame_size": size}
        for size in (64, 1518)
    ]
    assert simulated(tolerant | {"name": "mine", "title": "Mine"}, *cells) == [
        departure(
            "Mine; sizes: trials pass with up to 0.01 % of their frames lost, so that the result is not a throughput "
            "as the RFCs define it; RFC 2544 §26.1 and RFC 9693 §4.5 allow no loss."
        )
    ]


def test_a_frame_timeout_names_its_experiment() -> None:
    own = FORWARDING | {"title": "Mine", "procedure": {"name": "throughput", "frame_timeout": "500us"}}
    assert simulated(own) == [
        departure(
            "Mine: a frame that arrives more than 0.5 ms after it was sent counts as lost; RFC 2544 §26 has no "
            "such limit."
        )
    ]


@pytest.mark.parametrize("field", ["source_address", "destination_address", "source_port", "destination_port"])
def test_only_fields_that_vary_can_count(field: str) -> None:
    many = FORWARDING | {"addresses": "multiple", "orders": {field: "increasing"}}
    words = field.replace("address", "addresses").replace("port", "ports").replace("_", " ")
    assert simulated(many) == [
        departure(f"forwarding: {words} are in counting order; RFC 4814 §4 asks for pseudorandom order.")
    ]
    one = FORWARDING | {"ports": {"source": 7, "destination": 8}, "orders": {field: "increasing"}}
    assert simulated(one) == []


def test_two_values_can_count_already() -> None:
    two = FORWARDING | {"ports": {"source": "7-8", "destination": 8}, "orders": {"source_port": "increasing"}}
    assert simulated(two) == [
        departure("forwarding: source ports are in counting order; RFC 4814 §4 asks for pseudorandom order.")
    ]


@pytest.mark.parametrize(
    ("directions", "where"), [("bidirectional", " from right to left"), ("reverse", ""), ("forward", None)]
)
def test_the_directions_have_orders_of_their_own(directions: str, where: str | None) -> None:
    own = FORWARDING | {"orders": {"reverse": {"source_port": "increasing"}}, "directions": directions}
    sentence = f"forwarding: source ports are in counting order{where}; RFC 4814 §4 asks for pseudorandom order."
    assert simulated(own) == ([] if where is None else [departure(sentence)])


def test_a_phase_1_that_draws_is_a_caveat() -> None:
    own = RATE | {"connections": 1000, "ports": {"source": "1-1000", "destination": 7}, "phase1_selection": "random"}
    text = "rate: phase 1 draws its four-tuples at random, so that its 1,000 frames make about 632 connections; RFC"
    assert any(text in each.text for each in simulated(own))


def test_connections_that_phase_2_leaves_out_are_a_caveat() -> None:
    own = PHASE2 | {"phase1_rate": "10k", "baseline": None, "active_connections": {"reverse": 1}}
    text = "phase 2 uses all forward, 1 in reverse of the 50,000 connections; RFC 9693 §4.7 uses all of them."
    assert departure(f"phase2: {text}") in simulated(own)


def test_a_loop_measures_the_tester() -> None:
    wire = FORWARDING | {"gateway": "wire"}
    found = caveats_of_plan(resolve(plan_of(wire, testbed={"kind": "loop"}, timing="lab")))
    assert found == [limitation("There is no gateway: what is measured is the tester itself.")]


def test_a_sentence_is_there_once_and_a_sweep_has_its_shortest_trials() -> None:
    cells = [
        RATE
        | {"name": f"rate/connections={count}", "sweep": "rate", "cell": {"connections": count}, "connections": count}
        for count in (300_000, 200_000, 400_000)
    ]
    short = [caveat for caveat in simulated(*cells) if "lasts as long as" in caveat.text]
    assert short == [
        limitation(
            "A connection rate trial lasts as long as its connections take: 200,000 at the search's highest rate, 1 "
            "Mcps, are 200 ms. So short a trial may show what the gateway's queues hold, and not what it keeps up."
        )
    ]


def test_the_connections_of_all_pairs_make_a_trial_longer() -> None:
    [sentence] = [
        each.text for each in simulated(RATE | {"connections": 200_000, "pairs": 2}) if "lasts as long as" in each.text
    ]
    assert "400,000 at the search's highest rate, 1 Mcps, are 400 ms" in sentence


def test_another_number_of_networks_than_256_is_a_caveat() -> None:
    def few(networks: int) -> bool:
        second = FORWARDING | {"name": "second", "addresses": {"networks": networks}}
        return any("fewer than 256 destination networks" in each for each in texts(resolve(plan_of(second))))

    assert few(128)
    assert not few(256)
    assert not few(512)
