# SPDX-License-Identifier: Apache-2.0
"""Shares what drivers do whose gateway is a core of softwires in user space, of the user's own build."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import ClassVar, TypeVar

from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability
from natxy.dut.linux.background import BackgroundProgram
from natxy.dut.linux.softwires import SoftwireEndGateway
from natxy.dut.linux.tun import check_process, run_path
from natxy.errors import DutError
from natxy.plan.gateways.relay import RelayModel

RelayConfigT = TypeVar("RelayConfigT", bound=RelayModel)


class RelayGateway(SoftwireEndGateway[RelayConfigT]):
    """Runs one process, which answers for the DUT's addresses and forwards all frames itself."""

    # The process runs on any core of the DUT.
    capabilities: frozenset[Capability] = frozenset()
    remedy: ClassVar[str]
    """Says how to get the program."""
    process: ClassVar[str] = ""
    """The name that the process gives itself; empty where the process has the name of its program."""

    @classmethod
    def programs(cls, config: RelayConfigT) -> dict[str, str]:
        return super().programs(config) | {config.program: cls.remedy}

    @cached_property
    def path(self) -> str:
        """Returns the start of the names of the process's files."""
        return run_path(self.transport, self.name)

    @property
    def conf_file(self) -> str:
        return f"{self.path}.conf"

    @property
    def background(self) -> BackgroundProgram:
        return BackgroundProgram(self.transport, self.config.program, self.remedy, self.path, self.process)

    def change(self, without: Sequence[SubscriberRange], carry_out: Callable[[], object]) -> None:
        try:
            super().change(without, carry_out)
        except DutError:
            # The process was started anew.
            self.wait_ready()
            raise

    def check_alive(self) -> None:
        """Looks for the process."""
        check_process(self.transport, self.background.name, self.background.pid_file, self.outer)

    def mac(self, interface: str) -> str:
        return self.transport.run(["cat", f"/sys/class/net/{interface}/address"]).stdout.strip()
