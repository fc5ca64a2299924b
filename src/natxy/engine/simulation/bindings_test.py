# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.simulation.bindings import SimulatedBindings
from natxy.engine.simulation.losses import Outage
from natxy.procedures.binding_churn_test import experiment_of, groups_of
from natxy.procedures.common.streams import traffic_request

RATE_FPS = 1000.0


def outages(bindings: SimulatedBindings, side: Side) -> dict[str, list[Outage]]:
    """Returns when each group of a direction does not pass."""
    experiment = experiment_of({}, recovery="1s")
    [whole] = [each for each in traffic_request(experiment, RATE_FPS, 1).streams if each.source == side]
    found: list[StreamSpec] = groups_of(experiment).streams(whole)
    return {each.name.split()[-1]: [*bindings.outages(each)] for each in found}


def groups() -> tuple[SubscriberRange, SubscriberRange]:
    found = groups_of(experiment_of({}))
    return found.old, found.new


@pytest.mark.parametrize("side", Side)
def test_a_group_passes_while_it_has_bindings(side: Side) -> None:
    old, new = groups()
    bindings = SimulatedBindings()
    bindings.change([new], 5.0, 0.5, 0.5)
    bindings.begin_trial()
    bindings.change([old], 1.0, 0.25, 0.0)
    silent = Outage(1.0, 1.0)
    assert outages(bindings, side) == {
        "old": [silent, Outage(1.25, 2.0)],
        "unchanged": [silent],
        "new": [silent, Outage(0.0, 1.25)],
    }


def test_nothing_passes_in_the_outage_of_a_change() -> None:
    bindings = SimulatedBindings()
    bindings.change([], 1.0, 0.0, 0.5)
    assert outages(bindings, Side.LEFT) == {name: [Outage(1.0, 1.5)] for name in ("old", "unchanged", "new")}
