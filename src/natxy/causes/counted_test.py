# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.causes.counted import counted, outcome_or_counters, refused
from natxy.engine.messages.results import Cause, StreamResult, TrialResult, Verdict
from natxy.results.dut_counts import DutCounts
from natxy.results.dut_load import CoreLoad, DutLoad, InterfaceLoad
from tests.support.failed_trials import record, stream

INSERT_FAILED = "insert_failed rose by 1,498 in `conntrack -S`"


def trial(*lost: int, verdict: Verdict = Verdict.FAIL, unsent: int = 0) -> TrialResult:
    counts: list[dict[str, Any]] = [{"lost": each, "unsent": unsent, "timed_out": 0} for each in lost]
    streams = [StreamResult.model_construct(**each) for each in counts]
    given: dict[str, Any] = {"verdict": verdict, "cause": Cause.LOSS, "streams": streams}
    return TrialResult.model_construct(**given)


def table(**rose: int) -> DutCounts:
    return DutCounts(rose={"conntrack -S": rose})


def load(queue: int = 0, card: int = 0) -> DutLoad:
    core = CoreLoad(
        core=1, busy_s=1, user_s=0, system_s=0, softirq_s=0, irq_s=0, steal_s=0, idle_s=0, dropped=queue
    )  # fmt: skip
    lost = {"rx_missed_errors": card} if card else {}
    return DutLoad(elapsed_s=1, cores=(core,), interfaces=(InterfaceLoad(name="eth1", received=0, sent=0, lost=lost),))


@pytest.mark.parametrize("rose", [{"insert_failed": 1498}, {"insert_failed": 1498, "drop": 1498, "search_restart": 9}])
def test_the_counter_that_moved_as_much_as_is_missing_is_named(rose: dict[str, int]) -> None:
    assert counted(trial(1498), None, table(**rose)) == INSERT_FAILED


def test_the_loss_of_one_direction_may_be_what_was_counted() -> None:
    assert counted(trial(1498, 20_000), None, table(insert_failed=1498)) == INSERT_FAILED


def test_a_counter_need_not_be_exact_but_near() -> None:
    assert counted(trial(1500), None, table(insert_failed=1498)) == INSERT_FAILED
    assert counted(trial(2000), None, table(insert_failed=1498)) == ""
    assert counted(trial(1000), None, table(insert_failed=1498)) == ""


def test_few_frames_have_to_be_exactly_as_many() -> None:
    assert counted(trial(4), None, table(drop=4)) == "drop rose by 4 in `conntrack -S`"
    assert counted(trial(4), None, table(drop=5)) == ""


def test_what_was_not_sent_is_not_missing() -> None:
    assert counted(trial(1598, unsent=100, verdict=Verdict.INVALID), None, table(insert_failed=1498)) == INSERT_FAILED


def test_two_counters_together_may_be_as_many_as_missing() -> None:
    # The interface counts what the core's queue has dropped.
    told = counted(trial(6920), load(queue=5993, card=5993), table(insert_failed=927, drop=927))
    assert told == (
        "insert_failed rose by 927 in `conntrack -S` and `dropped` of the cores' queues rose by 5,993 in "
        "`cat /proc/net/softnet_stat`"
    )


def test_a_loss_that_two_commands_count_is_named_once() -> None:
    told = counted(trial(300), load(queue=300, card=300), DutCounts())
    assert told == "`dropped` of the cores' queues rose by 300 in `cat /proc/net/softnet_stat`"


def test_where_the_tester_was_late_no_counter_is_named() -> None:
    late = trial(1498, verdict=Verdict.INVALID).model_copy(update={"cause": Cause.LATE})
    assert counted(late, None, table(insert_failed=1498)) == ""


def test_a_card_that_missed_frames_is_named() -> None:
    told = "rx_missed_errors rose by 300 in `ip -s -s link show eth1`"
    assert counted(trial(150, 150), load(card=300), DutCounts()) == told


@pytest.mark.parametrize(
    ("result", "counts"),
    [
        (trial(0), table(insert_failed=3)),
        (trial(10, verdict=Verdict.PASS), table(insert_failed=10)),
        (trial(1000), DutCounts(rose={"nstat": {"IpInReceives": 1000, "IpOutTransmits": 1000}})),
        (trial(1000), table(search_restart=1000, early_drop=1000, clash_resolve=1000)),
        (trial(1000), None),
    ],
)
def test_otherwise_no_counter_is_named(result: TrialResult, counts: DutCounts | None) -> None:
    assert counted(result, None, counts) == ""


@pytest.mark.parametrize(
    ("result", "counts", "expected"),
    [
        (trial(1498), table(insert_failed=1498), True),
        (trial(749, 749), table(insert_failed=1500), True),
        (trial(1498), table(insert_failed=1497), False),
        # The counter has counted other frames.
        (trial(1498), table(insert_failed=5000), False),
        # A queue may be full because the tester sent a burst.
        (trial(1498), DutCounts(rose={"ethtool -S eth1": {"rx_missed_errors": 1498}}), False),
        (trial(1498, unsent=1), table(insert_failed=1498), False),
        (trial(0), table(insert_failed=2), False),
        (trial(1498), None, False),
    ],
)
def test_only_what_the_table_has_refused_is_surely_the_gateways(
    result: TrialResult, counts: DutCounts | None, *, expected: bool
) -> None:
    assert refused(result, counts) == expected


def test_a_failure_that_lost_nothing_has_its_cause_for_counters() -> None:
    found = record(1000, stream("forward", 1000, 0, 1000), cause=Cause.BACK_PRESSURE)
    assert outcome_or_counters(found) == "back pressure"
    assert outcome_or_counters(record(1000, stream("forward", 1000, 9, 1000))) == "no counter rose as much"
