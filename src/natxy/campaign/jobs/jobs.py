# SPDX-License-Identifier: Apache-2.0
"""Makes the jobs of a campaign: a run of a plan at one place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

from natxy.campaign.jobs.model import Campaign, CampaignRun
from natxy.errors import PlanError
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.run.estimate import estimate_s
from natxy.system.interrupts import dumped

_SUFFIXES: Final = (".yaml", ".yml")


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

    @cached_property
    def estimate_s(self) -> float:
        """Returns about how long the preferred testbed takes."""
        return estimate_s(next(iter(self.plans.values())))

    def folder(self, testbed: str) -> Path:
        """Returns the folder of the run on a testbed, within that of the campaign."""
        name = self.place if testbed == self.place else f"{self.place}@{testbed}"
        return Path("runs") / self.run / name


def jobs_of(campaign: Campaign, file: Path) -> list[Job]:
    """Returns the jobs in the campaign's order. `file`: that of the campaign. Raises PlanError for errors of plans."""
    settings = {name: dumped(testbed.testbed, exclude_none=True) for name, testbed in campaign.testbeds.items()}
    return [job for run in campaign.runs for job in _jobs(campaign, run, settings, file.parent)]


def _jobs(
    campaign: Campaign, run: CampaignRun, settings: Mapping[str, Mapping[str, Any]], folder: Path
) -> Iterator[Job]:
    # Testbeds that are set alike share a plan: there may be hundreds, and to load one takes a hundredth of a second.
    loaded: dict[str, ResolvedPlan] = {}

    def plan(testbed: str) -> ResolvedPlan:
        key = repr(settings[testbed])
        if key not in loaded:
            # The error of a file that is no plan has a line of it, which may be a secret.
            file = (folder / run.plan).resolve()
            if file.suffix.lower() not in _SUFFIXES:
                expected = f"expected a file whose name ends with {' or '.join(_SUFFIXES)}"
                raise PlanError(f"the run {run.name}: plan: {expected}, and {run.plan} is {file}")
            try:
                loaded[key] = load_plan(folder / run.plan, changes={**run.overrides, "testbed": settings[testbed]})
            except PlanError as error:
                raise type(error)(f"the run {run.name} on {testbed}: {error}") from error
        return loaded[key]

    for place in run.on:
        yield Job(
            run=run.name,
            place=place,
            plans={testbed: plan(testbed) for testbed in campaign.candidates(place)},
            prepare=run.prepare,
            priority=run.priority,
            after=frozenset(run.after),
        )
