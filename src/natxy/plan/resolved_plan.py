# SPDX-License-Identifier: Apache-2.0
"""Holds a plan with all default values written out. A run measures this plan and keeps a copy."""

from __future__ import annotations

from io import StringIO

from pydantic import Field
from ruamel.yaml import YAML
from ruamel.yaml.scalarstring import LiteralScalarString

from natxy.plan.experiment import Experiment
from natxy.plan.model.base import PlanModel
from natxy.plan.model.repeat import RunOrder
from natxy.plan.model.terms import Family
from natxy.plan.testbeds import TestbedConfig
from natxy.system.interrupts import dumped


class ResolvedPlan(PlanModel):
    name: str
    description: str
    seed: int
    order: RunOrder
    family: Family
    testbed: TestbedConfig
    allow_public_destinations: bool
    published: list[str]
    experiments: list[Experiment]
    absent_baselines: dict[str, list[str]] = Field(
        default={}, exclude=True, description="experiments whose baseline was not selected, by that baseline"
    )
    unjudged_ratios: list[str] = Field(
        default=[], exclude=True, description="experiments that lost the thresholds of their ratio with their baseline"
    )

    def to_yaml(self) -> str:
        """Returns the resolved plan as the YAML of a plan."""
        yaml = YAML()
        yaml.default_flow_style = False
        text = StringIO()
        plan = dumped(self, exclude_none=True)
        for experiment in plan["experiments"]:
            # A table keeps its lines.
            subscribers = experiment.get("subscribers", {})
            subscribers |= {key: LiteralScalarString(value) for key, value in subscribers.items() if key == "table"}
        yaml.dump(plan, text)
        return text.getvalue()
