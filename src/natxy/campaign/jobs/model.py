# SPDX-License-Identifier: Apache-2.0
"""Defines what the file of a campaign says: testbeds, and which plans are measured on which of them."""

from __future__ import annotations

from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field

from natxy.plan.gateways.command import Command
from natxy.plan.model.base import Pattern, PlanModel, Shorthand
from natxy.plan.model.problems import Problem
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.machines import SshTarget
from natxy.untrusted.validation import guess

# Names are also those of folders.
NAME_PATTERN: Final = r"[A-Za-z0-9][A-Za-z0-9._-]*"
Name = Annotated[
    str, Pattern(NAME_PATTERN, "a name of letters, digits, dots, hyphens and underscores"), Field(max_length=64)
]


class CampaignTester(PlanModel):
    """A machine that is reached by ssh and has natxy."""

    ssh: SshTarget
    natxy: str = "natxy"
    """The program there; a path, unless it is on the PATH of the user who logs in."""


class Place(PlanModel):
    """Names a place of labgrid, and the coordinator that knows it."""

    name: Annotated[str, Pattern(r"[^\s/=*-][^\s/=*]*", "the name of a place, as `labgrid-client places` lists it")]
    coordinator: str | None = None
    """HOST:PORT; default: that of the environment, as labgrid-client has it."""


class CampaignTestbed(PlanModel):
    """A testbed, as a plan has it, and the machine with its tester."""

    testbed: TestbedConfig
    tester: Annotated[CampaignTester, Shorthand("ssh", "CampaignTester")] | None = None
    """The machine that natxy runs on; default: this machine."""
    place: Annotated[Place, Shorthand("name", "Place")] | None = None
    """Names the place that a job acquires before it begins, and releases when it has ended."""
    same_hardware: Name | None = None
    """A name that testbeds share which can stand in for each other."""


class CampaignRun(PlanModel):
    """A plan, and where it is measured."""

    name: Name
    plan: Path
    """The plan's file; a relative path begins at the campaign's file. Its own `testbed` is replaced."""
    on: Annotated[list[Name], Field(min_length=1)]
    """Testbeds, each of which measures the plan, and names of `same_hardware`, of whose testbeds one measures it."""
    overrides: dict[str, Any] = Field(default={})
    """Fields that replace those of the plan, e.g. {repeat: 3, defaults: {frame_size: 512}}."""
    prepare: list[Command] = Field(default=[])
    """Commands that the tester's machine runs before it measures, when the testbed is free, in the folder in which
    natxy begins: give absolute paths."""
    priority: Annotated[int, Field(ge=-1000, le=1000)] = 0
    """Runs with a higher one begin first."""
    after: list[Name] = Field(default=[])
    """Runs that have to be measured everywhere before."""


class Campaign(PlanModel):
    """A campaign."""

    name: Name
    description: str = ""
    max_failures: Annotated[int, Field(ge=1, le=1000)] = 3
    """Jobs that fail on a testbed in a row after which it is used no more."""
    testbeds: Annotated[dict[Name, CampaignTestbed], Field(min_length=1)]
    runs: Annotated[list[CampaignRun], Field(min_length=1)]

    def candidates(self, place: str) -> tuple[str, ...]:
        """Returns the testbeds that can measure what is to be measured at `place`, a testbed or a name of
        `same_hardware`: the testbed itself first."""
        named = self.testbeds.get(place)
        group = named.same_hardware if named else place
        alike = [name for name, testbed in self.testbeds.items() if group and testbed.same_hardware == group]
        return tuple(dict.fromkeys([*([place] if named else []), *alike]))

    def problems(self) -> Iterator[Problem]:
        """Yields the errors that the types of the fields do not prevent."""
        groups = {testbed.same_hardware for testbed in self.testbeds.values() if testbed.same_hardware}
        for name in groups & set(self.testbeds):
            yield Problem(
                ("testbeds", name), f"{name} is also a name of `same_hardware`, and `on` could mean both; rename one"
            )
        places, names = sorted({*groups, *self.testbeds}), [run.name for run in self.runs]
        for number, run in enumerate(self.runs):
            if run.name in names[:number]:
                yield Problem(("runs", number, "name"), f"there are two runs {run.name!r}; rename one")
            for index, place in enumerate(run.on):
                if place not in places:
                    text = f"there is no testbed {place!r}{guess(place, places) or '.'} Expected {', '.join(places)}"
                    yield Problem(("runs", number, "on", index), text)
                if place in run.on[:index]:
                    yield Problem(("runs", number, "on", index), f"{place} is here twice; remove one")
            for index, other in enumerate(run.after):
                if other not in names:
                    yield Problem(("runs", number, "after", index), f"there is no run {other!r}{guess(other, names)}")
            if "testbed" in run.overrides:
                text = "the campaign's `testbeds` decide it; remove it"
                yield Problem(("runs", number, "overrides", "testbed"), text)
        try:
            TopologicalSorter({run.name: run.after for run in self.runs}).prepare()
        except CycleError as error:
            yield Problem(("runs",), f"runs wait for each other: {' after '.join(reversed(error.args[1]))}")
