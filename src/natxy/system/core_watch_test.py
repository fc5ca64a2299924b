# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.system import core_watch
from natxy.system.core_watch import TICK_S, Absence, CoreWatch, StealWatch

KSOFTIRQD = {0: 14, 1: 22}


class Machine:
    """A /proc with two cores, their ksoftirqd and one process."""

    def __init__(self, proc: Path) -> None:
        self._proc = proc
        for core, pid in KSOFTIRQD.items():
            self.task(pid, 0, 0, f"ksoftirqd/{core}")
        self.ticks(stolen=(0, 0))

    def task(self, pid: int, ran_ms: float, delayed_ms: float, name: str = "tayga") -> None:
        folder = self._proc / str(pid)
        folder.mkdir(exist_ok=True)
        (folder / "comm").write_text(name + "\n")
        (folder / "schedstat").write_text(f"{10**9 + ran_ms * 1e6:.0f} {10**9 + delayed_ms * 1e6:.0f} 7\n")

    def softirq(self, core: int, ran_ms: float, delayed_ms: float) -> None:
        self.task(KSOFTIRQD[core], ran_ms, delayed_ms, f"ksoftirqd/{core}")

    def ticks(self, stolen: tuple[int, int] = (0, 0), tasks: tuple[int, int] = (0, 0)) -> None:
        """Sets how many ticks more than at first were stolen from each core, and spent there on tasks."""
        lines = [f"cpu{core} 1 2 {3 + tasks[core]} 4 5 6 7 {100 + stolen[core]} 0 0" for core in KSOFTIRQD]
        (self._proc / "stat").write_text("\n".join(["cpu  1 2 3 4 5 6 7 8 0 0", *lines, "intr 12345", ""]))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setattr(core_watch, "_PROC", tmp_path)
    core_watch._ksoftirqds.cache_clear()
    return Machine(tmp_path)


@pytest.fixture(autouse=True)
def forgotten() -> None:
    core_watch._ksoftirqds.cache_clear()


def parts(watch: CoreWatch) -> tuple[float | None, ...]:
    absence = watch.end()
    assert absence is not None
    return absence.total_s, absence.stolen_s, absence.delayed_s


def test_steal_and_run_delay_of_the_watched_core_add_up(machine: Machine) -> None:
    watch = CoreWatch([1])
    watch.begin()
    machine.ticks(stolen=(50, 2), tasks=(0, 5))
    machine.softirq(0, 0, 900)
    machine.softirq(1, 300, 4)
    assert parts(watch) == pytest.approx((2 * TICK_S + 0.004, 2 * TICK_S, 0.004))


def test_of_several_cores_the_one_that_was_away_longest_counts(machine: Machine) -> None:
    watch = CoreWatch([0, 1])
    watch.begin()
    machine.softirq(0, 300, 3)
    machine.softirq(1, 300, 5)
    machine.ticks(tasks=(5, 5))
    assert parts(watch) == pytest.approx((0.005, 0.0, 0.005))


def test_the_gateways_own_tasks_may_wait_for_each_other(machine: Machine) -> None:
    machine.task(99, 0, 0)
    watch = CoreWatch([1], lambda: [99])
    watch.begin()
    machine.softirq(1, 300, 200)
    machine.task(99, 250, 300)
    assert parts(watch) == pytest.approx((0.0, 0.0, 0.0))
    watch.begin()
    machine.softirq(1, 400, 200)
    machine.task(99, 300, 412)
    assert parts(watch) == pytest.approx((0.012, 0.0, 0.012))


def test_a_ksoftirqd_that_waits_while_no_task_runs_is_not_delayed(machine: Machine) -> None:
    watch = CoreWatch([1])
    watch.begin()
    machine.softirq(1, 300, 50)
    machine.ticks(tasks=(90, 2))
    absence = watch.end()
    assert absence == Absence(2 * TICK_S, 0.0, 2 * TICK_S, uncertain_s=TICK_S)


def test_processes_are_found_again_once_one_has_ended(machine: Machine, tmp_path: Path) -> None:
    machine.task(99, 0, 0)
    running = [99]
    watch = CoreWatch([1], lambda: running)
    watch.begin()
    for name in ("comm", "schedstat"):
        (tmp_path / "99" / name).unlink()
    (tmp_path / "99").rmdir()
    assert parts(watch) == pytest.approx((0.0, 0.0, 0.0))
    running[:] = [100]
    machine.task(100, 0, 0)
    watch.begin()
    machine.task(100, 0, 7)
    assert parts(watch) == pytest.approx((0.007, 0.0, 0.007))


def test_without_counters_nothing_is_known(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  1 2 3\ncpu1 1 2 3\n")
    watch = CoreWatch([1])
    watch.begin()
    assert watch.end() is None


def test_steal_of_another_machine() -> None:
    before = "cpu  9\ncpu0 1 2 3 4 5 6 7 10 0 0\ncpu1 1 2 3 4 5 6 7 50 0 0\ncpu2 1 2 3 4 5 6 7 0 0 0"
    after = "cpu  9\ncpu0 1 2 3 4 5 6 7 12 0 0\ncpu1 9 9 9 4 5 6 7 55 0 0\ncpu2 1 2 3 4 5 6 7 99 0 0"
    stats = iter([before, after])
    watch = StealWatch([0, 1], lambda: next(stats))
    watch.begin()
    assert watch.end() == Absence(5 * TICK_S, 5 * TICK_S, uncertain_s=TICK_S)


@pytest.mark.parametrize("after", ["", "cpu0 1 2 3 4 5 6 7 2 0 0"], ids=["no answer", "rebooted"])
def test_steal_is_unknown(after: str) -> None:
    stats = iter(["cpu0 1 2 3 4 5 6 7 10 0 0", after])
    watch = StealWatch([0], lambda: next(stats))
    watch.begin()
    assert watch.end() is None


def test_this_machine_can_be_watched() -> None:
    watch = CoreWatch([0])
    watch.begin()
    assert watch.end() is not None
