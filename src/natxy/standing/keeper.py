# SPDX-License-Identifier: Apache-2.0
"""Keeps the lab of a plan standing: a process of its own builds it, waits for a signal, and removes it again."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NoReturn

from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds.lab import LabConfig
from natxy.run.caveats import needs
from natxy.run.cores import set_cores
from natxy.run.setup import check_installed, set_up_gateway
from natxy.standing.labs import StandingLab, recorded_lab
from natxy.system.interrupts import INTERRUPTS, serialized
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.registry import create_testbed


def keep_lab(plan: ResolvedPlan, path: Path) -> StandingLab:
    """Forks the process that keeps the lab of a plan's first experiment, and returns the lab once it stands.

    The errors of building it are raised in the new process, and end that in the way in which they would end this one,
    which then ends by SystemExit with the same code. Call it where SIGTERM raises KeyboardInterrupt.
    """
    reading, writing = os.pipe()
    keeper = os.fork()
    if keeper == 0:
        os.close(reading)
        _keep(plan, path, writing)
    os.close(writing)
    try:
        with os.fdopen(reading, "rb") as answer:
            told = answer.read()
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(keeper, signal.SIGTERM)
        os.waitpid(keeper, 0)
        raise
    if told:
        return StandingLab.model_validate_json(told)
    code = os.waitstatus_to_exitcode(os.waitpid(keeper, 0)[1])
    if code < 0:
        raise DutError("the process that built the lab was killed; `natxy lab down` removes what it left")
    raise SystemExit(code)


def _keep(plan: ResolvedPlan, path: Path, writing: int) -> NoReturn:
    """Builds the lab, writes its description into the pipe `writing`, and removes the lab after a signal."""
    # The terminal's Ctrl-C and its end are not for a lab that stands.
    os.setsid()
    with _built(plan, plan.experiments[0], path) as lab:
        # No signal may come between the description and the wait for one.
        signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        os.write(writing, serialized(lab).encode())
        os.close(writing)
        _leave_outputs()
        signal.sigwait(INTERRUPTS)
    os._exit(0)


@contextmanager
def _built(plan: ResolvedPlan, experiment: Experiment, path: Path) -> Iterator[StandingLab]:
    check_installed(plan, experiment)
    testbed = create_testbed(plan.testbed, needs(plan, experiment))
    assert isinstance(testbed, NetnsLab)
    assert isinstance(plan.testbed, LabConfig)
    with ExitStack() as stack:
        lab = StandingLab.of(testbed, plan.testbed.io, experiment, path)
        stack.enter_context(recorded_lab(lab))
        stack.enter_context(testbed)
        gateway = set_up_gateway(stack, testbed, plan, experiment)
        gateway.wait_ready()
        set_cores(gateway, testbed.gateway_cores, experiment)
        yield lab


def _leave_outputs() -> None:
    """Closes the standard streams of whoever started the lab: a shell that reads them would wait for their end."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in range(3):
        os.dup2(nothing, descriptor)
    os.close(nothing)
