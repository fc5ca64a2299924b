# SPDX-License-Identifier: Apache-2.0
"""Tests in a lab how long a limit remembers the frames of a trial."""

from __future__ import annotations

import socket
import time
from collections import Counter
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from natxy.plan.gateways.linux import LinuxForwardConfig
from tests.replay.limits import INTERFACES, REST_S, budget
from tests.support import needs
from tests.support.capture import Direction, captured, inside
from tests.support.lab_frames import namespace_of_tester
from tests.support.siitperf_bed import LINKS, siitperf_bed
from tests.support.undisturbed import undisturbed

pytestmark = [*needs.LAB, pytest.mark.long, pytest.mark.alone, needs.programs("nft")]

BUDGET = 100
PAUSE_S = 0.5
# A trial sends to one port before its pause, and to the other after it.
PORTS = (80, 81)
NEXT_TRIAL = 82


def test_a_trial_that_pauses_has_one_budget_and_the_next_trial_its_own(tmp_path: Path) -> None:
    with siitperf_bed(LINKS, LinuxForwardConfig(), tmp_path) as bed:
        tester = str(LINKS.right.tester.ip)
        neighbor = [tester, "lladdr", "02:00:00:00:01:01", "dev", INTERFACES[1]]
        bed.lab.transport.run(["ip", "neigh", "replace", *neighbor])
        for command, text in budget(BUDGET, dict.fromkeys(INTERFACES, 64)).put_up:
            bed.lab.transport.run(command, input=text)
        forget = ["nft", "flush", "set", "netdev", "limited", "trials"]

        def measured() -> tuple[Counter[int], str]:
            bed.lab.transport.run(forget)
            return _received(tester)

        received, _ = undisturbed(measured, lambda both: both[1])
    assert received == {PORTS[0]: 3 * BUDGET // 4, PORTS[1]: BUDGET // 4, NEXT_TRIAL: BUDGET}


def _received(tester: str) -> tuple[Counter[int], str]:
    """Returns how many frames arrived of those to each port, and whether this machine paused by itself."""
    packets = {
        port: IP(src=str(LINKS.left.tester.ip), dst=tester) / UDP(sport=10000, dport=port) / bytes(18)
        for port in (*PORTS, NEXT_TRIAL)
    }
    frames = {port: bytes(Ether(dst="02:00:00:00:00:11") / packet) for port, packet in packets.items()}
    namespace = namespace_of_tester()
    with (
        captured(namespace, "right", Direction.IN) as arrived,
        inside(namespace),
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sender,
    ):
        sender.bind(("left", 0))
        began_s = time.monotonic()
        _send(sender, frames[PORTS[0]], 3 * BUDGET // 4)
        time.sleep(PAUSE_S)
        _send(sender, frames[PORTS[1]], 3 * BUDGET // 4)
        paused_s = time.monotonic() - began_s
        time.sleep(REST_S)
        _send(sender, frames[NEXT_TRIAL], 2 * BUDGET)
    return Counter(frame[UDP].dport for frame in arrived), "" if paused_s < 2 * PAUSE_S else f"a pause of {paused_s} s"


def _send(sender: socket.socket, frame: bytes, number: int) -> None:
    for _ in range(number):
        sender.send(frame)
