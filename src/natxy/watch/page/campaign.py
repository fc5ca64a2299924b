# SPDX-License-Identifier: Apache-2.0
"""Shows a campaign: how far its jobs are, what those do that are measuring now, what failed and why, and the log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

from natxy.campaign import LOG_FILE
from natxy.campaign.attempt.task import last_lines
from natxy.campaign.jobs.queue import JobState
from natxy.campaign.log import JobStarted
from natxy.campaign.results import JobResult, read_campaign
from natxy.campaign.telling import told
from natxy.errors import PlanError
from natxy.events.lines import EVENTS_FILE
from natxy.report.page.campaign import Cell, cell
from natxy.untrusted.files import ForeignFolder
from natxy.untrusted.texts import plain
from natxy.watch.page.follow import MOST_LINES, Follower
from natxy.watch.page.shell import other_pages, rendered


class CampaignView:
    """Shows the campaign in a folder. Raises PlanError when there is none."""

    charts = False

    def __init__(self, folder: ForeignFolder) -> None:
        self._folder = folder
        self._size = -1
        self._measuring: dict[str, Follower] = {}
        self._printed: dict[str, str] = {}
        self._unreadable: set[str] = set()
        self.read()

    @property
    def name(self) -> str:
        return self._campaign.name

    @property
    def tester_cores(self) -> frozenset[int]:
        testers = {each.folder: each.tester for each in self._campaign.entries if isinstance(each, JobStarted)}
        here = (follower.state for folder, follower in self._measuring.items() if not testers[folder])
        return frozenset().union(*(state.tester_cores for state in here if not state.ended))

    @property
    def runs(self) -> frozenset[str]:
        """Returns the folders of the runs that have begun, within that of the campaign."""
        return frozenset(job.folder for job in self._campaign.jobs if job.folder)

    def read(self) -> bool:
        changed = self._read_log()
        for folder in set(self._measured_now()) - self._unreadable:
            try:
                changed |= self._follow(folder)
            except (PlanError, OSError):
                # The page of that run says what is wrong with it.
                self._unreadable.add(folder)
        return changed

    def parts(self) -> dict[str, str]:
        campaign = self._campaign
        state = rendered(
            "campaign.html.j2",
            name=campaign.name,
            done=len(campaign.jobs) - len(campaign.left),
            count=len(campaign.jobs),
            measuring=sum(job.state is JobState.RUNNING for job in campaign.jobs),
            at=campaign.entries[-1].time[:19].replace("T", " "),
            problems=[
                (f"{job.run} on {job.place}", job.state.value, job.reason) for job in campaign.left if job.reason
            ],
            set_aside=[(each.testbed, each.reason) for each in campaign.set_aside],
            pages=other_pages(self._folder),
        )
        plan = rendered(
            "campaign_plan.html.j2",
            places=campaign.places,
            rows=[(run, [self._cell(job) for job in jobs]) for run, jobs in campaign.matrix.items()],
        )
        texts = {"state": state, "plan": plan, "log": plain("\n".join(self._log()))}
        return {name: json.dumps(text) for name, text in texts.items()}

    def _read_log(self) -> bool:
        size = (self._folder.path / LOG_FILE).stat().st_size
        if size == self._size:
            return False
        self._campaign = read_campaign(self._folder.path)
        self._size = size
        now = set(self._measured_now())
        self._measuring = {folder: follower for folder, follower in self._measuring.items() if folder in now}
        self._unreadable.clear()
        return True

    def _measured_now(self) -> Iterator[str]:
        return (job.folder for job in self._campaign.jobs if job.folder and job.state is JobState.RUNNING)

    def _follow(self, folder: str) -> bool:
        """Takes what a run has written since; returns whether it was anything."""
        if follower := self._measuring.get(folder):
            return follower.read()
        # A run behind ssh has no events here before it comes home, and one that waits for cores none at all.
        if not self._folder.has(f"{folder}/{EVENTS_FILE}"):
            before = self._printed.get(folder)
            self._printed[folder] = self._last_line(folder)
            return self._printed[folder] != before
        self._measuring[folder] = Follower(self._folder.within(folder))
        return True

    def _cell(self, job: JobResult | None) -> Cell | None:
        """Returns what the matrix shows of a job, with a link to the page of its run."""
        shown = cell(job, self._folder.path)
        if job is None or shown is None:
            return None
        link = f"{job.folder}/" if job.folder and self._folder.has(f"{job.folder}/{EVENTS_FILE}") else ""
        return replace(shown, text=self._doing(job) if job.state is JobState.RUNNING else shown.text, link=link)

    def _doing(self, job: JobResult) -> str:
        """Returns how far a run is and which experiment it measures, or without events the last line that it printed;
        nothing as long as it has told nothing."""
        if job.folder not in self._measuring:
            return self._printed.get(job.folder or "", "")
        state = self._measuring[job.folder].state
        if state.experiment is None:
            return ""
        left = f", {state.time_left_text} left" if state.time_left_text else ""
        return f"{100 * state.share_done:.0f} %{left}: {state.experiment.title}"

    def _last_line(self, folder: str) -> str:
        """Returns the last line that a run printed, such as that it waits for cores; an empty one if there is none."""
        try:
            with self._folder.opened(f"{folder}.log") as log:
                lines = last_lines(log)
        except OSError:
            return ""
        return plain(lines[-1]) if lines else ""

    def _log(self) -> list[str]:
        lines = [f"{entry.time[11:19]} {text}" for entry in self._campaign.entries if (text := told(entry))]
        return lines[-MOST_LINES:]
