# SPDX-License-Identifier: Apache-2.0
"""Finds the experiment that one trial of a script is a part of: the one that `natxy import` makes of its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from natxy.api import PlanError
from natxy.api.engine import Side, TrialResult
from natxy.api.plans import Experiment, Repeat, plan_of, procedure_of
from natxy.api.recording import settings_of, unknown_gateway
from natxy_siitperf.arguments import LARGEST_RATE_FPS, Arguments, counts_connections
from natxy_siitperf.conf import Conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import Source
from natxy_siitperf.program import Program
from natxy_siitperf.sides import REVERSE
from natxy_siitperf.trial.lines import direction_of
from natxy_siitperf.trial.phases import LOSSES, PROCEDURE

_procedure_of: Final[Mapping[Program, str]] = {
    Program.THROUGHPUT: "throughput",
    Program.LATENCY: "latency",
    Program.PDV: "pdv",
}
STEPPED: Final = frozenset({"throughput", LOSSES, "connection-rate"})
"""Names the procedures of which each call is a step; a call of any other one is a repetition."""


@dataclass(frozen=True)
class Part:
    """Places a trial in an experiment.

    `tried_fps` is the rate at which this trial is a step of others, None when the script measures at a given one.
    `direction_names` has the names that natxy gives to siitperf's directions.
    """

    experiment: Experiment
    tried_fps: int | None
    arguments: Arguments
    direction_names: Mapping[str, str]

    @classmethod
    def of(cls, conf: Conf, arguments: Arguments, asked: str | None = None, series: str | None = None) -> Part:
        """Raises PlanError when no plan can express the trial, or when it cannot be of LOSSES, if these are `asked`.

        `series` is the user's name of what a script measures.
        """
        procedure = _procedure(conf, arguments, asked)
        general = arguments
        tried_fps = None
        if procedure in {"throughput", LOSSES}:
            tried_fps = arguments.rate_fps
            general = replace(arguments, rate_fps=LARGEST_RATE_FPS)
        elif procedure == "connection-rate" and arguments.phase1:
            tried_fps = arguments.phase1.rate_fps
            general = replace(arguments, phase1=replace(arguments.phase1, rate_fps=LARGEST_RATE_FPS))
        # One that the script controls: a guess has limits that the trial's gateway may not have.
        source = Source(replace(conf, remarks=()), procedure, general, gateway="command")
        (planned,) = plan_of(import_plan(source), Path(conf.path)).experiments
        title = f"{series}: " if series else ""
        title += f"{arguments.program} {_shown(arguments, procedure)}"
        name = f"{series}-{procedure}" if series else procedure
        # However many repetitions the script begins, they are all that were asked for, and it chooses the rates.
        stated = {"name": name, "title": title, "repeat": Repeat(at_most=1), "search": None}
        if procedure == LOSSES:
            stated["procedure"] = procedure_of({"name": LOSSES})
        experiment = planned.model_copy(update={**stated, "gateway": unknown_gateway()})
        names = {source.first.key: "forward", source.second.key: "reverse", "Preliminary": "phase 1"}
        return cls(experiment, tried_fps, arguments, names)

    @property
    def settings(self) -> dict[str, Any]:
        """Returns the settings that trials of the same experiment have in common."""
        return settings_of(self.experiment, "name")

    @property
    def counts_phase1(self) -> bool:
        return self.experiment.procedure.name == "connection-rate"

    def renamed(self, result: TrialResult) -> TrialResult:
        """Returns the result with natxy's names, and with exchanged sides if siitperf's initiator is on the right."""
        turned = self.direction_names.get(REVERSE.key) == Side.LEFT.direction

        def side(of: Side) -> Side:
            return of.opposite if turned else of

        streams = []
        for stream in result.streams:
            own = direction_of(stream)
            name = stream.name.replace(own, self.direction_names.get(own, own), 1)
            streams.append(stream.model_copy(update={"name": name, "source": side(stream.source)}))
        ports = [port.model_copy(update={"side": side(port.side)}) for port in result.ports]
        samples = [sample.model_copy(update={"side": side(sample.side)}) for sample in result.samples]
        return result.model_copy(update={"streams": streams, "ports": ports, "samples": samples})


def _procedure(conf: Conf, arguments: Arguments, asked: str | None) -> str:
    found = _procedure_of_call(conf, arguments)
    if not asked:
        return found
    if found != "throughput" or arguments.program is not Program.THROUGHPUT:
        raise PlanError(f"{PROCEDURE} is {asked!r}, and this call of {arguments.program} is one of {found}; unset it")
    return asked


def _procedure_of_call(conf: Conf, arguments: Arguments) -> str:
    if counts_connections(arguments, conf):
        return "connection-rate"
    if arguments.program is Program.PDV and arguments.frame_timeout_ms:
        return "throughput"
    return _procedure_of[arguments.program]


def _shown(arguments: Arguments, procedure: str) -> str:
    """Returns the arguments that the trials have in common; `r` stands for the rate that a script varies."""
    rate = "r" if procedure in {"throughput", LOSSES} else str(arguments.rate_fps)
    words = [arguments.size, rate, arguments.duration_s, arguments.timeout_ms, arguments.n, arguments.m]
    if phase1 := arguments.phase1:
        searched = procedure == "connection-rate"
        words += [phase1.frames, phase1.table, "r" if searched else phase1.rate_fps, phase1.timeout_ms]
        words.append("D" if searched else phase1.start_of_phase2_ms)
    if arguments.program is Program.LATENCY:
        words += [arguments.delay_s, arguments.timestamps]
    if arguments.program is Program.PDV:
        words.append(arguments.frame_timeout_ms)
    return " ".join(map(str, words))
