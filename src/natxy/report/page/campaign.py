# SPDX-License-Identifier: Apache-2.0
"""Renders a campaign as one HTML file: its runs by testbed, what they measured, and what failed and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from natxy.campaign.jobs.queue import JobState
from natxy.campaign.log import JobEnded, JobStarted
from natxy.campaign.results import CampaignResults, JobResult, read_campaign
from natxy.report.page.html import REPORT_FILE
from natxy.report.page.shared import style, template
from natxy.report.page.terms import Explainer
from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, wording
from natxy.report.words.disturbances import busy
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord
from natxy.results.statistics import Summary
from natxy.system.whole_file import whole_file

_NOTE: Final = (
    "Medians of N repetitions, with their 95 % confidence intervals in brackets if there are enough of them; in "
    "parentheses, the share of the first column that has a result, unless one of both is a bound or of one repetition, "
    "which cannot tell a difference from chance."
)
_NO_BREAK: Final = "\u00a0"


@dataclass(frozen=True)
class Cell:
    """Holds what the matrix shows of a job; `link` is empty without a report."""

    text: str
    state: str
    link: str
    testbed: str


@dataclass(frozen=True)
class Row:
    run: str
    cells: Sequence[Cell | None]


def write_campaign_report(folder: Path) -> Path:
    """Writes report.html into the folder of a campaign and returns the file.

    Raises PlanError without a campaign there, OSError when the file cannot be written.
    """
    page = render(read_campaign(folder), folder)
    with whole_file(folder / REPORT_FILE) as out:
        out.write(page.encode())
    return folder / REPORT_FILE


def render(campaign: CampaignResults, folder: Path) -> str:
    """Returns the page; `folder`: that of the campaign, where the links lead to."""
    # A session that finds all jobs done measures nothing.
    measuring = [entry for entry in campaign.entries if isinstance(entry, JobStarted | JobEnded)]
    times = [entry.time for entry in measuring or campaign.entries]
    return template("campaign.html.j2", Explainer()).render(
        name=campaign.name,
        style=style(),
        done=len(campaign.jobs) - len(campaign.left),
        count=len(campaign.jobs),
        period=f"{_moment(times[0])} to {_moment(times[-1])} UTC",
        places=campaign.places,
        rows=[Row(run, [cell(job, folder) for job in jobs]) for run, jobs in campaign.matrix.items()],
        left=[(f"{job.run} on {job.place}", job.state.value, job.reason, _log(job, folder)) for job in campaign.left],
        figures=[_figures(run, [job for job in jobs if job]) for run, jobs in campaign.matrix.items()],
        note=_NOTE,
        disturbed=[*_disturbed(campaign, folder)],
        failures=_failures(campaign),
        set_aside=[(each.testbed, each.reason) for each in campaign.set_aside],
    )


def cell(job: JobResult | None, folder: Path) -> Cell | None:
    """Returns what the matrix shows of a job, with a link to its report in the campaign's `folder`."""
    if job is None:
        return None
    report = job.folder and Path(job.folder, REPORT_FILE)
    link = quote(str(report)) if report and (folder / report).is_file() else ""
    elsewhere = job.testbed if job.testbed and job.testbed != job.place else ""
    return Cell(_headline(job), job.state.value, link, elsewhere)


def _log(job: JobResult, folder: Path) -> str:
    """Returns the link to what natxy printed in the attempts at a job; an empty one if there were none."""
    log = f"{job.folder}.log"
    return quote(log) if job.folder and (folder / log).is_file() else ""


def _headline(job: JobResult) -> str:
    """Returns the first result of a job that is done, and how many more there are; nothing for other jobs."""
    measured = [each for each in _experiments(job) if each.statistics]
    text = _whole(headlines.headline(measured[0])) if measured else ""
    return f"{text} +{len(measured) - 1}" if len(measured) > 1 else text


def _whole(text: str) -> str:
    """Returns a text that stays on one line, so that a column can be narrow."""
    return text.replace(" ", _NO_BREAK)


def _experiments(job: JobResult) -> Sequence[ExperimentRecord]:
    """Returns the experiments of a job; none before it is done, because medians of a few repetitions mislead."""
    return job.record.experiments if job.record and job.state is JobState.DONE else ()


def _disturbed(campaign: CampaignResults, folder: Path) -> Iterator[tuple[str, str]]:
    """Yields the jobs that are done and were disturbed, each with what the report of its run says of that."""
    for job in campaign.jobs:
        if job.folder and job.state is JobState.DONE and (doubt := busy(RunReader(folder / job.folder).run)):
            yield f"{job.run} on {job.place}", doubt


def _figures(run: str, jobs: Sequence[JobResult]) -> Table:
    """Returns a table with an experiment a row and a place a column."""
    by_place = {job.place: {each.name: each for each in _experiments(job)} for job in jobs}
    names = dict.fromkeys(name for experiments in by_place.values() for name in experiments)
    rows = tuple(
        (_title([by_place[place].get(name) for place in by_place]), *_values([by_place[p].get(name) for p in by_place]))
        for name in names
    )
    columns = (Column("Experiment"), *(Column(place, numeric=True) for place in by_place))
    return Table(run, columns, rows)


def _title(experiments: Sequence[ExperimentRecord | None]) -> str:
    first = next(each for each in experiments if each)
    return f"{first.title}, {headlines.kind(first)}"


def _values(experiments: Sequence[ExperimentRecord | None]) -> Iterator[str]:
    first = next((each.statistics for each in experiments if each and each.statistics), None)
    for each in experiments:
        if each is None or each.statistics is None:
            yield wording.ABSENT
        else:
            text = f"{headlines.with_interval(each)}, {_whole(f'N = {each.statistics.count}')}"
            share = _share(each.statistics, first)
            yield f"{text} {_whole(share)}" if share else text


def _share(own: Summary, first: Summary | None) -> str:
    """Returns a median as a share of the first one; nothing for that itself, and where one of both is a bound or of
    one repetition."""
    if first is None or own is first or not first.median:
        return ""
    if any(each.bounded_median.bound or each.count == 1 for each in (first, own)):
        return ""
    return f"({wording.percent(100 * own.median / first.median, 1)})"


def _failures(campaign: CampaignResults) -> Table:
    columns = (Column("When, UTC"), Column("Job"), Column("Testbed"), Column("Why"))
    rows = tuple(
        (_moment(each.time), f"{each.run}/{each.place}", each.testbed, each.reason) for each in campaign.failures
    )
    return Table("Attempts without a result", columns, rows)


def _moment(time: str) -> str:
    return time[:19].replace("T", " ")
