# SPDX-License-Identifier: Apache-2.0
"""The events of a run as a whole: its experiments, their repetitions and results, and what they are measured on."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from natxy.events.base import VERSION, Event
from natxy.plan.caveats import Caveat
from natxy.plan.model.units import Unit
from natxy.results.bounded import Bound
from natxy.results.records import RunState, State
from natxy.untrusted.values import Real, Whole


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class PlannedExperiment(_Part):
    """An experiment of the plan, with what a view of its progress needs."""

    name: str
    title: str
    procedure: str
    gateway: str = Field(description="the driver")
    unit: Unit = Field(description="that of the result")
    step_unit: Unit = Field(description="that of the value which is varied from step to step")
    repetitions: Whole = Field(description="how many there are at most")
    until_precise: bool = Field(description="whether fewer repetitions do once the result is precise")
    steps: Whole = Field(ge=1, description="about how many steps a repetition takes")
    repetition_s: Real = Field(description="about how long a repetition takes, with its share of the set-ups")
    between_hosts: bool = Field(description="whether hosts with a TCP of their own replace the tester's ports")
    result_label: str = Field(default="", description="what a result of this experiment is said with, such as a loss")


class RunStarted(Event):
    """A run begins, or is resumed. The experiments are in the order of the plan."""

    event: Literal["run_started"] = "run_started"
    version: Whole = Field(default=VERSION, description="that of the events")
    natxy_version: str
    name: str = Field(description="the plan's")
    folder: str
    testbed: str = Field(description="its kind")
    resumed: bool
    experiments: tuple[PlannedExperiment, ...]


class BlockStarted(Event):
    """A repetition of each of so many experiments follows; only in `order: blocks`."""

    event: Literal["block_started"] = "block_started"
    number: Whole
    experiments: Whole


class RepetitionStarted(Event):
    """A repetition begins, before its gateway is set up."""

    event: Literal["repetition_started"] = "repetition_started"
    experiment: str
    repetition: Whole


class TestbedBuilt(Event):
    """Testbed, gateway and tester are ready for an experiment, and for those after it that fit."""

    event: Literal["testbed_built"] = "testbed_built"
    experiment: str
    took_s: Real
    tester_cores: tuple[Whole, ...] = Field(default=(), description="those of this machine that only measure")
    description: dict[str, str]
    caveats: tuple[Caveat, ...] = Field(
        default=(), description="where measuring on it departs from the RFCs, and what else limits the results"
    )


class TestbedRemoved(Event):
    """A testbed, its gateway and its tester are removed: the run ends, an experiment needs the place, or for the
    `reason`. Several may stand at a time."""

    event: Literal["testbed_removed"] = "testbed_removed"
    reason: str = ""


class FigureValue(_Part):
    """One figure of a result; the value is None if it has none."""

    name: str
    title: str
    unit: Unit
    value: Real | None


class RepetitionFinished(Event):
    """A repetition has a result, also one that was measured before the run was resumed.

    The first figure is the headline. The bounds are the highest value that passed and the lowest that failed.
    """

    event: Literal["repetition_finished"] = "repetition_finished"
    experiment: str
    repetition: Whole
    figures: tuple[FigureValue, ...]
    lower_bound: Real | None
    upper_bound: Real | None
    remark: str


class Median(_Part):
    """The median of `count` repetitions, and how the truth relates to it."""

    value: Real
    bound: Bound
    count: Whole


class ExperimentFinished(Event):
    """An experiment has ended."""

    event: Literal["experiment_finished"] = "experiment_finished"
    experiment: str
    state: State
    reason: str
    median: Median | None = Field(description="null without any result")


class RunFinished(Event):
    """The run has ended; `exit_code` is known when it ended by itself."""

    event: Literal["run_finished"] = "run_finished"
    state: RunState
    exit_code: Whole | None = None
    reason: str = ""


class Warned(Event):
    """Something may bias the results, or was left behind by an earlier run."""

    event: Literal["warned"] = "warned"
    text: str
