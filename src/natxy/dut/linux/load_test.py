# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.counters import TIMES, Counters, ReceiveCounters
from natxy.dut.linux.load import LoadWatch, LoadWatches, MachineLoadWatches, spent
from natxy.dut.transport.base import CompletedCommand, HeldSysctls
from natxy.errors import DutError
from natxy.results.dut_load import DutLoad, InterfaceLoad

SPENT = {"user": 0.1, "nice": 0.0, "system": 0.2, "idle": 5.0, "iowait": 0.5, "irq": 0.0, "softirq": 0.3, "steal": 1.0}
BEFORE = Counters(
    uptime_s=100.0,
    cores={1: dict.fromkeys(SPENT, 7.0), 2: dict.fromkeys(SPENT, 7.0)},
    receive={1: ReceiveCounters(2**32 - 10, 0, 0)},
    interrupts=50,
    interfaces={"eth1": {"rx_packets": 5, "tx_packets": 6, "rx_dropped": 1, "rx_missed_errors": 2}},
    memory_bytes=1000,
    available_bytes=1000,
)
AFTER = Counters(
    uptime_s=110.0,
    cores={1: {name: 7 + seconds for name, seconds in SPENT.items()}, 2: dict.fromkeys(SPENT, 7.0)},
    receive={1: ReceiveCounters(30, 4, 0)},
    interrupts=80,
    interfaces={"eth1": {"rx_packets": 15, "tx_packets": 26, "rx_dropped": 1, "rx_missed_errors": 5}},
    memory_bytes=1000,
    available_bytes=400,
)


def test_a_load_is_the_difference_of_two_readings() -> None:
    load = spent(BEFORE, AFTER, [1])
    assert load is not None
    (core,) = load.cores
    # Neither the wait for a disk nor what the host took is the DUT's work; ticks that Linux did not sample are.
    assert (load.elapsed_s, core.busy_s, core.idle_s, core.steal_s) == (10.0, 3.5, 5.5, 1.0)
    assert (core.user_s, core.system_s, core.softirq_s, core.irq_s) == (0.1, 0.2, 0.3, 0.0)
    # The kernel's counters have 32 bits.
    assert (core.frames, core.dropped, load.dropped) == (40, 4, 4)
    assert load.interfaces == (InterfaceLoad(name="eth1", received=10, sent=20, lost={"rx_missed_errors": 3}),)
    assert (load.interrupts, load.memory_used_bytes, load.interfaces_lost) == (30, 600, 3)


def test_all_cores_are_watched_where_all_are_the_duts() -> None:
    load = spent(BEFORE, AFTER)
    assert load is not None
    assert [core.core for core in load.cores] == [1, 2]
    assert load.busy_s == 13.5
    # Core 2 did not count its frames.
    assert load.cores[1].frames is None


def test_a_reboot_and_a_dut_that_tells_nothing_have_no_load() -> None:
    assert spent(AFTER, BEFORE) is None
    assert spent(Counters(), AFTER) is None
    assert spent(BEFORE, AFTER, [9]) is None
    assert spent(BEFORE, replace(AFTER, cores={})) is None


def test_an_idle_time_that_runs_backwards_counts_as_none() -> None:
    after = replace(AFTER, cores={1: dict.fromkeys(SPENT, 6.99)})
    load = spent(BEFORE, after)
    assert load is not None
    assert (load.cores[0].idle_s, load.cores[0].busy_s) == (0.0, 10.0)


def test_ticks_of_idle_cores_cancel_out() -> None:
    idle = {1: 10.01, 2: 9.99, 3: 10.0}
    before = replace(BEFORE, cores={core: dict.fromkeys(SPENT, 0.0) for core in idle})
    after = replace(AFTER, cores={core: {**dict.fromkeys(SPENT, 0.0), "idle": idle_s} for core, idle_s in idle.items()})
    load = spent(before, after)
    assert load is not None
    assert [core.busy_s for core in load.cores] == [-0.01, 0.01, 0.0]
    assert load.busy_s == 0
    alone = spent(before, after, [1])
    assert alone is not None
    assert alone.busy_s == 0


def test_counters_of_an_interface_that_was_made_anew_are_left_out() -> None:
    after = replace(AFTER, interfaces={"eth1": {"rx_packets": 1, "tx_packets": 1}})
    load = spent(BEFORE, after)
    assert load is not None
    assert (load.interfaces, load.interfaces_lost) == ((), None)


class Dut:
    """A DUT whose command prints the texts, one after the other; an empty one is a lost connection."""

    machine: HeldSysctls
    network: HeldSysctls

    def __init__(self, *texts: str) -> None:
        self.texts = [*texts]
        self.asked: list[Sequence[str]] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.asked.append(argv)
        text = self.texts.pop(0)
        if not text:
            raise DutError("the connection was lost")
        return CompletedCommand(tuple(argv), 2, text, "")

    def describe(self) -> str:
        return "a test"


def reading(seconds: float, busy_ticks: int) -> str:
    idle = int(seconds * 100) - busy_ticks
    return f"/proc/uptime:{seconds:.2f} 0\n/proc/stat:cpu0 0 0 {busy_ticks} {idle} 0 0 0 0 0 0\n"


def test_one_command_before_and_one_after_a_trial() -> None:
    dut = Dut(reading(10, 100), reading(12, 150))
    watch = LoadWatch(dut, DutInterfaces("eth1", "eth2"))
    watch.begin()
    assert watch.stat() == "cpu0 0 0 100 900 0 0 0 0 0 0"
    watch.end()
    load = watch.load()
    assert load is not None
    assert load.busy_s == pytest.approx(0.5)
    assert len(dut.asked) == 2


