# SPDX-License-Identifier: Apache-2.0
"""The table of the times for which the tester's and the gateway's cores were taken away, and of the gateway's speed."""

from __future__ import annotations

from natxy.plan.model.units import format_duration
from natxy.report.tables.table import Column, Table
from natxy.report.words.wording import ABSENT, percent
from natxy.results.analysis.disturbances import disturbances
from natxy.results.records import RunRecord


def absences(run: RunRecord) -> Table:
    """Returns a row for each core that was watched. Pauses of the tester below 1 ms count only if they are longest.

    Speeds are shares of the highest that the core reached in the run.
    """
    found = disturbances(run)
    rows = tuple(
        (
            whose,
            f"{away.trials:,}",
            format_duration(away.total_s),
            percent(100 * away.share, 2),
            _time(away.stolen_s),
            _time(away.delayed_s),
            format_duration(away.most_s),
            ABSENT if speed is None else percent(100 * speed.mean, 0),
            ABSENT if speed is None else percent(100 * speed.least, 0),
        )
        for whose, away, speed in (("tester", found.tester, None), ("gateway", found.gateway, found.gateway_speed))
        if away
    )
    absent = ("Taken away", "Of their time", "Steal", "Behind other tasks", "Most in one trial")
    titles = ("Trials", *absent, "Speed", "Lowest speed")
    return Table("Cores", (Column("Core"), *(Column(title, numeric=True) for title in titles)), rows)


def _time(seconds: float | None) -> str:
    return ABSENT if seconds is None else format_duration(seconds)
