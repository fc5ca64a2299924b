# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from natxy.results.analysis.contradictions import contradictions
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from tests.support.repetitions import experiment
from tests.support.sample_runs import SampleRun

PLAIN = [357e3, 350e3, 361e3, 355e3, 358e3, 349e3]
ABOVE = [441e3, 452e3, 437e3, 440e3, 443e3, 450e3]
NEAR = [441e3, 352e3, 337e3, 440e3, 443e3, 350e3]


@pytest.fixture
def empty(tmp_path: Path) -> RunRecord:
    return RunReader(SampleRun(tmp_path).end()).run


def rate(name: str, values: Sequence[float], procedure: str = "connection-rate", **more: Any) -> ExperimentRecord:
    return experiment(values, name=name, procedure=procedure, connections=50_000, **more)


def validated(values: Sequence[float], **more: Any) -> ExperimentRecord:
    return rate("validated", values, "validated-connection-rate", alpha=0.5, **more)


def found(run: RunRecord, *experiments: ExperimentRecord) -> list[tuple[str, str]]:
    numbered = [replace(each, id=number) for number, each in enumerate(experiments, 1)]
    pairs = contradictions(replace(run, experiments=numbered))
    return [(each.experiment.name, each.contained.name) for each in pairs]


def test_a_validated_rate_above_the_plain_one_is_a_contradiction(empty: RunRecord) -> None:
    assert found(empty, rate("plain", PLAIN), validated(ABOVE)) == [("validated", "plain")]


@pytest.mark.parametrize(
    "values", [PLAIN, NEAR, ABOVE[:1]], ids=["the same", "intervals that overlap", "one repetition"]
)
def test_what_may_be_true_is_none(empty: RunRecord, values: list[float]) -> None:
    assert found(empty, rate("plain", PLAIN), validated(values)) == []


def test_a_plain_rate_may_be_above_the_validated_one(empty: RunRecord) -> None:
    assert found(empty, rate("plain", ABOVE), validated(PLAIN)) == []


@pytest.mark.parametrize(
    "other",
    [{"gateway": {"driver": "nftables"}}, {"frame_size": 128}, {"cores": 2}, {"loss_tolerance": {"forward": "1%"}}],
    ids=lambda other: next(iter(other)),
)
def test_other_conditions_may_have_another_rate(empty: RunRecord, other: dict[str, Any]) -> None:
    assert found(empty, rate("plain", PLAIN), validated(ABOVE, **other)) == []
