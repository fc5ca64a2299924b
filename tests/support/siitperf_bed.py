# SPDX-License-Identifier: Apache-2.0
"""Runs the programs that stand in for siitperf's in a lab, and captures what they send."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from ipaddress import ip_interface, ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple

from scapy.packet import Packet

from natxy.dut.base import Capability, Gateway
from natxy.dut.registry import create
from natxy.engine.messages.common import Side
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses
from natxy.plan.testbeds.lab import LabConfig
from natxy.testbeds.lab import NetnsLab
from natxy_siitperf.trial.lines import TESTERS_FAULT
from tests.support.capture import Direction, captured
from tests.support.command import HANG_S
from tests.support.lab_frames import namespace_of_tester
from tests.support.siitperf_confs import conf_text
from tests.support.undisturbed import undisturbed

# The tests judge frames and lines; a busy machine sends them late.
_PATIENCE_MS: Final = "1000"
_COUNTED: Final = re.compile(r"(\w+) frames (sent|received): (\d+)")
_MISSING: Final = re.compile(r"Info: (\w+) frames completely missing: (\d+)")


def _link(dut: str, tester: str, behind: str) -> LinkAddresses:
    return LinkAddresses(dut=ip_interface(dut), tester=ip_interface(tester), behind=(ip_network(behind),))


LINKS: Final = AddressPlan(
    left=_link("198.18.0.1/24", "198.18.0.2/24", "198.18.0.0/16"),
    right=_link("198.19.0.1/24", "198.19.0.2/24", "198.19.0.0/16"),
)


# No router forwards frames to the broadcast addresses of its links, 198.18.0.255 and 198.19.0.255.
router_conf: Final = partial(conf_text, "router-many", IP_L_min="256", IP_R_min="256")
"""Returns siitperf's configuration for a router between `LINKS`, from which all frames arrive."""


@dataclass(frozen=True)
class Ended:
    """Holds how a program ended: its output, line by line, and its exit code."""

    code: int
    lines: list[str]
    errors: list[str]

    def number(self, line: str) -> float:
        """Returns the number that follows `line`, as a script would read it. Asserts that the line is there once."""
        (found,) = (text for text in self.lines if text.startswith(f"{line}:"))
        return float(found.rsplit(":", 1)[1])

    @property
    def blame(self) -> str:
        """Returns natxy's words on a disturbed tester; they are empty if it was not disturbed."""
        return "\n".join(
            line for line in self.lines + self.errors if TESTERS_FAULT in line or "the test is invalid" in line
        )

    @property
    def missing(self) -> dict[str, int]:
        """Returns how many of the frames that were sent did not arrive, by direction or phase."""
        sent, received = self.counted("sent"), self.counted("received")
        missing = {name: sent[name] - received[name] for name in sent.keys() & received.keys()}
        # With a time-out for each frame, those that came later were not lost.
        return missing | {each[1]: int(each[2]) for each in filter(None, map(_MISSING.fullmatch, self.lines))}

    def counted(self, what: str) -> dict[str, int]:
        """Returns how many frames were "sent" or "received", by direction or phase."""
        found = filter(None, map(_COUNTED.fullmatch, self.lines))
        return {each[1]: int(each[3]) for each in found if each[2] == what}

    def disturbance(self, **lost: int) -> str:
        """Returns natxy's words on a disturbed tester, or else which frames are missing.

        Frames may be lost where the machine takes away a core, and natxy does not notice. `lost`: how many of a
        direction or phase the gateway is to lose.
        """
        more = [
            f"{count} frames of {name} are missing" for name, count in self.missing.items() if count > lost.get(name, 0)
        ]
        return self.blame or ", ".join(more)


