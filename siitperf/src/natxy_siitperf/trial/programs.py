# SPDX-License-Identifier: Apache-2.0
"""Runs siitperf-tp, siitperf-lat and siitperf-pdv in the current directory.

The exit code is siitperf's: 255 before a test, 1 in the middle of it, and 0 whatever it measured.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from natxy.api import NatxyError
from natxy.api.engine import EngineClient, Holder, exclusive
from natxy.api.terms import Family
from natxy_siitperf.arguments import ArgumentError, ignored, parse_arguments
from natxy_siitperf.conf import FILE, Conf, ConfError, read_conf
from natxy_siitperf.program import Program
from natxy_siitperf.rules import check
from natxy_siitperf.trial.lines import fail, remark, say
from natxy_siitperf.trial.neighbors import with_dut_macs
from natxy_siitperf.trial.phases import PROCEDURE, RUN, SERIES, Phase, check_variables
from natxy_siitperf.trial.ports import TrialPorts, find_trial_ports
from natxy_siitperf.trial.trial import Test, check_requests, prepare, run
from natxy_siitperf.trial.usage import HELP, usage

UNUSABLE: Final = 255
BROKEN: Final = 1
_INTERRUPTED: Final = 130

Record = Callable[[Sequence[Phase], BaseException | None], None]
"""Stores the phases of a test, and what broke it off."""


def throughput() -> None:
    sys.exit(main(Program.THROUGHPUT, sys.argv[1:]))


def latency() -> None:
    sys.exit(main(Program.LATENCY, sys.argv[1:]))


def pdv() -> None:
    sys.exit(main(Program.PDV, sys.argv[1:]))


def main(program: Program, given: Sequence[str]) -> int:
    """Runs a program in the current directory; returns its exit code."""
    if len(given) == 1 and given[0] in HELP:
        say(usage(program))
        return 0
    try:
        return _main(program, given)
    except KeyboardInterrupt:
        remark("interrupted")
        return _INTERRUPTED


def _main(program: Program, given: Sequence[str]) -> int:
    engine: EngineClient | None = None
    prepared = False
    with ExitStack() as held:
        try:
            conf = read_conf(Path(FILE))
            for each in conf.remarks:
                remark(f"{FILE}, line {each.line}: {each.text}")
            conf = with_dut_macs(conf, os.environ)
            test = _test(program, given, conf)
            for text in (*check_variables(os.environ), *ignored(program, given, conf)):
                remark(text)
            tester = find_trial_ports(conf, test.arguments.sent_size(Family.IPV6), os.environ)
            for text in tester.remarks:
                remark(text)
            held.enter_context(exclusive(tester.claims, _say_waiting))
            engine = EngineClient(tester.argv)
            # It imports while the engine starts.
            record = _recorder(test, tester)
            prepare(test, engine, tester)
            prepared = True
            _measure(test, engine, record)
        except ArgumentError as error:
            fail(f"Input Error: {error}")
            return UNUSABLE
        except NatxyError as error:
            fail(f"Error: {error}")
            return BROKEN if prepared else UNUSABLE
        finally:
            if engine is not None:
                engine.close()
    return 0


def _say_waiting(holder: Holder) -> None:
    remark(f"waiting for {holder.what}, which process {holder.pid} ({holder.command}) holds")


def _test(program: Program, given: Sequence[str], conf: Conf) -> Test:
    """Returns the test that a call asks for. Raises PlanError if it cannot be carried out."""
    try:
        arguments = parse_arguments(program, given, conf)
        check(conf, background=arguments.m < arguments.n)
        test = Test.of(conf, arguments, os.environ)
        check_requests(test)
    except ConfError as error:
        misread = ", ".join(str(each.line) for each in conf.remarks if not each.harmless)
        if not misread:
            raise
        raise ConfError(f"{error}; mend line {misread} first, which siitperf does not read as it is written") from error
    return test


def _measure(test: Test, engine: EngineClient, record: Record) -> None:
    """Carries out the test and records its phases, even if it is broken off: that error is raised then."""
    phases: list[Phase] = []
    try:
        phases.extend(run(test, engine))
    except BaseException as error:
        if phases:
            try:
                record(phases, error)
            except NatxyError as second:
                remark(str(second))
        raise
    record(phases, None)


def _recorder(test: Test, tester: TrialPorts) -> Record:
    """Returns what appends the phases to the run that the environment names, if any. Raises PlanError if it cannot."""
    given = os.environ.get(RUN)
    if not given:
        return lambda *_: None
    # They take longer to import than everything else, and most calls do not need them.
    from natxy.api.recording import MachineLoad
    from natxy_siitperf.recording.experiment import Part
    from natxy_siitperf.recording.run import append, check_folder

    folder = Path(given)
    check_folder(folder)
    part = Part.of(test.conf, test.arguments, os.environ.get(PROCEDURE), os.environ.get(SERIES))
    sides = {f"{port.side} port": port.device for port in tester.ports}
    described = {"testbed": "the ports of the programs that stand in for siitperf's", **sides}
    began = MachineLoad.now()
    return lambda phases, broken_off: append(folder, part, phases, described, broken_off, began)
