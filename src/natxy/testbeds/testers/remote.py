# SPDX-License-Identifier: Apache-2.0
"""Reaches a further tester by ssh: prepares its ports there, and starts its engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from natxy import __version__
from natxy.dut.transport.hotplug import SYSFS
from natxy.dut.transport.ssh import SshTransport, UnreachableError, ssh_command
from natxy.engine.client import EngineClient
from natxy.engine.clocks import measured_offset
from natxy.engine.messages.common import Side
from natxy.engine.messages.ports import PortSpec
from natxy.engine.testers import Tester
from natxy.errors import DutError, FurtherTesterError, PlanError
from natxy.plan.caveats import Caveat
from natxy.plan.testbeds.cores import CoreAssignment, assign_cores
from natxy.plan.testbeds.hardware import HardwareConfig
from natxy.plan.testbeds.machines import FurtherTester
from natxy.testbeds.testers.ports import TesterPorts


class RemoteTester:
    """Prepares a further tester's ports and starts its engine; only pairs below `pairs` are used.

    Commands that fail there raise FurtherTesterError, because the DUT is not to blame.
    """

    def __init__(self, tester: FurtherTester, config: HardwareConfig, mtu: int, pairs: int) -> None:
        self._tester = tester
        self._location = tester.location
        self.transport = SshTransport(tester.location.ssh)
        self._ports = {
            number: TesterPorts(
                dict(zip(Side, ends, strict=True)),
                self.transport,
                io=config.io,
                queues=config.queues,
                mtu=mtu,
                pair=number,
            )
            for number, ends in tester.pairs.items()
            if number < pairs
        }
        self._cores: CoreAssignment | None = None
        self._clock_error_ns = 0

    @property
    def name(self) -> str:
        return str(self._location)

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Has the ports ready within the context. Raises PlanError for a wrong engine, core or port."""
        with self.transport:
            with self._at_fault(), ExitStack() as stack:
                self._check_engine()
                self._cores = self._assigned()
                for ports in self._ports.values():
                    stack.enter_context(ports.taken())
                taken = stack.pop_all()
            try:
                yield
            finally:
                with self._at_fault():
                    taken.close()

    def specs(self) -> list[PortSpec]:
        with self._at_fault():
            return [spec for ports in self._ports.values() for spec in ports.specs()]

    def start_engine(self, log: Path) -> Tester:
        """Starts the engine there; its stderr goes to `log`, which is here."""
        assert self._cores
        workers = ",".join(map(str, self._cores.tester))
        argv = [self._location.engine, "--worker-cores", workers, "--main-core", str(self._cores.main)]
        argv += self._tester.ports.engine_arguments
        engine = EngineClient(ssh_command(self._location.ssh, argv), log)
        tester = Tester(self.name, engine, tuple(self._ports))
        try:
            with tester.named():
                self._clock_error_ns = measured_offset(engine).error_ns
        except BaseException:
            engine.close()
            raise
        return tester

    def description(self) -> dict[str, str]:
        assert self._cores
        numbers = [str(number + 1) for number in self._ports]
        title = f"tester of pair{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
        cores = (f"{name} {text}" for name, text in self._cores.description().items())
        clock = f"clock known within {self._clock_error_ns / 1000:.0f} us at first"
        described = {title: "; ".join([self.transport.describe(), *cores, clock])}
        for ports in self._ports.values():
            described |= ports.description()
        return described

    def caveats(self) -> list[Caveat]:
        """Returns the caveats of the ports, which have to be taken."""
        with self._at_fault():
            return [caveat for ports in self._ports.values() for caveat in ports.caveats()]

    @contextmanager
    def _at_fault(self) -> Iterator[None]:
        """Turns the error of a command there into one of this tester's."""
        try:
            yield
        except DutError as error:
            raise FurtherTesterError(f"{self.name}: {error}; the gateway is not to blame") from error

    def _check_engine(self) -> None:
        """Raises PlanError unless the engine there is of this natxy's version."""
        # A refused login is no missing engine.
        self.transport.run(["true"])
        try:
            said = self.transport.run([self._location.engine, "--version"]).stdout.split()
        except UnreachableError:
            raise
        except DutError as error:
            raise PlanError(
                f"{self.name}: {error}; install natxy there, or give the program's path as the tester's `engine`"
            ) from error
        if said[1:2] != [__version__]:
            raise PlanError(
                f"{self.name} has natxy-engine {' '.join(said[1:2]) or 'of no version'}, and this natxy is "
                f"{__version__}; install the same one there"
            )

    def _assigned(self) -> CoreAssignment:
        present = self.transport.hot_plug.cores()
        if not present:
            raise PlanError(f"{self.name} lists no cores in {SYSFS}/online; give a machine with Linux")
        if missing := sorted({*(self._location.cores or ())} - {*present}):
            there = ", ".join(map(str, present))
            raise PlanError(f"{self.name} has no core {missing[0]}, but {there}: give others as the tester's `cores`")
        return assign_cores(present, self._location.cores, ())
