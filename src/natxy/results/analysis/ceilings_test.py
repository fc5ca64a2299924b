# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.events.listener import RunListener
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.procedures.truth_test import plan_of
from natxy.results.analysis.ceilings import ceiling_fps, ceiling_share
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.selftest import Ceiling, SelfTest, TesterIdentity, Variant, Work, save, state_folder, stored
from natxy.run.run import run_plan
from tests.support.sample_runs import quickstart, replanned

TESTER = TesterIdentity(host="vm", processor="EPYC", ports="veth", driver="net_af_xdp", queues=1, workers=1)


def ceiling(size: int, variant: Variant, rate_fps: float, family: Family = Family.IPV4) -> Ceiling:
    return Ceiling(
        family=family, frame_size=size, variant=variant, both_ways=True, rate_fps=rate_fps, open=False, repeats=2
    )


FOUND = SelfTest(
    tester=TESTER,
    measured_at="2026-11-22T04:00:00.000+00:00",
    natxy_version="0.1.0",
    kernel="6.18",
    ceilings=[
        ceiling(64, Variant.FIXED, 600_000),
        ceiling(64, Variant.PORTS, 550_000),
        ceiling(64, Variant.ADDRESSES, 500_000),
        ceiling(512, Variant.ADDRESSES, 400_000),
        ceiling(1518, Variant.ADDRESSES, 300_000),
        ceiling(84, Variant.PORTS, 520_000, Family.IPV6),
    ],
    receive_fps=1e6,
    receive_limited=False,
    least_delay_ns=490,
    pacing=[],
)


@pytest.fixture
def experiment(tmp_path: Path) -> ExperimentRecord:
    """Throughput of about 400 k both ways, 64 bytes of IPv4, random ports."""
    found = RunReader(quickstart(tmp_path)).run.experiments[0]
    assert found.planned.directions == Directions.BIDIRECTIONAL
    return found


def of(experiment: ExperimentRecord, **over: Any) -> float | None:
    share = ceiling_share(replanned(experiment, **over), FOUND)
    return share.ceiling_fps if share else None


def test_a_ceiling_is_that_of_such_traffic(experiment: ExperimentRecord) -> None:
    one_port = {"source": {"min": 7, "max": 7}, "destination": {"min": 9, "max": 9}}
    hosts = {"first": "10.0.1.0", "last": "10.0.255.254", "low_bit": 0}
    assert of(experiment) == 550_000
    assert of(experiment, ports=one_port) == 600_000
    addresses = experiment.planned.addresses.model_dump(mode="json")
    assert of(experiment, addresses=addresses | {"left_hosts": hosts, "right_hosts": hosts}) == 500_000


def test_between_two_sizes_the_lower_ceiling_counts(experiment: ExperimentRecord) -> None:
    assert of(experiment, frame_size=512) == 400_000
    assert of(experiment, frame_size=300) == 400_000
    assert of(experiment, frame_size=1024) == 300_000
    assert of(experiment, frame_size=9000) == 300_000


def test_a_mix_has_about_the_ceiling_of_its_mean_size(experiment: ExperimentRecord) -> None:
    assert of(experiment, mix="imix", frame_size=1518) == 400_000


def test_a_translation_needs_the_frames_of_both_families(experiment: ExperimentRecord) -> None:
    assert of(experiment, translation={"kind": "nat64", "prefix": "64:ff9b::/96", "pool": "198.19.0.0/24"}) == 520_000


def test_traffic_that_was_not_tried_has_no_ceiling(experiment: ExperimentRecord) -> None:
    assert of(experiment, directions="forward") is None
    assert ceiling_share(experiment, None) is None


def limit(work: Work, rate_fps: float, *, both_ways: bool = False) -> Ceiling:
    update = {"work": work, "connections": 1000, "both_ways": both_ways}
    return ceiling(64, Variant.ADDRESSES, rate_fps).model_copy(update=update)


OF_QUERIES = ceiling(116, Variant.PORTS, 220_000, Family.IPV6).model_copy(update={"work": Work.QUERIES})
WITH_CONNECTIONS = [
    *FOUND.ceilings,
    limit(Work.TRAFFIC, 700_000),
    limit(Work.PHASE1, 300_000),
    limit(Work.VALIDATED, 200_000),
    limit(Work.PHASE2, 260_000),
    limit(Work.PHASE2, 240_000, both_ways=True),
]


