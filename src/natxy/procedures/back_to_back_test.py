# SPDX-License-Identifier: Apache-2.0
"""Back-to-back frames in virtual time: the measured buffer is the model's."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from natxy.engine.messages.results import Verdict
from natxy.plan.model.problems import PlanProblems
from natxy.plan.procedures.back_to_back import BackToBackConfig
from natxy.plan.resolve import resolve
from natxy.procedures.caveats import caveats_of_plan
from natxy.procedures.common.traffic_test import figures, measure, plan_of
from natxy.procedures.registry import procedure_of


def back_to_back(rate: float, **own: Any) -> dict[str, Any]:
    return {"name": "b2b", "procedure": {"name": "back-to-back"} | own, "rate": rate}


@settings(max_examples=40, deadline=None)
@given(
    maximum=st.integers(10_000, 2_000_000),
    share=st.floats(0.05, 0.95),
    buffer=st.integers(2, 20_000),
    directions=st.sampled_from(["bidirectional", "forward"]),
)
def test_the_buffer_is_the_models(maximum: int, share: float, buffer: int, directions: str) -> None:
    """Both directions share the model's buffer and its forwarding rate."""
    streams = 2 if directions == "bidirectional" else 1
    throughput = maximum * share
    # No buffer holds a longer burst than 20,000 / 0.05 frames.
    plan = back_to_back(throughput, maximum_rate=maximum, longest_burst=10**6) | {"directions": directions}
    found = figures(measure(plan, forwarding_fps=throughput * streams, buffer_frames=buffer), "b2b")
    buffered = buffer / streams
    assert found["burst"] == pytest.approx(buffered / (1 - share), abs=1.001)
    assert found["implied_buffer"] == pytest.approx(buffered / (1 - share) / maximum, abs=1.001 / maximum)
    # One frame more or less of the burst: so much of it had to be buffered.
    assert found["corrected_buffer"] == pytest.approx(buffered / maximum, abs=1.001 / maximum)


def test_a_burst_that_lost_frames_is_verified() -> None:
    plan = back_to_back(40_000, maximum_rate="100k", longest_burst=8, loss_verification=2)
    run = measure(plan, forwarding_fps=80_000, buffer_frames=4)
    trials = run.experiments[0].repetitions[0].trials
    # A burst of n leaves 2n · 0.6 for the buffer: 3 are kept, 4 are not.
    assert figures(run, "b2b")["burst"] == 3
    sent = [(trial.planned // 2, trial.verdict) for trial in trials]
    lost = [(4, Verdict.FAIL)] * 3
    assert sent == [*lost, (2, Verdict.PASS), (3, Verdict.PASS)]
    assert [trial.number for trial in trials] == [1, 2, 3, 4, 5]


def test_a_throughput_at_the_maximum_has_no_longest_burst() -> None:
    run = measure(back_to_back(100_000, maximum_rate=100_000), code=4)
    repetition = run.experiments[0].repetitions[0]
    assert (repetition.value, repetition.trials) == (None, [])
    assert "RFC 9004 §6.1" in repetition.reason


def test_the_longest_burst_tried_is_at_least_the_result() -> None:
    run = measure(back_to_back(100_000, maximum_rate="200k", longest_burst=100), buffer_frames=10**6)
    assert run.experiments[0].is_only_a_lower_bound
    assert run.experiments[0].values == [100]


def test_all_bursts_together_are_expected_to_last_as_long_as_the_longest() -> None:
    own = back_to_back(100_000, maximum_rate="200k", longest_burst="300k", loss_verification=1, error=1000)
    timing = {"drain": "3s", "drain_ends_early": False}
    [experiment] = resolve(plan_of(own | {"timing": timing})).experiments
    procedure = procedure_of(experiment)
    steps = procedure.expected_steps(experiment)
    assert steps == 2 * 9
    # 1.5 s at the highest rate.
    assert procedure.expected_step_s(experiment, None) == pytest.approx(3 + 1.5 / steps)
    own |= {"gateway": {"driver": "simulated"}, "connections": 5000, "phase1_rate": 1000}
    [with_phase1] = resolve(plan_of(own | {"timing": timing | {"learning_pause": 0}})).experiments
    before = procedure.expected_step_s(with_phase1, 1000) - procedure.expected_step_s(experiment, None)
    assert before == pytest.approx(5 + 3, abs=0.01)


def test_bursts_with_background_are_whole_turns() -> None:
    plan = back_to_back(100_000, maximum_rate="200k", longest_burst=105) | {"background": "10%"}
    run = measure(plan, buffer_frames=10**6)
    assert run.experiments[0].values == [100]
    shorter = plan | {"procedure": plan["procedure"] | {"longest_burst": 9}}
    assert measure(shorter, buffer_frames=10**6).experiments[0].values == [10]


def test_the_maximum_is_given_or_that_of_the_line_rate() -> None:
    with pytest.raises(PlanProblems, match="missing; back-to-back needs the highest rate"):
        resolve(plan_of(back_to_back(10_000)))
    on_a_line = plan_of(back_to_back(10_000)).model_copy(update={"line_rate": 1e9})
    plan = resolve(on_a_line)
    procedure = plan.experiments[0].procedure
    assert isinstance(procedure, BackToBackConfig)
    assert procedure.maximum_fps == pytest.approx(1e9 / 8 / 84)
    assert plan.experiments[0].traffic_s == pytest.approx(2, abs=1e-6)
    assert "asks for at least 50 times" in " ".join(each.text for each in caveats_of_plan(plan))