def test_a_dut_that_does_not_answer_has_no_load() -> None:
    watch = LoadWatch(Dut(reading(10, 100), "", "", reading(12, 150)), DutInterfaces("eth1", "eth2"))
    for _ in range(2):
        watch.begin()
        watch.end()
        assert watch.load() is None
    assert LoadWatch(Dut(*[""] * 6), DutInterfaces("eth1", "eth2")).cost() is None


def test_what_a_reading_costs_is_measured() -> None:
    dut = Dut(*(reading(10 + 0.5 * number, 100 + 2 * number) for number in range(6)))
    cost = LoadWatch(dut, DutInterfaces("eth1", "eth2")).cost()
    assert cost is not None
    assert cost.busy_s is not None
    assert cost.busy_s == pytest.approx(0.02)
    assert "the DUT's cores worked 20 ms" in cost.text()


def test_what_is_not_read_here_is_in_the_command() -> None:
    argvs: list[Sequence[str]] = []

    class Noting(Dut):
        def run(
            self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
        ) -> CompletedCommand:
            argvs.append(argv)
            return super().run(argv, input=input, timeout_s=timeout_s, check=check)

    LoadWatch(Noting("-"), DutInterfaces("a", "b"), (), lambda: "", TIMES).begin()
    assert "/proc/net/softnet_stat" in argvs[0]
    assert not {*TIMES} & {*argvs[0]}


def test_times_of_this_machine_are_read_next_to_the_trial() -> None:
    events: list[str] = []

    class Noting(Dut):
        def run(
            self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
        ) -> CompletedCommand:
            events.append("command")
            return super().run(argv, input=input, timeout_s=timeout_s, check=check)

    times = [reading(10, 0), reading(11, 50)]

    def read_here() -> str:
        events.append("here")
        return times.pop(0)

    watch = LoadWatch(Noting("-", "-"), DutInterfaces("a", "b"), [0], read_here)
    watch.begin()
    watch.end()
    assert events == ["command", "here", "here", "command"]
    load = watch.load()
    assert load is not None
    assert load.busy_s == pytest.approx(0.5)


def counted(name: str, seconds: float, received: int) -> str:
    statistics = f"/sys/class/net/{name}/statistics"
    return f"{reading(seconds, 100)}{statistics}/rx_packets:{received}\n{statistics}/tx_packets:{received}\n"


def load_of(*duts: Dut) -> DutLoad:
    """Returns the load between the first two readings of gateways with `eth1`, `eth2` and so on."""
    names = [f"eth{number}" for number in range(1, len(duts) + 1)]
    watches = LoadWatches([LoadWatch(dut, DutInterfaces(name, name)) for dut, name in zip(duts, names, strict=True)])
    watches.begin()
    watches.end()
    load = watches.load()
    assert load is not None
    return load


def test_several_gateways_have_their_interfaces_in_order_and_one_machine() -> None:
    load = load_of(*(Dut(counted(name, 10, 0), counted(name, 12, count)) for name, count in (("eth1", 5), ("eth2", 7))))
    assert [(each.name, each.received) for each in load.interfaces] == [("eth1", 5), ("eth2", 7)]
    assert len(load.cores) == 1


def test_gateways_on_machines_of_their_own_have_all_cores_numbered_on() -> None:
    def load(*duts: Dut) -> DutLoad | None:
        watches = MachineLoadWatches([LoadWatch(dut, DutInterfaces("eth1", "eth2")) for dut in duts])
        watches.begin()
        watches.end()
        return watches.load()

    one, two = Dut(reading(1, 10), reading(2, 40)), Dut(reading(5, 100), reading(6, 120))
    named = load(*(Dut(counted("eth1", 10, 0), counted("eth1", 12, count)) for count in (5, 7)))
    assert named is not None
    assert [each.name for each in named.interfaces] == ["eth1 of gateway 1", "eth1 of gateway 2"]
    both = load(one, two)
    assert both is not None
    assert [core.core for core in both.cores] == [0, 1]
    alone = [load(Dut(reading(1, 10), reading(2, 40))), load(Dut(reading(5, 100), reading(6, 120)))]
    assert both.busy_s == pytest.approx(sum(each.busy_s for each in alone if each))
    assert load(Dut(reading(1, 10), reading(2, 40)), Dut("", "")) is None


def test_the_cost_of_several_readings_is_their_sum() -> None:
    def watch() -> LoadWatch:
        return LoadWatch(Dut(*(reading(at, 10) for at in range(1, 7))), DutInterfaces("eth1", "eth2"))

    one, two = watch().cost(), LoadWatches([watch(), watch()]).cost()
    assert one is not None
    assert two is not None
    assert (one.commands, two.commands) == (1, 2)
    assert two.busy_s == pytest.approx(2 * (one.busy_s or 0))
    assert two.text().startswith("2 commands before and 2 after each trial, ")


def test_the_interfaces_of_several_gateways_are_known_all_or_none() -> None:
    # The second gateway answers only once, so that the place of its interfaces is empty.
    load = load_of(Dut(counted("eth1", 10, 0), counted("eth1", 12, 5)), Dut(counted("eth2", 10, 0), ""))
    assert (load.interfaces, len(load.cores)) == ((), 1)
