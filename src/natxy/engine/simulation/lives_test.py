# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from natxy.engine.messages.requests import StreamSpec
from natxy.engine.simulation.lives import Lives
from natxy.plan.experiment import Experiment
from natxy.procedures.common.streams import lives_request
from natxy.procedures.truth_test import plan_of

CONNECTIONS = 500


def churn() -> Experiment:
    [experiment] = plan_of("churn", {}, phase2=False).experiments
    return experiment.model_copy(update={"connections": CONNECTIONS})


def lives(rate_fps: float = 1000.0) -> Lives:
    [found] = Lives.of(lives_request(churn(), rate_fps, 7).streams)
    return found


def test_the_steps_of_a_life_follow_its_opening() -> None:
    found = lives()
    assert found.opening.name == "phase 1"
    assert [step.name for step in found.steps] == ["reply", "later frame", "later reply"]
    assert [round(step.start_s, 6) for step in found.steps] == [0.001, 0.005, 0.006]


def test_connections_alive_at_once_are_those_of_a_life_and_a_lifetime() -> None:
    assert lives().at_once(None) == CONNECTIONS
    assert lives().at_once(0.1) == 106
    assert lives().at_once(100) == CONNECTIONS


def gone(lifetime_s: float | None) -> dict[str, int]:
    """Returns from which connection on each step finds its connections expired."""
    return {step.name: first for step, first in lives().expired(lifetime_s)}


def test_a_connection_that_is_idle_for_too_long_has_no_further_frames() -> None:
    whole = {"reply": CONNECTIONS, "later frame": CONNECTIONS, "later reply": CONNECTIONS}
    assert gone(None) == gone(0.01) == whole
    assert gone(0.002) == whole | {"later frame": 0, "later reply": 0}


@given(st.floats(0.01, 2), st.floats(10, 900))
def test_probes_find_the_connections_that_are_idle_for_longer(lifetime_s: float, probes_fps: float) -> None:
    found = lives()
    asking = found.steps[0].model_copy(update={"rate_fps": probes_fps})
    [(_, first)] = replace(found, steps=[asking]).expired(lifetime_s)
    idle_s = [_idle_s(found.opening, asking, number) for number in range(CONNECTIONS)]
    # A connection that is idle for just the lifetime may count either way.
    least, most = (sum(each <= lifetime_s + error for each in idle_s) for error in (-1e-9, 1e-9))
    assert least <= first <= most


def _idle_s(opening: StreamSpec, asking: StreamSpec, number: int) -> float:
    return asking.start_s - opening.start_s + number / asking.rate_fps - number / opening.rate_fps


def test_a_reply_without_a_connection_is_not_sent() -> None:
    found = lives()
    reply, later, _ = found.steps
    ends = found.ends_of(reply, CONNECTIONS - 10, CONNECTIONS - 10)
    assert (ends["absent"], ends["sent"]) == (10, CONNECTIONS - 10)
    assert "sent" not in found.ends_of(later, CONNECTIONS - 10, CONNECTIONS - 10)
