# SPDX-License-Identifier: Apache-2.0
"""The tester is too slow in these runs: that neither ends them nor counts against the gateway."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from natxy.results.analysis.ceilings_test import FOUND, TESTER, ceiling
from natxy.results.records import RunState, State
from natxy.results.selftest import Variant
from natxy.run.run_test import FORWARDING, PHASE2, RATE, SEARCH, VALIDATED, measure


def test_the_testers_limit_ends_an_experiment_but_not_the_run(tmp_path: Path) -> None:
    slow = FORWARDING | {"name": "slow", "search": {"min_rate": "1k", "max_rate": "50k", "error": 500}}
    halved = FORWARDING | {"search": {"kind": "binary", "min_rate": "200k", "max_rate": "1M", "error": 500}}
    code, run = measure(
        tmp_path / "run", halved, slow, gateway={"forwarding_fps": 60_000}, testbed={"tester_limit": "100k"}
    )
    assert code == 3
    assert run.state == RunState.DONE
    forwarding, bounded = run.experiments
    assert (forwarding.state, forwarding.values) == (State.TESTER_LIMIT, [])
    assert forwarding.reason == (
        "tester limit reached in traffic at 200 kfps per direction: 3 attempts, all invalid; "
        "the last: forward: the simulated tester sends at most 100000 fps"
    )
    assert forwarding.repetitions[0].reason == forwarding.reason
    assert [trial.step_rate for trial in forwarding.repetitions[0].trials[-3:]] == [200_000] * 3
    assert bounded.state == State.DONE
    assert bounded.values == [pytest.approx(30_000, abs=510)] * 2


@pytest.mark.parametrize(
    ("experiment", "trial"),
    [
        (PHASE2 | {"phase1_rate": "150k", "baseline": None}, "phase 1 at 150 kcps"),
        (VALIDATED | {"search": {"min_rate": "100k", "max_rate": "100k", "error": 500}}, "phase 1 at 100 kcps"),
    ],
)
def test_the_testers_limit_names_the_trial_it_failed_in(tmp_path: Path, experiment: dict[str, Any], trial: str) -> None:
    _, run = measure(tmp_path / "run", experiment, testbed={"tester_limit": "99k"})
    assert run.experiments[0].reason.startswith(f"tester limit reached in {trial}: 3 attempts")
    # A lower rate of the search would need the same phase 1.
    assert len(run.experiments[0].repetitions[0].trials) == 3


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_a_gateway_faster_than_the_tester_has_a_lower_bound(tmp_path: Path, kind: str) -> None:
    search = SEARCH | {"kind": kind}
    code, run = measure(
        tmp_path / "run", FORWARDING | {"search": search}, RATE | {"search": search}, testbed={"tester_limit": "100k"}
    )
    assert code == 0
    for experiment, unit in zip(run.experiments, ("kfps per direction", "kcps"), strict=True):
        assert experiment.values == [pytest.approx(100_000, abs=1010)] * 2
        assert {repetition.upper_bound for repetition in experiment.repetitions} == {None}
        assert re.fullmatch(rf"at least this: the tester could not send 10[01][.\d]* {unit}", experiment.reason)


def test_a_search_below_the_testers_limit_says_where_that_is(tmp_path: Path) -> None:
    search = SEARCH | {"kind": "binary"}
    _, run = measure(tmp_path / "run", FORWARDING | {"search": search}, testbed={"tester_limit": "400k"})
    (experiment,) = run.experiments
    assert experiment.values == [pytest.approx(250_000, abs=502)] * 2
    assert experiment.reason == (
        "the tester could not send 500.5 kfps per direction, and the search continued at lower rates"
    )


@pytest.mark.parametrize("kind", ["binary", "mlrsearch"])
def test_a_search_begins_below_the_ceiling_of_the_self_test(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    known = FOUND.model_copy(update={"ceilings": [ceiling(64, Variant.PORTS, 350_000)]})
    monkeypatch.setattr("natxy.run.run.which_tester", lambda _: TESTER)
    monkeypatch.setattr("natxy.run.run.stored", lambda _: known)
    _, run = measure(
        tmp_path / "run", FORWARDING | {"search": SEARCH | {"kind": kind}}, testbed={"tester_limit": "360k"}
    )
    (experiment,) = run.experiments
    assert experiment.values == [pytest.approx(250_000, abs=502)] * 2
    assert not experiment.reason
    assert max(trial.step_rate for _, _, trial in experiment.all_trials) <= 350_001


# In blocks, the second repetition in a row at the limit says that there will be no rate.
@pytest.mark.parametrize(("order", "skipped"), [("experiments", 1), ("blocks", 2)])
def test_an_experiment_without_its_phase_1_rate_is_skipped(tmp_path: Path, order: str, skipped: int) -> None:
    code, run = measure(
        tmp_path / "run", FORWARDING, RATE, PHASE2, testbed={"tester_limit": 900}, order=order, repeat=4
    )
    assert code == 3
    assert run.experiments[2].state == State.SKIPPED
    assert [repetition.state for repetition in run.experiments[2].repetitions] == [State.SKIPPED] * skipped
    assert run.experiments[2].reason.endswith("'rate', which has no result: the tester's limit was reached")


def test_a_slow_tester_is_not_blamed_on_the_gateway(tmp_path: Path) -> None:
    beyond = FORWARDING | {"search": SEARCH | {"min_rate": "300k"}}
    never_prepared = PHASE2 | {"phase1_rate": "100k", "baseline": None}
    full, too_slow = {"table_capacity": 19_999}, {"tester_limit": "200k"}
    code, run = measure(tmp_path / "run", beyond, never_prepared, gateway=full, testbed=too_slow)
    assert [experiment.state for experiment in run.experiments] == [State.TESTER_LIMIT, State.NO_RESULT]
    assert code == 3
