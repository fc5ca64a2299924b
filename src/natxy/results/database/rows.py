# SPDX-License-Identifier: Apache-2.0
"""The rows of a run's database that are not records themselves, with the types that their columns must have."""

from __future__ import annotations

from dataclasses import dataclass

from natxy.plan.caveats import Caveat
from natxy.results.records import DutRecord, RunState, State
from natxy.results.selftest import SelfTest, TesterIdentity
from natxy.system.machine import MachineLoad
from natxy.untrusted.values import Facts, Moment, Whole


@dataclass(frozen=True)
class StoredRun:
    """Holds a row of `run`."""

    id: Whole
    name: str
    started_at: Moment
    finished_at: Moment | None
    state: RunState
    owner: str
    plan_yaml: str
    seed: Whole
    natxy_version: str
    engine_info: Facts
    testbed: dict[str, str]
    caveats: list[Caveat]
    machine: dict[str, str]
    tester: TesterIdentity | None
    self_test: SelfTest | None


@dataclass(frozen=True)
class StoredSession:
    """Holds a row of `session`."""

    started_at: Moment
    ended_at: Moment
    load_before: MachineLoad
    load_after: MachineLoad


@dataclass(frozen=True)
class StoredExperiment:
    """Holds a row of `experiment`. The columns that repeat settings are for queries by hand and are not read."""

    id: Whole
    state: State
    reason: str
    settings: Facts
    duts: tuple[DutRecord, ...]
