# SPDX-License-Identifier: Apache-2.0
"""Says in a line what an entry of a campaign's log tells."""

from __future__ import annotations

from natxy.campaign.jobs.queue import Ending
from natxy.campaign.log import CampaignStarted, JobEnded, JobStarted, TestbedSetAside
from natxy.events.base import Event
from natxy.plan.model.units import counted


def told(entry: Event) -> str:
    """Returns the line; an empty one for what says nothing new."""
    match entry:
        case CampaignStarted() if entry.done:
            return f"{entry.done} of {counted(len(entry.jobs), 'job')} done before"
        case JobStarted():
            return f"{entry.testbed}: {entry.run}/{entry.place} begins: {entry.folder}"
        case JobEnded():
            why = f": {entry.reason}" if entry.ending is not Ending.DONE else ""
            return f"{entry.testbed}: {entry.run}/{entry.place} {entry.ending}{why}"
        case TestbedSetAside():
            return f"{entry.testbed} is set aside, because several jobs failed there in a row: {entry.reason}"
        case _:
            return ""
