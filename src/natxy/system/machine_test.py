# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os

from natxy.system.machine import LoadOfRun, MachineLoad, available_bytes


def moment(minute: float, ticks: int, stolen: int | None) -> MachineLoad:
    return MachineLoad(minute=minute, all_ticks=ticks, stolen_ticks=stolen)


def test_the_load_of_a_run() -> None:
    load = LoadOfRun(sessions=((moment(0.49, 1000, 10), moment(2.1, 2000, 19)),))
    assert load.facts() == {"load before": "0.49", "load at the end": "2.10", "steal time": "0.90 %"}


def test_time_between_two_sessions_does_not_count() -> None:
    sessions = ((moment(0.1, 0, 0), moment(1, 100, 1)), (moment(0.9, 900, 800), moment(1.5, 1000, 802)))
    facts = LoadOfRun(sessions=sessions).facts()
    assert (facts["load before"], facts["load at the end"], facts["steal time"]) == ("0.10", "1.50", "1.50 %")


def test_unknown_steal_time_is_not_zero() -> None:
    load = LoadOfRun(sessions=((moment(0.1, 0, None), moment(0.1, 9, None)),))
    assert set(load.facts()) == {"load before", "load at the end"}


def test_this_machine_has_a_load() -> None:
    assert MachineLoad.now().all_ticks > 0


def test_available_memory_is_less_than_all_of_it() -> None:
    available = available_bytes()
    assert available
    assert 0 < available < os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
