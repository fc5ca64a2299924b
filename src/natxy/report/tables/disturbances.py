# SPDX-License-Identifier: Apache-2.0
"""The table of the times for which the tester's and the gateway's cores were taken away."""

from __future__ import annotations

from natxy.plan.model.units import format_duration
from natxy.report.tables.table import Column, Table
from natxy.report.words.wording import ABSENT, percent
from natxy.results.analysis.disturbances import disturbances
from natxy.results.records import RunRecord


def absences(run: RunRecord) -> Table:
    """Returns a row for each core that was watched. Pauses of the tester below 1 ms count only if they are longest."""
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
        )
        for whose, away in (("tester", found.tester), ("gateway", found.gateway))
        if away
    )
    titles = ("Trials", "Taken away", "Of their time", "Steal", "Behind other tasks", "Most in one trial")
    return Table("Cores", (Column("Core"), *(Column(title, numeric=True) for title in titles)), rows)


def _time(seconds: float | None) -> str:
    return ABSENT if seconds is None else format_duration(seconds)
