# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import html
import re
from contextlib import closing
from pathlib import Path

from natxy.campaign.jobs.queue import Ending, JobState
from natxy.campaign.log import (
    CampaignEnded,
    CampaignStarted,
    JobEnded,
    JobStarted,
    LoggedJob,
    TestbedSetAside,
    campaign_log,
)
from natxy.events.base import Event
from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.page.campaign import write_campaign_report
from natxy.report.words.disturbances import busy
from natxy.report.words.disturbances_test import stalling
from natxy.results.records import RunState
from natxy.results.store import RunStore
from natxy.run.run import run_plan

EVIL = '"><script>alert(1)</script>'


def log(folder: Path, *entries: Event) -> None:
    folder.mkdir(exist_ok=True)
    with campaign_log(folder) as written:
        for entry in entries:
            written.append(entry)


def attempt(
    job: LoggedJob, testbed: str, folder: str, ending: Ending = Ending.DONE, reason: str = ""
) -> tuple[Event, Event]:
    code = 0 if ending is Ending.DONE else 4
    return (
        JobStarted(run=job.run, place=job.place, testbed=testbed, folder=folder),
        JobEnded(
            run=job.run, place=job.place, testbed=testbed, folder=folder, ending=ending, exit_code=code, reason=reason
        ),
    )


def measured(folder: Path, limit: str, *further: str, repeat: int = 2) -> None:
    experiment = {
        "name": "a", "title": EVIL, "procedure": "throughput",
        "gateway": {"driver": "simulated", "forwarding_fps": limit},
        "search": {"min_rate": "1k", "max_rate": "100k", "error": "1k"},
    }  # fmt: skip
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "repeat": repeat}
    plan["experiments"] = [experiment, *({**experiment, "name": name} for name in further)]
    assert run_plan(resolve(Plan.model_validate(plan)), folder, RunListener()) == 0


def test_the_page_has_each_figure_by_place_and_what_failed_and_why(tmp_path: Path) -> None:
    own, other, last = [LoggedJob(run=run, place=place) for run, place in (("x", "one"), ("x", "two"), ("y", "two"))]
    log(
        tmp_path,
        CampaignStarted(name="night", jobs=(own, other, last), done=0),
        *attempt(own, "one", "runs/x/one"),
        *attempt(other, "two", "runs/x/two", Ending.FAILED, f"dead{EVIL}"),
        TestbedSetAside(testbed="two", reason="dead"),
        *attempt(other, "one", "runs/x/two@one"),
        CampaignEnded(left=(last.model_copy(update={"state": JobState.FAILED, "reason": "two is set aside"}),)),
    )
    measured(tmp_path / "runs/x/one", "40k")
    measured(tmp_path / "runs/x/two@one", "20k")
    for run in ("one", "two@one"):
        (tmp_path / "runs/x" / run / "report.html").touch()
    page = write_campaign_report(tmp_path).read_text()
    assert "<script" not in page
    assert re.search(r'badge failed">2 of 3 measured<', page)
    assert re.search(r'<a href="runs/x/one/report.html">\d+(\.\d+)?\xa0kfps</a></td>', page)
    assert re.search(r'<a href="runs/x/two%40one/report.html">\d+(\.\d+)?\xa0kfps</a> <span class="note">on one<', page)
    assert re.search(r"kfps, N\xa0=\xa02 \((4\d|5\d)\.\d\xa0%\)", page)
    assert "Disturbed" not in page
    assert "<b>y on two</b>: failed: two is set aside" in page
    assert "<b>two</b> was set aside after several jobs in a row failed: dead" in page
    assert "Attempts without a result (1)" in page


def test_a_job_under_way_and_one_that_waits_are_shown(tmp_path: Path) -> None:
    names = (LoggedJob(run="x", place="one"), LoggedJob(run="y", place="one"))
    log(
        tmp_path,
        CampaignStarted(name="night", jobs=names, done=0),
        JobStarted(run="x", place="one", testbed="one", folder="runs/x/one"),
    )
    page = write_campaign_report(tmp_path).read_text()
    assert "<b>x on one</b>: running" in page
    assert "<b>y on one</b>: waiting" in page


def test_a_session_that_measures_nothing_does_not_move_the_end(tmp_path: Path) -> None:
    job = LoggedJob(run="x", place="one")
    start, end = CampaignStarted(name="night", jobs=(job,), done=0), CampaignEnded(left=())
    moments = [f"2026-11-26T07:{minute}:00.000+00:00" for minute in range(10, 16)]
    entries = [start, *attempt(job, "one", "runs/x/one"), end, start, end]
    log(tmp_path, *(entry.model_copy(update={"time": time}) for entry, time in zip(entries, moments, strict=True)))
    page = write_campaign_report(tmp_path).read_text()
    assert "2026-11-26 07:11:00 to 2026-11-26 07:12:00 UTC" in page


