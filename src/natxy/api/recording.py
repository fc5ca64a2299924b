# SPDX-License-Identifier: Apache-2.0
"""Offers runs to programs that add to them what they have measured themselves: the store, its records, and its files.

A run belongs to one process at a time: hold `sole_owner` while you write.
"""

from natxy.installation import full_version
from natxy.plan.caveats import limitation
from natxy.plan.model.units import Unit
from natxy.procedures.common.traffic import by_direction
from natxy.results import RESULTS_FILE
from natxy.results.curves import Axis, Curve
from natxy.results.pcap import FOREIGN_FILE, PcapWriter
from natxy.results.planned import settings_of, unknown_gateway
from natxy.results.records import ExperimentRecord, RepetitionRecord, RunState, State
from natxy.results.store import RunStore, Step
from natxy.results.trials import Purpose, TrialKind, TrialRecord
from natxy.run.folder import make_folder, sole_owner
from natxy.system.machine import MachineLoad, describe_machine

__all__ = [
    "FOREIGN_FILE",
    "RESULTS_FILE",
    "Axis",
    "Curve",
    "ExperimentRecord",
    "MachineLoad",
    "PcapWriter",
    "Purpose",
    "RepetitionRecord",
    "RunState",
    "RunStore",
    "State",
    "Step",
    "TrialKind",
    "TrialRecord",
    "Unit",
    "by_direction",
    "describe_machine",
    "full_version",
    "limitation",
    "make_folder",
    "settings_of",
    "sole_owner",
    "unknown_gateway",
]
