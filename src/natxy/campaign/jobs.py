# SPDX-License-Identifier: Apache-2.0
"""Makes the jobs of a campaign: a run of a plan at one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from natxy.campaign.model import Campaign, CampaignRun
from natxy.errors import PlanError
from natxy.plan.experiment import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.run.estimate import estimate_s


@dataclass(frozen=True)
class Job:
    """Holds what is measured at one place of a run, by one of the testbeds in `plans`, the preferred one first."""

    run: str
    place: str
    plans: Mapping[str, ResolvedPlan]
    prepare: Sequence[Sequence[str]] = ()
    priority: int = 0
    after: frozenset[str] = frozenset()

    @property
    def key(self) -> str:
        return f"{self.run}/{self.place}"

    @property
    def testbeds(self) -> tuple[str, ...]:
        return tuple(self.plans)

    @property
    def estimate_s(self) -> float:
        """Returns about how long the preferred testbed takes."""
        return estimate_s(next(iter(self.plans.values())))

    def folder(self, testbed: str) -> Path:
        """Returns the folder of the run on a testbed, within that of the campaign."""
        name = self.place if testbed == self.place else f"{self.place}@{testbed}"
        return Path("runs") / self.run / name


def jobs_of(campaign: Campaign, file: Path) -> list[Job]:
    """Returns the jobs in the campaign's order. `file`: that of the campaign. Raises PlanError for errors of plans."""
    return [_job(campaign, run, place, file.parent) for run in campaign.runs for place in run.on]


def _job(campaign: Campaign, run: CampaignRun, place: str, folder: Path) -> Job:
    return Job(
        run=run.name,
        place=place,
        plans=dict(_plans(campaign, run, place, folder)),
        prepare=run.prepare,
        priority=run.priority,
        after=frozenset(run.after),
    )


def _plans(campaign: Campaign, run: CampaignRun, place: str, folder: Path) -> Iterator[tuple[str, ResolvedPlan]]:
    for testbed in campaign.candidates(place):
        settings = campaign.testbeds[testbed].testbed.model_dump(mode="json", exclude_none=True)
        try:
            yield testbed, load_plan(folder / run.plan, changes={**run.overrides, "testbed": settings})
        except PlanError as error:
            raise type(error)(f"the run {run.name} on {testbed}: {error}") from error
