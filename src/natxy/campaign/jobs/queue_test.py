# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from natxy.campaign.jobs.jobs import Job
from natxy.campaign.jobs.queue import Ending, JobState, Queue

PLAN: Any = SimpleNamespace()


def job(run: str, place: str, *testbeds: str, after: Sequence[str] = (), priority: int = 0) -> Job:
    plans = dict.fromkeys(testbeds or [place], PLAN)
    return Job(run=run, place=place, plans=plans, after=frozenset(after), priority=priority)


def taken(queue: Queue, testbed: str) -> str | None:
    found = queue.take(testbed)
    return found.key if found else None


def test_a_testbed_takes_its_own_jobs_by_priority_and_then_in_order() -> None:
    queue = Queue([job("x", "a"), job("y", "a", priority=1), job("z", "a"), job("x", "b")], ["a", "b"], 3)
    assert [taken(queue, "a") for _ in range(4)] == ["y/a", "x/a", "z/a", None]
    assert taken(queue, "b") == "x/b"


def test_a_job_of_equal_testbeds_goes_to_whichever_is_free_and_only_once() -> None:
    queue = Queue([job("x", "group", "a", "b")], ["a", "b"], 3)
    assert taken(queue, "b") == "x/group"
    assert taken(queue, "a") is None


def test_a_run_waits_for_those_before_it_and_is_skipped_without_them() -> None:
    x, y, z = job("x", "a"), job("y", "a", after=["x"]), job("z", "a", after=["y"])
    queue = Queue([x, y, z], ["a"], 9)
    assert taken(queue, "a") == "x/a"
    assert taken(queue, "a") is None
    assert queue.finish(x, "a", Ending.DONE) == ["a"]
    assert taken(queue, "a") == "y/a"
    assert queue.finish(y, "a", Ending.REFUSED, "wrong") == []
    assert queue.states() == {
        "x/a": (JobState.DONE, ""), "y/a": (JobState.FAILED, "wrong"),
        "z/a": (JobState.SKIPPED, "y/a was not measured"),
    }  # fmt: skip
    assert queue.newly_given_up() == [(y, JobState.FAILED, "wrong"), (z, JobState.SKIPPED, "y/a was not measured")]
    assert queue.newly_given_up() == []


def test_what_fails_goes_to_an_equal_testbed_and_comes_back() -> None:
    own = job("x", "a", "a", "b")
    queue = Queue([own], ["a", "b"], 9)
    assert taken(queue, "b") is None
    for testbed, next_one in [("a", "b"), ("b", ["a", "b"]), ("b", "a"), ("a", ["a", "b"]), ("a", "b"), ("b", [])]:
        assert taken(queue, testbed) == "x/a"
        assert queue.finish(own, testbed, Ending.FAILED, "dead") == [*next_one]
    assert queue.states() == {"x/a": (JobState.FAILED, "dead")}


def test_a_testbed_that_fails_in_a_row_is_used_no_more() -> None:
    jobs = [job("x", "a"), job("y", "a"), job("w", "a"), job("x", "g", "a", "b"), job("z", "b", after=["y"])]
    queue = Queue(jobs, ["a", "b"], 2)
    for _ in range(3):
        assert taken(queue, "a") == "x/a"
        queue.finish(jobs[0], "a", Ending.FAILED, "the DUT is silent")
    assert queue.set_aside == {}, "one job alone may be to blame"
    assert taken(queue, "a") == "y/a"
    queue.finish(jobs[1], "a", Ending.FAILED, "the DUT is silent")
    assert queue.set_aside == {"a": "the DUT is silent"}
    assert taken(queue, "a") is None
    assert queue.states()["x/a"] == queue.states()["y/a"] == (JobState.FAILED, "the DUT is silent")
    assert queue.states()["w/a"] == (JobState.FAILED, "a is set aside: the DUT is silent")
    assert queue.states()["z/b"] == (JobState.SKIPPED, "y/a was not measured")
    assert taken(queue, "b") == "x/g"


def test_a_success_forgives_failures() -> None:
    x, y = job("x", "a"), job("y", "a")
    queue = Queue([x, y], ["a"], 2)
    for each in (x, y):
        assert queue.take("a") is each
        queue.finish(each, "a", Ending.FAILED)
        assert queue.take("a") is each
        queue.finish(each, "a", Ending.DONE)
    assert queue.set_aside == {}


def test_finished_jobs_of_an_earlier_session_are_not_taken() -> None:
    queue = Queue([job("x", "a"), job("y", "a", after=["x"])], ["a"], 3, done=frozenset(["x/a"]))
    assert taken(queue, "a") == "y/a"


@given(st.data())
def test_every_job_ends_and_no_testbed_has_two(data: st.DataObject) -> None:
    testbeds, groups = ["a", "b", "c"], {"g": ["a", "b"], "a": ["a", "b"], "c": ["c"]}
    runs = [f"r{number}" for number in range(data.draw(st.integers(1, 4)))]
    jobs = [
        job(run, place, *groups[place], after=runs[:number] if data.draw(st.booleans()) else ())
        for number, run in enumerate(runs)
        for place in data.draw(st.sets(st.sampled_from(sorted(groups)), min_size=1))
    ]
    queue = Queue(jobs, testbeds, data.draw(st.integers(1, 4)))
    under_way: dict[str, Job] = {}
    attempts: Counter[tuple[str, str]] = Counter()
    waiting = set(testbeds)
    while True:
        for testbed in [each for each in testbeds if each in waiting and each not in under_way]:
            if found := queue.take(testbed):
                under_way[testbed] = found
                attempts[found.key, testbed] += 1
        if not under_way:
            break
        testbed = data.draw(st.sampled_from(sorted(under_way)))
        # Those that are not named need not be asked.
        offered = queue.finish(under_way.pop(testbed), testbed, data.draw(st.sampled_from(Ending)), "why")
        waiting = {testbed, *offered}
    assert {state for state, _ in queue.states().values()} <= {JobState.DONE, JobState.FAILED, JobState.SKIPPED}
    assert all(count <= 3 for count in attempts.values())


def test_a_refused_plan_is_no_success_of_its_testbed() -> None:
    jobs = [job(run, "a") for run in ("x", "y", "z")]
    queue = Queue(jobs, ["a"], 2)
    for each, ending in [*[(jobs[0], Ending.FAILED)] * 3, (jobs[1], Ending.REFUSED), (jobs[2], Ending.FAILED)]:
        assert taken(queue, "a") == each.key
        queue.finish(each, "a", ending, "why")
    assert queue.set_aside == {"a": "why"}
