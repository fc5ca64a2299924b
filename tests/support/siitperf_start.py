# SPDX-License-Identifier: Apache-2.0
"""Measures how long the programs that stand in for siitperf's take from their start to their first frame."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from scapy.layers.inet import UDP
from scapy.layers.l2 import Ether

from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy.siitperf.trial.phases import RUN
from natxy.siitperf.trial.ports import KEEP_OPEN
from tests.support.capture import capture_socket
from tests.support.command import HANG_S
from tests.support.siitperf_bed import LINKS, SiitperfBed, in_tester, siitperf_bed, variables_of
from tests.support.siitperf_confs import conf_text

_LOOKS_S: Final = 0.5

MOST_S: Final = 1.5
"""From the start of a program to its first frame; siitperf's own begin 2 s after everything is ready."""

WAYS: Final[Mapping[str, Mapping[str, str]]] = {
    "plain": {},
    "recorded": {RUN: "run"},
    "kept open": {KEEP_OPEN: "60"},
}
"""The variables of the environment by which calls differ in what they do before the first frame."""


@contextmanager
def bed_to_start_in(folder: Path) -> Iterator[SiitperfBed]:
    """Builds a lab with a router, in whose namespace the first frame of the left is seen."""
    with siitperf_bed(LINKS, LinuxForwardConfig(), folder) as bed:
        (folder / "siitperf.conf").write_text(conf_text("router-many"), encoding="utf-8")
        yield bed


def to_first_frame_s(bed: SiitperfBed, way: str) -> float:
    """Returns the seconds from the start of siitperf-tp until its first frame reaches the gateway.

    Waits until the program has ended. Asserts that a frame comes.
    """
    # The installed program: to import it is a part of its start.
    argv = [*in_tester(), str(Path(sys.executable).with_name("siitperf-tp")), "84", "100", "1", "200", "2", "2"]
    variables = {**os.environ, **variables_of(bed.lab), **WAYS[way]}
    namespace, interface = bed.lab.description()["dut namespace"], bed.lab.interfaces.left
    with capture_socket(namespace, interface) as capture:
        capture.settimeout(_LOOKS_S)
        started_s = time.monotonic()
        with subprocess.Popen(
            argv, cwd=bed.folder, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        ) as program:
            took_s = math.nan
            while program.poll() is None and math.isnan(took_s):
                with suppress(TimeoutError):
                    # What the kernels of both ends say by themselves has no UDP.
                    if UDP in Ether(capture.recv(65535)):
                        took_s = time.monotonic() - started_s
            output, _ = program.communicate(timeout=HANG_S)
    assert program.returncode == 0, output
    assert not math.isnan(took_s), output
    return took_s
