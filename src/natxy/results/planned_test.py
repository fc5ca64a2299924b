# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from natxy.plan.model.terms import EarlyEnd
from natxy.plan.yaml.loading import load_plan
from natxy.results.planned import planned_experiment, settings_of
from tests.support.sample_runs import settings

PLANS = sorted((Path(__file__).parents[3] / "plans").rglob("*.yaml"))


@pytest.mark.parametrize("file", PLANS, ids=lambda file: file.stem)
def test_every_ready_plan_is_read_as_it_was_stored(file: Path) -> None:
    for experiment in load_plan(file).experiments:
        stored = json.loads(json.dumps(settings_of(experiment)))
        assert planned_experiment(stored) == experiment
        assert settings_of(planned_experiment(stored)) == stored


def test_fields_of_another_version_are_left_out() -> None:
    given = settings(gateway={"driver": "nftables"})
    later = given | {"colour": "red", "timing": given["timing"] | {"lunch_break": 3.5}}
    assert planned_experiment(later) == planned_experiment(given)


@pytest.mark.parametrize(("flag", "word"), [(True, EarlyEnd.LOST), (False, EarlyEnd.NEVER)])
def test_earlier_versions_said_whether_trials_ended_early(*, flag: bool, word: EarlyEnd) -> None:
    given = settings()
    earlier = given | {"timing": given["timing"] | {"ends_early": flag}}
    assert planned_experiment(earlier).timing.ends_early == word


@pytest.mark.parametrize("gateway", [{"driver": "forgotten", "speed": 3}, {"driver": "nftables", "forgotten": True}])
def test_a_gateway_of_another_version_keeps_its_settings(gateway: dict[str, Any]) -> None:
    read = planned_experiment(settings(gateway=gateway))
    assert settings_of(read)["gateway"] == gateway
    assert not read.gateway.hides_left


def test_optional_fields_may_be_missing_and_others_are_named() -> None:
    given = settings(baseline="forward", connections=1000)
    for field in ("baseline", "connections", "search"):
        del given[field]
    read = planned_experiment(given)
    assert (read.baseline, read.connections, read.search) == (None, None, None)
    del given["ttl"]
    with pytest.raises(ValueError, match=r"^ttl: missing$"):
        planned_experiment(given)


@pytest.mark.parametrize("field", ["at_least", "at_most"])
def test_an_expectation_that_is_no_quantity_of_the_headline_is_an_error(field: str) -> None:
    assert planned_experiment(settings(expect={field: "300k"})).expect
    with pytest.raises(ValueError, match="3ms"):
        planned_experiment(settings(expect={field: "3ms"}))
