# SPDX-License-Identifier: Apache-2.0
"""Finds the two ports and the cores of a trial: those that the environment names, or what siitperf would take."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

from natxy.api import PlanError
from natxy.api.engine import CoreAssignment, PortMedium, PortSpec, Side, assign_cores, find_engine, mtu_for, ring_slots
from natxy.api.labs import CORES, IO, LEFT, RIGHT
from natxy_siitperf.cards import PCI, bound_cards
from natxy_siitperf.conf import FILE, Conf
from natxy_siitperf.sides import cores_of, numbers_of

KEEP_OPEN: Final = "NATXY_SIITPERF_KEEP_OPEN_S"

_LONGEST_IDLE_S: Final = 3600

_VDEV: Final = re.compile(r"(net|eth)_\w+(,.*)?")
_KEEPER: Final = Path(__file__).with_name("keep_open.py")
_INTERFACES: Final = Path("/sys/class/net")


@dataclass(frozen=True)
class TrialPorts:
    """Holds the ports of a trial, the command that starts the engine for them, and the names of what it measures with,
    as in the claims of a plan."""

    ports: list[PortSpec]
    argv: list[str]
    claims: Set[str]
    remarks: Sequence[str] = ()


def find_trial_ports(conf: Conf, longest_frame: int, environment: Mapping[str, str]) -> TrialPorts:
    """Returns the ports and the engine's command. Raises PlanError if there are none."""
    devices = [environment.get(name, "") for name in (LEFT, RIGHT)]
    if not any(devices):
        devices = _first_cards()
    elif not all(devices):
        missing = LEFT if not devices[0] else RIGHT
        raise PlanError(f"{missing} is missing; give both {LEFT} and {RIGHT}, or none of them for the first two NICs")
    mtu = mtu_for(longest_frame)
    io = environment.get(IO) or "af_xdp"
    if io not in {"af_xdp", "af_packet"}:
        raise PlanError(f"{IO} is {io!r}, expected af_xdp or af_packet")
    sides = zip(Side, devices, ("L", "R"), strict=True)
    ports = [
        _port(side, number, device, io, mtu).model_copy(update={"mac": conf.mac(f"MAC-{letter}-Tester"), "mtu": mtu})
        for number, (side, device, letter) in enumerate(sides)
    ]
    cores, remarks = _cores(conf, environment)
    ports = [port.on_cores(cores.tasks) for port in ports]
    argv = [str(find_engine()), "--worker-cores", ",".join(map(str, cores.tester)), "--main-core", str(cores.main)]
    if cards := [port.device for port in ports if PCI.fullmatch(port.device)]:
        argv += [word for address in cards for word in ("--pci", address)]
        argv += ["--eal", f"-n{conf.number('MEM-Channels')}"]
    claims = {f"core {core}" for core in cores.tester}
    claims |= {f"port {device}" for device in devices if not _VDEV.fullmatch(device)}
    return TrialPorts(ports, _kept_open(ports, argv, environment), claims, remarks)


def _kept_open(ports: Sequence[PortSpec], argv: Sequence[str], environment: Mapping[str, str]) -> list[str]:
    """Returns the command of the engine, or of the program that keeps it and its ports open if that is asked for."""
    given = environment.get(KEEP_OPEN) or "0"
    if given == "0":
        return [*argv]
    if not (given.isdecimal() and int(given) <= _LONGEST_IDLE_S):
        raise PlanError(f"{KEEP_OPEN} is {given!r}, expected 0 to {_LONGEST_IDLE_S} seconds, or nothing")
    name = sha256(json.dumps([[port.device for port in ports], *argv]).encode()).hexdigest()[:16]
    # Isolated and without site packages, Python starts in a few milliseconds.
    return [sys.executable, "-IS", str(_KEEPER), name, given, *argv]


def _port(side: Side, number: int, device: str, io: str, mtu: int) -> PortSpec:
    if PCI.fullmatch(device):
        return PortSpec(side=side, device=device, medium=PortMedium.NIC)
    if _VDEV.fullmatch(device):
        medium = PortMedium.MEMIF if "memif" in device else PortMedium.LOOP
        return PortSpec(side=side, device=device, medium=medium)
    if "/" in device or not (_INTERFACES / device).exists():
        found = ", ".join(sorted(path.name for path in _INTERFACES.iterdir()))
        text = (
            f"no interface {device!r} here; expected one of {found}, a PCI address or a DPDK device such as net_null0"
        )
        raise PlanError(f"{LEFT if side is Side.LEFT else RIGHT}: {text}")
    medium = PortMedium.NIC if (_INTERFACES / device / "device").exists() else PortMedium.VETH
    if io == "af_packet":
        return PortSpec(
            side=side, device=f"net_af_packet{number},iface={device},qpairs=1{ring_slots(mtu)}", medium=medium
        )
    budget = ",busy_budget=0" if medium is PortMedium.VETH else ""
    arguments = f"iface={device},start_queue=0,queue_count=1{budget}"
    return PortSpec(side=side, device=f"net_af_xdp{number},{arguments}", medium=medium)


def _first_cards() -> list[str]:
    """Returns the first two network cards that are bound to a driver of DPDK, as siitperf takes them."""
    found = bound_cards()
    if len(found) < 2:
        text = f"{len(found)} network cards are bound to a driver of DPDK, expected two; bind them, or name two "
        raise PlanError(f"{text}interfaces, PCI addresses or DPDK devices by {LEFT} and {RIGHT}")
    return found[:2]


def _cores(conf: Conf, environment: Mapping[str, str]) -> tuple[CoreAssignment, list[str]]:
    """Returns the cores that the environment names, or siitperf's if this machine has them. If not, a remark says
    so."""
    here = sorted(os.sched_getaffinity(0))
    if given := environment.get(CORES):
        named = {str(core): core for core in here}
        words = [word.strip() for word in given.split(",")]
        if not {*words} <= {*named}:
            listed = ",".join(named)
            raise PlanError(f"{CORES} is {given!r}, expected cores of this process ({listed}), such as 1,2")
        return assign_cores(here, [named[word] for word in words], ()), []
    tasks = cores_of(conf)
    lacking = ", ".join(map(str, sorted((numbers_of(tasks) if tasks else set()) - {*here})))
    if tasks and not lacking:
        return assign_cores(here, tasks, ()), []
    cores = assign_cores(here, None, ())
    why = f"this process has no core {lacking}" if lacking else f"{FILE} names none"
    return cores, [f"all tasks are on core {cores.tester[0]}, because {why}; {CORES} names others"]