@pytest.mark.parametrize(
    ("work", "over", "expected"),
    [
        ("nat44-rate", {}, 300_000),
        # The validation is slower than phase 1, until α makes it the faster one.
        ("nat44-validated", {"alpha": 1}, 200_000),
        ("nat44-validated", {"alpha": 0.8}, 250_000),
        ("nat44-validated", {"alpha": 0.5}, 300_000),
        ("nat44", {}, 240_000),
        ("nat44", {"directions": "reverse"}, 260_000),
        ("nat44", {"connections": None}, 550_000),
        # Emptying a table is no work of the tester.
        ("nat44-rate", {"procedure": "tear-down-rate", "search": None}, None),
    ],
)
def test_connections_have_ceilings_of_their_own(
    tmp_path: Path, work: str, over: dict[str, Any], expected: float | None
) -> None:
    measured = next(each for each in RunReader(quickstart(tmp_path)).run.experiments if each.name == work)
    found = FOUND.model_copy(update={"ceilings": WITH_CONNECTIONS})
    planned = replanned(measured, **over).planned
    assert ceiling_fps(planned, found) == expected
    # Without a self-test over connections, their ceiling is unknown.
    assert ceiling_fps(planned, FOUND) == (550_000 if "connections" in over else None)


def test_frames_larger_than_those_of_connections_have_the_ceiling_of_frames(tmp_path: Path) -> None:
    rate = RunReader(quickstart(tmp_path)).run.experiments[1]
    slow = ceiling(1518, Variant.ADDRESSES, 90_000).model_copy(update={"both_ways": False})
    found = FOUND.model_copy(update={"ceilings": [*WITH_CONNECTIONS, slow]})
    assert ceiling_fps(replanned(rate, frame_size=1518).planned, found) == 90_000


def test_a_result_near_the_ceiling_is_doubtful(experiment: ExperimentRecord) -> None:
    share = ceiling_share(experiment, FOUND)
    assert share is not None
    assert experiment.statistics is not None
    assert share.share == experiment.statistics.median / 550_000
    slow = FOUND.model_copy(update={"ceilings": [ceiling(64, Variant.PORTS, experiment.statistics.median * 1.24)]})
    fast = FOUND.model_copy(update={"ceilings": [ceiling(64, Variant.PORTS, experiment.statistics.median * 1.26)]})
    assert [ceiling_share(experiment, each).doubtful for each in (slow, fast)] == [True, False]  # type: ignore[union-attr]


def test_a_self_test_is_kept_for_its_tester(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert stored(TESTER) is None
    file = save(FOUND)
    assert file == tmp_path / "natxy" / "selftest" / "vm_veth_net_af_xdp_1q_1w.json"
    assert stored(TESTER) == FOUND
    # Another machine of the same name, a share of whose state folder this may be.
    assert stored(TESTER.model_copy(update={"processor": "Xeon"})) is None
    file.write_text("{}")
    assert stored(TESTER) is None


def test_a_relative_state_folder_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "state")
    assert state_folder() == Path.home() / ".local" / "state" / "natxy" / "selftest"


@pytest.mark.parametrize(("answered", "doubtful"), [(2.19, True), (2.21, False)])
def test_a_server_is_trusted_up_to_a_rate_that_is_220_percent_lower(
    tmp_path: Path, answered: float, doubtful: bool
) -> None:
    """RFC 8219 §9.2.1. The ceilings of frames say nothing about queries."""
    plan = plan_of("dns64-rate", {}, phase2=False)
    assert run_plan(plan, tmp_path, RunListener()) == 0
    [measured] = RunReader(tmp_path).run.experiments
    assert measured.statistics
    assert ceiling_share(measured, FOUND) is None
    limit = OF_QUERIES.model_copy(update={"rate_fps": answered * measured.statistics.median})
    share = ceiling_share(measured, FOUND.model_copy(update={"ceilings": [*FOUND.ceilings, limit]}))
    assert share is not None
    assert share.share == pytest.approx(1 / answered)
    assert share.doubtful is doubtful
