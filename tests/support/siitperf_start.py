# SPDX-License-Identifier: Apache-2.0
"""Measures how long the programs that stand in for siitperf's take from their start to their first frame."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy_siitperf.trial.phases import RUN
from natxy_siitperf.trial.ports import KEEP_OPEN
from tests.support.capture import capture_socket
from tests.support.command import HANG_S
from tests.support.siitperf_bed import LINKS, SiitperfBed, in_tester, siitperf_bed, variables_of
from tests.support.siitperf_confs import conf_text

_LOOKS_S: Final = 0.5

MOST_S: Final = 1.5
"""From the start of a program to its first frame; siitperf's own begin 2 s after everything is ready."""


@dataclass(frozen=True)
class Way:
    """A call of a program, by what it does before its first frame. `more` follows the arguments of the traffic."""

    program: str = "siitperf-tp"
    conf: str = "router-many"
    more: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


WAYS: Final[Mapping[str, Way]] = {
    "plain": Way(),
    "recorded": Way(environment={RUN: "run"}),
    "kept open": Way(environment={KEEP_OPEN: "60"}),
    # The first frame is one of phase 1.
    "stateful": Way(conf="nat44", more="100 100 1000 200 300"),
    "pdv": Way("siitperf-pdv", more="0"),
}


def bed_to_start_in(folder: Path) -> AbstractContextManager[SiitperfBed]:
    """Builds a lab with a router, in whose namespace the first frame of the left is seen."""
    return siitperf_bed(LINKS, LinuxForwardConfig(), folder)


def to_first_frame_s(bed: SiitperfBed, way: Way) -> float:
    """Returns the seconds from the start of a program until its first frame reaches the gateway.

    Waits until the program has ended. Asserts that a frame comes.
    """
    (bed.folder / "siitperf.conf").write_text(conf_text(way.conf), encoding="utf-8")
    # The installed program: to import it is a part of its start.
    program = str(Path(sys.executable).with_name(way.program))
    argv = [*in_tester(), program, *f"84 100 1 200 2 2 {way.more}".split()]
    variables = {**os.environ, **variables_of(bed.lab), **way.environment}
    namespace, interface = bed.lab.description()["dut namespace"], bed.lab.interfaces.left
    with capture_socket(namespace, interface) as capture:
        capture.settimeout(_LOOKS_S)
        started_s = time.monotonic()
        with subprocess.Popen(
            argv, cwd=bed.folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as running:
            took_s = math.nan
            while running.poll() is None and math.isnan(took_s):
                with suppress(TimeoutError):
                    # What the kernels of both ends say by themselves has no UDP.
                    if UDP in Ether(capture.recv(65535)):
                        took_s = time.monotonic() - started_s
            output, _ = running.communicate(timeout=HANG_S)
    assert running.returncode == 0, output
    assert not math.isnan(took_s), output
    return took_s