class Sent(NamedTuple):
    """Holds how a program ended, and the frames that the tester sent meanwhile, as the gateway received them."""

    ended: Ended
    left: list[Packet]
    right: list[Packet]

    @property
    def disturbance(self) -> str:
        """Returns natxy's words on a disturbed tester, or else how many frames did not reach the gateway."""
        missing = sum(self.ended.counted("sent").values()) - len(self.left) - len(self.right)
        return self.ended.blame or (f"{missing} frames did not reach the gateway" if missing > 0 else "")


@dataclass(frozen=True)
class SiitperfBed:
    lab: NetnsLab
    gateway: Gateway[Any]
    folder: Path

    def measure(self, program: str, arguments: str, conf: str) -> Sent:
        """Runs a program whose frames all arrive; again if the tester was disturbed, or if frames are missing."""
        return undisturbed(lambda: self.send(program, arguments, conf), lambda sent: sent.ended.disturbance())

    def send_in_time(self, program: str, arguments: str, conf: str) -> Sent:
        """Runs a program whose frames need not arrive, and again if natxy says that the tester was disturbed.

        A sender that is late does not say how many frames it has sent. The machine may lose some before the gateway.
        """
        return undisturbed(lambda: self.send(program, arguments, conf), lambda sent: sent.disturbance)

    def send(self, program: str, arguments: str, conf: str) -> Sent:
        """Runs a program once, with an empty connection table, and captures what it sends."""
        if Capability.CLEAR in self.gateway.capabilities:
            self.gateway.clear()
        with self._sent(Side.LEFT) as left, self._sent(Side.RIGHT) as right:
            ended = self.run(program, arguments, conf)
        return Sent(ended, left, right)

    def run(self, program: str, arguments: str, conf: str, **environment: str) -> Ended:
        return run_in_lab(self.lab, program, arguments, self.folder, conf, environment=environment)

    def _sent(self, side: Side) -> AbstractContextManager[list[Packet]]:
        interface = getattr(self.lab.interfaces, side)
        return captured(self.lab.description()["dut namespace"], interface, Direction.IN)


def run_in_lab(
    lab: NetnsLab,
    program: str,
    arguments: str,
    folder: Path,
    conf: str,
    *,
    io: str = "af_xdp",
    mirrored: bool = False,
    environment: Mapping[str, str] | None = None,
) -> Ended:
    """Runs a program with a lab's ports; if mirrored, siitperf's left is the lab's right."""
    (folder / "siitperf.conf").write_text(conf, encoding="utf-8")
    variables = {**variables_of(lab, io=io, mirrored=mirrored), **(environment or {})}
    return run_program(program, arguments, folder, prefix=in_tester(), **variables)


def in_tester() -> list[str]:
    """Returns the words that begin a command in the tester's namespace."""
    return ["ip", "netns", "exec", namespace_of_tester()]


def variables_of(lab: NetnsLab, *, io: str = "af_xdp", mirrored: bool = False) -> dict[str, str]:
    """Returns what the programs' environment says of a lab's ports."""
    left, right = ("right", "left") if mirrored else ("left", "right")
    return {
        "NATXY_SIITPERF_LEFT": left, "NATXY_SIITPERF_RIGHT": right, "NATXY_SIITPERF_IO": io,
        "NATXY_SIITPERF_CORES": ",".join(map(str, lab.cores.tester)),
        "NATXY_SIITPERF_OVERRUN_FLOOR_MS": _PATIENCE_MS,
    }  # fmt: skip


def run_program(
    program: str, arguments: str, folder: Path, *, prefix: list[str] | None = None, **environment: str
) -> Ended:
    """Runs `tp`, `lat` or `pdv` in a folder, as scripts do."""
    function = {"tp": "throughput", "lat": "latency", "pdv": "pdv"}[program]
    code = f"from natxy_siitperf.trial.programs import {function}; {function}()"
    done = subprocess.run(
        [*(prefix or []), sys.executable, "-c", code, *arguments.split()],
        cwd=folder, env=os.environ | environment, capture_output=True, text=True, check=False, timeout=HANG_S,
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
