# SPDX-License-Identifier: Apache-2.0
"""Tests two gateways in namespaces of user-mode Linux: 464XLAT by Jool on a machine whose kernel has no Jool."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from natxy.dut.base import Gateway
from natxy.engine.messages.results import Verdict
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from tests.support import needs
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, *needs.GUEST, pytest.mark.long]

FRAMES: Final = 200
CONNECTIONS: Final = 20
FPS: Final = 500.0
FCS: Final = 4


def crossed(clat: Gateway[Any]) -> list[int]:
    """Returns the bytes that have crossed the link between both gateways, to the right and to the left."""
    folder = f"/sys/class/net/{clat.interfaces.right}/statistics"
    return [int(clat.transport.run(["cat", f"{folder}/{way}_bytes"]).stdout) for way in ("tx", "rx")]


@repeated
def test_464xlat_by_jool_in_one_guest(tmp_path: Path) -> None:
    gateways = ({"driver": "jool-siit", "kernel": "user-mode"}, {"driver": "jool", "kernel": "user-mode"})
    experiment = experiment_of(gateway=chain(*gateways), connections=CONNECTIONS, phase1_rate="500")
    with set_up(experiment, tmp_path) as (lab, gateway, engine):
        clat, plat = gateway.hops
        gateway.wait_ready()
        engine.resolve_neighbors(neighbors_request(experiment))
        for _ in range(2):
            gateway.clear()
            made = engine.run_trial(patiently(establish_request(experiment, FPS, 7)))
            all_arrived(made)
            assert made.verdict == Verdict.PASS, made.reason
            before = crossed(clat)
            result = engine.run_trial(patiently(traffic_request(experiment, FPS, 7, frames=FRAMES)))
            all_arrived(result)
            assert result.verdict == Verdict.PASS, result.reason
            assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
            # Both translate each frame: an IPv6 header is longer by 20 bytes. The kernel may ask for a neighbour, too.
            whole = FRAMES * (experiment.frame_size - FCS + 20)
            for now, then in zip(crossed(clat), before, strict=True):
                assert whole <= now - then < whole + 1000
        for hop, driver in ((clat, "jool_siit"), (plat, "jool")):
            assert "user-mode Linux" in hop.describe().version
            shown = hop.transport.run([driver, "instance", "display", "--csv", "--no-headers"]).stdout
            assert "natxy" in shown
        gateway.remove()
        for driver in ("jool_siit", "jool"):
            assert "natxy" not in lab.transport.run([driver, "instance", "display", "--csv", "--no-headers"]).stdout
