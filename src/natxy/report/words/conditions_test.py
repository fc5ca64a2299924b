# SPDX-License-Identifier: Apache-2.0
"""Tests what a report states about the four-tuples of each direction."""

from __future__ import annotations

from pathlib import Path

import pytest

from natxy.report.words.conditions import conditions
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from tests.support.sample_runs import quickstart, replanned


@pytest.fixture
def experiment(tmp_path: Path) -> ExperimentRecord:
    """A throughput both ways with random ports, without connections."""
    return RunReader(quickstart(tmp_path)).run.experiments[0]


def test_directions_that_are_alike_are_stated_once(experiment: ExperimentRecord) -> None:
    stated = conditions(experiment)
    assert stated["Source ports"] == "64,512 (1024–65535)"
    assert stated["Four-tuples"] == "picked at random (RFC 4814)"


def test_the_initiator_s_order_is_stated_where_it_is_its_own(experiment: ExperimentRecord) -> None:
    own = replanned(experiment, connections=100, orders={"initiator": "increasing"})
    assert conditions(own)["Four-tuples"].endswith("state table pseudorandom, initiator increasing")
    same = replanned(experiment, connections=100, orders={"initiator": "pseudorandom"})
    assert conditions(same)["Four-tuples"] == "each once, pseudorandom"


def test_a_drawn_phase_1_states_how_many_connections_to_expect(experiment: ExperimentRecord) -> None:
    ports = {"source": "1-1000", "destination": 80}
    own = replanned(experiment, connections=1000, ports=ports, phase1_selection="random")
    assert conditions(own)["Four-tuples"] == "drawn at random, about 632 different ones, pseudorandom"


def test_connections_in_use_are_stated(experiment: ExperimentRecord) -> None:
    label = "Connections used in phase 2"
    own = replanned(experiment, connections=1000, active_connections={"forward": 1000, "reverse": 1})
    assert (conditions(own)[label], conditions(experiment)[label]) == ("1,000 forward, 1 in reverse", "–")


def test_each_direction_has_ports_and_orders_of_its_own(experiment: ExperimentRecord) -> None:
    ports = {"source": "1-9", "destination": 80, "reverse": {"source": 53, "destination": 80}}
    orders = {"reverse": {"source_port": "increasing"}}
    stated = conditions(replanned(experiment, ports=ports, orders=orders))
    assert stated["Source ports"] == "9 (1–9); from right to left 1 (53)"
    assert stated["Destination ports"] == "1 (80)"
    assert stated["Four-tuples"] == (
        "picked at random (RFC 4814); from right to left each field on its own; source address pseudorandom, "
        "destination address pseudorandom, source port increasing, destination port pseudorandom"
    )
