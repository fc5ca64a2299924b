# SPDX-License-Identifier: Apache-2.0
"""Tests that each chain of IPv4 as a service carries all frame sizes of RFC 8219 §5.1.1 whole, dissected by Scapy
between its boxes, and that a translator cuts the packets that `natxy check` refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6, IPv6ExtHdrFragment

from natxy.engine.messages.results import Verdict
from natxy.plan.checks.fragments import check_fragments
from natxy.plan.yaml.frame_size_lists import FRAME_SIZE_LISTS
from natxy.procedures.common.streams import establish_request, traffic_request
from tests.support import needs
from tests.support.capture import Direction, captured
from tests.support.captured_frames import has_right_checksums, signature_of
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.programs("tayga", "nft", "conntrack"), needs.TUN, needs.SEG6]

FRAMES: Final = 20
# AF_XDP carries no longer frames over veth pairs.
SIZES: Final = [size for size in FRAME_SIZE_LISTS["rfc8219"] if size <= 2048]
CONNECTED: Final[dict[str, Any]] = {"connections": 10, "phase1_rate": "1k"}
CUSTOMER: Final = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}


@pytest.mark.parametrize(
    ("gateways", "link", "in_softwire"),
    [
        (("tayga", "tayga-netfilter"), 1, False),
        (("softwire", "softwire", "nftables"), 1, True),
        ((CUSTOMER, "softwire", "softwire"), 2, True),
        ((CUSTOMER, "map-t", "map-t"), 2, False),
    ],
    ids=["464xlat", "ds-lite", "lw4o6 or map-e", "map-t"],
)
@repeated
def test_a_chain_carries_all_frame_sizes_whole(
    gateways: tuple[str | dict[str, Any], ...], link: int, in_softwire: bool, tmp_path: Path
) -> None:
    assert SIZES[-1] == 2048
    experiments = [
        experiment_of(gateway=chain(*gateways), frame_size=size, dont_fragment=True, **CONNECTED) for size in SIZES
    ]
    with set_up(experiments[-1], tmp_path) as (lab, gateway, engine):
        place = (lab.dut_namespaces[link], f"dut{link + 1}-left")
        for experiment in experiments:
            gateway.clear()
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
            all_arrived(made)
            with captured(*place, Direction.IN) as forward, captured(*place, Direction.OUT) as reverse:
                result = engine.run_trial(patiently(traffic_request(experiment, 1000.0, 7, frames=FRAMES)))
            all_arrived(result)
            assert result.verdict == Verdict.PASS, result.reason
            assert all(stream.received == FRAMES for stream in result.streams)
            packet = experiment.frame_size - 18
            for frames in (forward, reverse):
                assert sorted(signature_of(frame).sequence for frame in frames) == [*range(FRAMES)]
                for frame in frames:
                    assert has_right_checksums(frame)
                    header = frame[IPv6]
                    if in_softwire:
                        assert (header.nh, header.plen) == (4, packet)
                        assert (frame[IP].flags, frame[IP].frag, frame[IP].len) == ("DF", 0, packet)
                    else:
                        assert (header.nh, header.plen, frame[UDP].len) == (17, packet - 20, packet - 20)


# With the header of IPv6, the packets have 1,280 bytes, and one byte more.
@pytest.mark.parametrize(("size", "is_cut"), [(1278, False), (1279, True), (1518, True)])
@repeated
def test_a_tayga_cuts_what_the_check_refuses(size: int, is_cut: bool, tmp_path: Path) -> None:
    allowed = experiment_of(gateway=chain("tayga", "tayga"), frame_size=size, directions="forward", dont_fragment=True)
    experiment = allowed.model_copy(update={"dont_fragment": False})
    assert [*check_fragments(allowed, ())] == []
    assert len([*check_fragments(experiment, ())]) == is_cut
    with (
        set_up(experiment, tmp_path) as (lab, _, engine),
        captured(lab.dut_namespaces[1], "dut2-left", Direction.IN) as frames,
    ):
        result = engine.run_trial(patiently(traffic_request(experiment, 1000.0, 7, frames=FRAMES)))
    # Of fragments, only the first has the header of UDP, by which frames are captured.
    assert len(frames) == FRAMES
    assert {IPv6ExtHdrFragment in frame and bool(frame[IPv6ExtHdrFragment].m) for frame in frames} == {is_cut}
    [stream] = result.streams
    assert stream.received == (0 if is_cut else FRAMES)
