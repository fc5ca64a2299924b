# SPDX-License-Identifier: Apache-2.0
"""Identifies a tester, and holds and keeps the limits that its self-test found.

A self-test is a JSON file for each tester, in the XDG state folder.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Family
from natxy.plan.model.units import counted
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.tester_cores import form
from natxy.system.interrupts import serialized
from natxy.system.machine import describe_machine
from natxy.system.whole_file import whole_file
from natxy.untrusted.files import make_own_folder
from natxy.untrusted.values import Real, Whole


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TesterIdentity(_Model):
    """Identifies a tester: the machine, the two ports and their driver.

    `ports` has the names of the ports, or their kind where each run makes them anew. `workers` is the number of cores
    that send and receive, and `tasks` says which do what, where the plan does, as
    it does for `memory_channels`.
    """

    host: str
    processor: str
    ports: str
    driver: str
    queues: Whole
    workers: Whole
    tasks: str | None = None
    memory_channels: Whole | None = None

    @property
    def file_name(self) -> str:
        channels = f"{self.memory_channels}c" if self.memory_channels else ""
        words = (self.host, self.ports, self.driver, f"{self.queues}q", f"{self.workers}w", self.tasks or "", channels)
        return re.sub(r"[^A-Za-z0-9.+-]+", "_", "_".join(filter(None, words))) + ".json"

    def __str__(self) -> str:
        cores = f"{self.workers} core{'s' if self.workers > 1 else ''}"
        queues = f", {self.queues} queues a port" if self.queues > 1 else ""
        tasks = f" ({self.tasks})" if self.tasks else ""
        channels = f", {counted(self.memory_channels, 'memory channel')}" if self.memory_channels else ""
        return f"{self.ports} by {self.driver}{queues}, {cores} of {self.host}{tasks}{channels}"


def which_tester(testbed: TestbedConfig) -> TesterIdentity | None:
    """Returns the tester of a testbed; None for a testbed without an engine of this machine, or whose ports have no
    other end without the gateway."""
    ports = testbed.engine_ports
    if ports is None or ports.medium == "tap":
        return None
    machine = describe_machine()
    return TesterIdentity(
        host=machine["host"],
        processor=machine["processor"],
        ports=ports.name,
        driver=ports.driver,
        queues=ports.queues,
        workers=ports.workers,
        tasks=form(ports.tester_cores or ()),
        memory_channels=ports.memory_channels,
    )


# --- the limits of a tester


class Variant(StrEnum):
    """The fields that differ from frame to frame: none, the ports (RFC 4814), or addresses and ports."""

    FIXED = "fixed"
    PORTS = "ports"
    ADDRESSES = "addresses"


def variant_of(experiment: Experiment) -> Variant:
    """Returns what varies in the frames of an experiment."""
    addresses, ports = experiment.addresses, experiment.ports
    if addresses.left_hosts.size > 1 or addresses.right_hosts.size > 1:
        return Variant.ADDRESSES
    if ports.size > 1 or ports.in_reverse.size > 1:
        return Variant.PORTS
    return Variant.FIXED


class Work(StrEnum):
    """The work of the tester: traffic without connections; phase 1, phase 1 with a validation at the same rate, or
    traffic over connections (RFC 9693); or queries to an authority, which the tester itself is (RFC 8219 §9)."""

    TRAFFIC = "traffic"
    PHASE1 = "phase1"
    VALIDATED = "validated"
    PHASE2 = "phase2"
    QUERIES = "queries"


def work_of(experiment: Experiment) -> Work | None:
    """Returns the work that limits the tester in an experiment; None if its headline is no rate of the tester."""
    if experiment.procedure.asks_dns64:
        return Work.QUERIES
    if not experiment.procedure.stateful:
        return Work.TRAFFIC if experiment.connections is None else Work.PHASE2
    if experiment.search is None:
        return None
    return Work.PHASE1 if experiment.alpha is None else Work.VALIDATED


class Ceiling(_Model):
    """Holds the highest rate that the tester sends and receives itself with one kind of frames.

    `rate_fps` is per direction; it passed without loss and in time in each of `repeats` repetitions. `open`: the
    highest rate tried passed, so the ceiling may be higher. `connections` is their number in work with connections.
    """

    work: Work = Work.TRAFFIC
    connections: Whole | None = None
    family: Family
    frame_size: Whole
    variant: Variant
    both_ways: bool
    rate_fps: Real
    open: bool
    repeats: Whole


class PacingError(_Model):
    """Holds how late frames were sent at one rate: the actual minus the due time of every frame.

    `histogram` has (upper bound in ns, frames); older versions of natxy left it empty.
    """

    rate_fps: Real
    median_ns: Whole
    p99_ns: Whole
    p999_ns: Whole
    max_ns: Whole
    histogram: list[tuple[Whole, Whole]] = []


class SelfTest(_Model):
    """Holds what a tester found out about itself.

    `receive_fps` is the highest rate received at one port; with `receive_limited` the port lost frames at that rate,
    so it is the port's limit. `least_delay_ns` is the delay from sending to reception without a gateway.
    """

    tester: TesterIdentity
    measured_at: str
    natxy_version: str
    kernel: str
    ceilings: list[Ceiling]
    receive_fps: Real
    receive_limited: bool
    least_delay_ns: Whole | None
    pacing: list[PacingError]


# --- files


def state_folder() -> Path:
    """Returns the folder of self-tests below XDG's state folder."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # Relative paths are to be ignored (XDG Base Directory Specification).
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "natxy" / "selftest"


def save(found: SelfTest) -> Path:
    """Writes the self-test of a tester and returns the file. OSError when the state folder cannot be written."""
    file = state_folder() / found.tester.file_name
    make_own_folder(file.parent.parent)
    make_own_folder(file.parent)
    with whole_file(file) as out:
        out.write((serialized(found, indent=2) + "\n").encode())
    return file


def stored(tester: TesterIdentity) -> SelfTest | None:
    """Reads the self-test of a tester; None when it made none, or a version of natxy with another format made it."""
    try:
        found = SelfTest.model_validate_json((state_folder() / tester.file_name).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    return found if found.tester == tester else None
