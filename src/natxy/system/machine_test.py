# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.system.machine import LoadOfRun, MachineLoad


def moment(minute: float, ticks: int, stolen: int | None) -> MachineLoad:
    return MachineLoad(minute=minute, all_ticks=ticks, stolen_ticks=stolen)


def test_a_quiet_machine_has_no_warning() -> None:
    load = LoadOfRun(sessions=((moment(0.49, 1000, 10), moment(2.1, 2000, 19)),))
    assert load.facts() == {"load before": "0.49", "load at the end": "2.10", "steal time": "0.90 %"}
    assert load.remark() == ""


@pytest.mark.parametrize(
    ("before", "stolen", "said"),
    [
        (0.5, 0, "its load was 0.50 when the run began."),
        (0.1, 20, "its host took 2.00 % of the cores' time away."),
        (1.25, 20, "its load was 1.25 when the run began and its host took 2.00 % of the cores' time away."),
    ],
)
def test_a_busy_machine_has_a_warning_with_its_load(before: float, stolen: int, said: str) -> None:
    load = LoadOfRun(sessions=((moment(before, 1000, 10), moment(2.0, 2000, 10 + stolen)),))
    assert load.remark() == f"The machine was busy with other things: {said} See `natxy doctor`."


def test_time_between_two_sessions_does_not_count() -> None:
    sessions = ((moment(0.1, 0, 0), moment(1, 100, 1)), (moment(0.9, 900, 800), moment(1.5, 1000, 802)))
    facts = LoadOfRun(sessions=sessions).facts()
    assert (facts["load before"], facts["load at the end"], facts["steal time"]) == ("0.10", "1.50", "1.50 %")
    assert "its load was 0.90" in LoadOfRun(sessions=sessions).remark()


def test_unknown_steal_time_is_not_zero() -> None:
    load = LoadOfRun(sessions=((moment(0.1, 0, None), moment(0.1, 9, None)),))
    assert (set(load.facts()), load.remark()) == ({"load before", "load at the end"}, "")


def test_this_machine_has_a_load() -> None:
    assert MachineLoad.now().all_ticks > 0
