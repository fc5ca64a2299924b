# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that stand in for siitperf's in a lab, and captures what they send."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any, Final

from scapy.packet import Packet

from natxy.dut.base import Gateway
from natxy.dut.registry import create
from natxy.engine.messages.common import Side
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.lab import NetnsLab
from tests.support.capture import Direction, captured
from tests.support.lab_frames import namespace_of_tester

# The tests judge frames and lines; a busy machine sends them late.
_PATIENCE_MS: Final = "1000"


def _link(dut: str, tester: str, behind: str) -> LinkAddresses:
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(ip_network(behind),))


LINKS: Final = AddressPlan(
    left=_link("198.18.0.1/24", "198.18.0.2/24", "198.18.0.0/16"),
    right=_link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16"),
)


@dataclass(frozen=True)
class Ended:
    """The end of a program: its output, line by line, and its exit code."""

    code: int
    lines: list[str]
    errors: list[str]

    def number(self, line: str) -> float:
        """Returns the number that follows `line`, as a script would read it. Asserts that the line is there once."""
        (found,) = (text for text in self.lines if text.startswith(f"{line}:"))
        return float(found.rsplit(":", 1)[1])


@dataclass(frozen=True)
class SiitperfBed:
    lab: NetnsLab
    gateway: Gateway[Any]
    folder: Path

    def run(self, program: str, arguments: str, conf: str, **environment: str) -> Ended:
        (self.folder / "siitperf.conf").write_text(conf, encoding="utf-8")
        return run_program(
            program, arguments, self.folder,
            prefix=["ip", "netns", "exec", namespace_of_tester()],
            NATXY_SIITPERF_LEFT="left", NATXY_SIITPERF_RIGHT="right",
            NATXY_SIITPERF_CORES=",".join(map(str, self.lab.cores.tester)),
            NATXY_SIITPERF_OVERRUN_FLOOR_MS=_PATIENCE_MS, **environment,
        )  # fmt: skip

    def sent(self, side: Side) -> AbstractContextManager[list[Packet]]:
        """Captures what the tester's port of a side sends, as the gateway receives it."""
        interface = getattr(self.lab.interfaces, side)
        return captured(self.lab.description()["dut namespace"], interface, Direction.IN)


def run_program(
    program: str, arguments: str, folder: Path, *, prefix: list[str] | None = None, **environment: str
) -> Ended:
    """Runs `tp`, `lat` or `pdv` in a folder, as scripts do."""
    function = {"tp": "throughput", "lat": "latency", "pdv": "pdv"}[program]
    code = f"from natxy.siitperf.trial.programs import {function}; {function}()"
    done = subprocess.run(
        [*(prefix or []), sys.executable, "-c", code, *arguments.split()],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert not re.search("Traceback", done.stderr), done.stderr
    return Ended(done.returncode, done.stdout.splitlines(), done.stderr.splitlines())


@contextmanager
def siitperf_bed(links: AddressPlan, config: GatewayConfig, folder: Path) -> Iterator[SiitperfBed]:
    with NetnsLab(LabConfig(), links) as lab:
        gateway = create(config, lab.transport, lab.interfaces, links)
        gateway.apply()
        try:
            yield SiitperfBed(lab, gateway, folder)
        finally:
            gateway.remove()
