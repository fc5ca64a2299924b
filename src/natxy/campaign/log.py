# SPDX-License-Identifier: Apache-2.0
"""Writes and reads the log of a campaign: which testbed carried out which job, when, and how that ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from natxy import __version__
from natxy.campaign import LOG_FILE
from natxy.campaign.jobs.model import NAME_PATTERN
from natxy.campaign.jobs.queue import Ending, JobState
from natxy.errors import PlanError
from natxy.events.base import Event
from natxy.system.interrupts import serialized
from natxy.system.whole_file import appended_file
from natxy.untrusted.files import ForeignFolder
from natxy.untrusted.texts import safe_json

INTERRUPTED: Final = "interrupted"
"""The reason of a job that was under way when a session ended."""

# What links and readers take for a folder within that of the campaign.
RunFolder = Annotated[str, Field(pattern=f"^runs/{NAME_PATTERN}/{NAME_PATTERN}(@{NAME_PATTERN})?$")]


class LoggedJob(BaseModel):
    """Names a job, and where it is not measured, says why."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    run: str
    place: str
    state: JobState = JobState.WAITING
    reason: str = ""

    @property
    def key(self) -> str:
        return f"{self.run}/{self.place}"


class CampaignStarted(Event):
    """A session of the campaign begins; `done`: how many of its jobs are done already."""

    event: Literal["campaign_started"] = "campaign_started"
    name: str
    natxy_version: str = __version__
    jobs: tuple[LoggedJob, ...]
    done: int


class JobStarted(Event):
    """A testbed begins a job, or resumes it.

    `folder`: that of the run, within that of the campaign. `tester`: the machine behind ssh that measures; empty when
    this machine does.
    """

    event: Literal["job_started"] = "job_started"
    run: str
    place: str
    testbed: str
    folder: RunFolder
    tester: str = ""


class JobEnded(Event):
    """An attempt at a job has ended; `given_up`: the jobs that this session does not measure because of that."""

    event: Literal["job_ended"] = "job_ended"
    run: str
    place: str
    testbed: str
    folder: RunFolder
    ending: Ending
    exit_code: int | None
    reason: str
    given_up: tuple[LoggedJob, ...] = ()


class TestbedSetAside(Event):
    """A testbed is used no more in this session, because several jobs failed there in a row."""

    event: Literal["testbed_set_aside"] = "testbed_set_aside"
    testbed: str
    reason: str


class CampaignEnded(Event):
    """The session has ended; `left`: the jobs that are not done."""

    event: Literal["campaign_ended"] = "campaign_ended"
    left: tuple[LoggedJob, ...]
    interrupted: bool = False


_ENTRY: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[CampaignStarted | JobStarted | JobEnded | TestbedSetAside | CampaignEnded, Field(discriminator="event")]
)


class CampaignLog:
    """Appends entries, each of which is on the disk before anything else happens."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def append(self, entry: Event) -> None:
        left = safe_json(serialized(entry)).encode() + b"\n"
        while left:
            left = left[os.write(self._fd, left) :]
        os.fdatasync(self._fd)


@contextmanager
def campaign_log(folder: Path) -> Iterator[CampaignLog]:
    """Yields the log of the campaign in a folder, without the half of a line that a killed session left."""
    with appended_file(folder / LOG_FILE) as file:
        file.seek(0)
        written = file.read()
        file.truncate(written.rfind(b"\n") + 1)
        yield CampaignLog(file.fileno())


def read_log(folder: Path) -> list[Event]:
    """Returns the entries, the oldest first, without a last line that is not whole.

    Raises PlanError when there is no log, or a line is no entry.
    """
    file = folder / LOG_FILE
    try:
        with ForeignFolder(folder).opened(LOG_FILE) as log:
            *lines, _ = log.read().split(b"\n")
    except OSError as error:
        raise PlanError(f"{folder} is not the folder of a campaign: {LOG_FILE}: {error.strerror}") from error
    entries: list[Event] = []
    for number, line in enumerate(lines, start=1):
        try:
            entries.append(_ENTRY.validate_json(line))
        except ValidationError as error:
            # A later natxy may tell more.
            if error.errors()[0]["type"] != "union_tag_invalid":
                raise PlanError(f"{file}:{number}: no entry of a campaign's log") from error
    return entries
