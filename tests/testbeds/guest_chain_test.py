# SPDX-License-Identifier: Apache-2.0
"""Tests two gateways in namespaces of user-mode Linux: 464XLAT by Jool on a machine whose kernel has no Jool."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
from scapy.layers.inet import IP

from natxy.engine.messages.results import Verdict
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, *needs.GUEST, pytest.mark.long]

FRAMES: Final = 200
CONNECTIONS: Final = 20
FPS: Final = 500.0


@repeated
def test_464xlat_by_jool_in_one_guest(tmp_path: Path) -> None:
    gateways = ({"driver": "jool-siit", "kernel": "user-mode"}, {"driver": "jool", "kernel": "user-mode"})
    experiment = experiment_of(gateway=chain(*gateways), connections=CONNECTIONS, phase1_rate="500")
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        gateway.wait_ready()
        engine.resolve_neighbors(neighbors_request(experiment))
        for _ in range(2):
            gateway.clear()
            made = engine.run_trial(patiently(establish_request(experiment, FPS, 7)))
            all_arrived(made)
            assert made.verdict == Verdict.PASS, made.reason
            with captured(lab.dut_namespaces[0], lab.interfaces.right, Direction.OUT) as frames:
                result = engine.run_trial(patiently(traffic_request(experiment, FPS, 7, frames=FRAMES)))
            all_arrived(result)
            assert result.verdict == Verdict.PASS, result.reason
            assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
            # From one public address, and with a hop less by each of the two translators.
            assert {(frame[IP].src, experiment.ttl - frame[IP].ttl) for frame in frames} == {("198.19.0.1", 2)}
            assert len(frames) == FRAMES
            assert all(has_right_checksums(frame) for frame in frames)
        clat, plat = gateway.hops
        for hop, driver in ((clat, "jool_siit"), (plat, "jool")):
            assert "user-mode Linux" in hop.describe().version
            shown = hop.transport.run([driver, "instance", "display", "--csv", "--no-headers"]).stdout
            assert "natxy" in shown
        gateway.remove()
        for driver in ("jool_siit", "jool"):
            assert "natxy" not in lab.transport.run([driver, "instance", "display", "--csv", "--no-headers"]).stdout