def test_what_a_killed_session_began_waits_in_the_next_one(tmp_path: Path) -> None:
    names = (LoggedJob(run="x", place="one"), LoggedJob(run="y", place="one"))
    begun = [JobStarted(run=run, place="one", testbed="one", folder=f"runs/{run}/one") for run in ("x", "y")]
    start = CampaignStarted(name="night", jobs=names, done=0)
    log(tmp_path, start, *begun, start, begun[1])
    page = write_campaign_report(tmp_path).read_text()
    assert "<b>x on one</b>: waiting: interrupted" in page
    assert "<b>y on one</b>: running" in page


def test_a_run_that_is_not_done_has_no_figures_and_one_without_a_report_no_link(tmp_path: Path) -> None:
    done, part = LoggedJob(run="x", place="one"), LoggedJob(run="y", place="one")
    log(
        tmp_path,
        CampaignStarted(name="night", jobs=(done, part), done=0),
        *attempt(done, "one", "runs/x/one"),
        *attempt(part, "one", "runs/y/one", Ending.FAILED, "dead"),
    )
    for run in ("x", "y"):
        measured(tmp_path / f"runs/{run}/one", "40k")
    (tmp_path / "runs/y/one/report.html").touch()
    (tmp_path / "runs/y/one.log").touch()
    with closing(RunStore(tmp_path / "runs/y/one/results.sqlite", resume=True)) as store:
        store.finish_run(RunState.FAILED)
    page = write_campaign_report(tmp_path).read_text()
    assert re.search(r"<td>\d+(\.\d+)?\xa0kfps</td>", page)
    assert '<td><a href="runs/y/one/report.html">report</a> <span class="badge failed">waiting</span></td>' in page
    assert '<b>y on one</b>: waiting: dead (<a href="runs/y/one.log">log</a>)' in page
    assert "<h3>x</h3>" in page
    assert "<h3>y</h3>" not in page


def test_bounds_are_not_compared_and_further_results_are_counted(tmp_path: Path) -> None:
    jobs = tuple(LoggedJob(run="x", place=place) for place in ("one", "two"))
    attempts = [entry for job in jobs for entry in attempt(job, job.place, f"runs/x/{job.place}")]
    log(tmp_path, CampaignStarted(name="night", jobs=jobs, done=0), *attempts)
    for job in jobs:
        measured(tmp_path / f"runs/x/{job.place}", "1M", "b", "c")
    page = write_campaign_report(tmp_path).read_text()
    assert page.count("<td>≥\xa0100\xa0kfps +2</td>") == 2
    assert "100.0" not in page


def test_one_repetition_says_so_and_is_not_compared(tmp_path: Path) -> None:
    jobs = tuple(LoggedJob(run="x", place=place) for place in ("one", "two"))
    attempts = [entry for job in jobs for entry in attempt(job, job.place, f"runs/x/{job.place}")]
    log(tmp_path, CampaignStarted(name="night", jobs=jobs, done=0), *attempts)
    measured(tmp_path / "runs/x/one", "40k")
    measured(tmp_path / "runs/x/two", "20k", repeat=1)
    page = write_campaign_report(tmp_path).read_text()
    assert ", N\xa0=\xa02</td>" in page
    assert re.search(r"kfps, N\xa0=\xa01</td>", page)


def test_what_the_report_of_a_run_says_about_a_busy_machine_is_said(tmp_path: Path) -> None:
    quiet, stalled = LoggedJob(run="x", place="one"), LoggedJob(run="x", place="two")
    attempts = [entry for job in (quiet, stalled) for entry in attempt(job, job.place, f"runs/x/{job.place}")]
    log(tmp_path, CampaignStarted(name="night", jobs=(quiet, stalled), done=0), *attempts)
    stalling(tmp_path / "runs/x/one", None)
    doubt = busy(stalling(tmp_path / "runs/x/two", {"every": "400ms", "duration": "12ms"}))
    page = write_campaign_report(tmp_path).read_text()
    assert doubt.startswith("The machine was busy with other things: ")
    assert doubt.split("See")[0] in html.unescape(page)
    assert "<b>x on two</b>: The machine was busy" in page
    assert "<b>x on one</b>: The machine" not in page
