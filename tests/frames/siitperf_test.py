# SPDX-License-Identifier: Apache-2.0
"""Tests the frames and the lines of the programs that stand in for siitperf's, captured in a lab and read by Scapy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from pathlib import Path
from tempfile import mkdtemp

import pytest
from scapy.layers.inet import IP
from scapy.packet import Packet

from natxy.engine.messages.common import Side
from natxy.plan.gateways.linux import LinuxForwardConfig
from natxy.plan.model.terms import Family
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.replay.limits import shaped_delay_s, shaper
from tests.support import needs
from tests.support.captured_frames import judge, tuple_of
from tests.support.siitperf_bed import LINKS, Ended, SiitperfBed, router_conf, siitperf_bed
from tests.support.siitperf_confs import conf_text
from tests.support.undisturbed import DisturbedError, repeated, undisturbed

pytestmark = needs.LAB

FRAMES = 400
# 400 frames a second for one second, and two seconds for the stragglers of a gateway that was paused.
STATELESS = "400 1 2000 2 2"
# The delay of a lost frame in siitperf's figures: the duration and that time.
LOST_MS = 3000
# How late the last frame may be where delays are known.
LATE_MS = 20


@pytest.fixture(scope="module")
def router(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SiitperfBed]:
    with siitperf_bed(LINKS, LinuxForwardConfig(), tmp_path_factory.mktemp("router")) as bed:
        yield bed


def last_16_bits(addresses: set[str], low_bit: int = 0) -> set[int]:
    return {int(ip_address(address)) >> low_bit & 0xFFFF for address in addresses}


def columns(frames: list[Packet]) -> tuple[set[str], set[str], set[int], set[int]]:
    """Returns the source addresses, destination addresses, source ports and destination ports of frames."""
    tuples = [tuple_of(frame) for frame in frames]
    return (
        {each[0] for each in tuples},
        {each[1] for each in tuples},
        {each[2] for each in tuples},
        {each[3] for each in tuples},
    )


@pytest.mark.parametrize("size", [84, 128, 1538])
def test_a_router_of_many_addresses(router: SiitperfBed, size: int) -> None:
    """The addresses vary, and the ports do not: here siitperf's UDP checksums over IPv6 were wrong."""
    ended, left, right = router.measure("tp", f"{size} {STATELESS}", router_conf())
    assert (ended.code, len(left), len(right)) == (0, FRAMES, FRAMES)
    for side, frames in ((Side.LEFT, left), (Side.RIGHT, right)):
        for frame in frames:
            judge(frame, Family.IPV4, size - 20, side, ttl=10)
        sources, destinations, sports, dports = columns(frames)
        assert (sports, dports) == ({49_184}, {7})
        for addresses in (sources, destinations):
            assert len(addresses) > 350
            assert last_16_bits(addresses) <= {*range(256, 65_535)}
    assert columns(left)[0] != columns(right)[1]
    for direction in ("Forward", "Reverse"):
        assert ended.number(f"{direction} frames sent") == FRAMES
        assert ended.number(f"{direction} frames received") == FRAMES


def test_the_broadcast_address_of_a_link_is_one_to_which_no_router_forwards(router: SiitperfBed) -> None:
    """siitperf's own range has it, so that one of 65,533 pseudorandom frames is lost behind links of this length."""
    ended, _, _ = router.send_in_time(
        "tp", f"84 {STATELESS}", router_conf(IP_L_var="1", IP_L_min="255", IP_L_max="255")
    )
    assert ended.number("Reverse frames sent") == FRAMES
    assert ended.number("Reverse frames received") == 0


def test_lines_are_those_that_scripts_read(router: SiitperfBed) -> None:
    ended, _, _ = router.measure("tp", f"84 {STATELESS}", router_conf(Reverse="0"))
    seconds = r"\d+\.\d{10} seconds\."
    patterns = [
        r"Info: Testing initiated at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d",
        rf"Info: Forward sender's sending took {seconds}",
        "Forward frames sent: 400",
        "Forward frames received: 400",
        r"Info: Test finished\.",
    ]
    assert len(ended.lines) == len(patterns)
    assert all(re.fullmatch(pattern, line) for pattern, line in zip(patterns, ended.lines, strict=True)), ended.lines
    assert not any("Error:" in line or "invalid" in line for line in ended.errors)


def test_directions_have_ports_and_orders_of_their_own(router: SiitperfBed) -> None:
    conf = router_conf(
        IP_L_var="1", IP_L_min="10", IP_L_max="19", IP_R_var="2", IP_R_min="0x20", IP_R_max="0x22",
        Fwd_var_sport="1", Fwd_sport_min="5000", Fwd_sport_max="5006", Fwd_var_dport="0",
        Rev_var_sport="0", Rev_var_dport="2", Rev_dport_min="80", Rev_dport_max="84",
    )  # fmt: skip
    ended, left, right = router.measure("tp", f"84 {STATELESS}", conf)
    assert ended.code == 0
    forward, reverse = [tuple_of(frame) for frame in left], [tuple_of(frame) for frame in right]
    assert forward == [
        (f"198.18.0.{10 + number % 10}", f"198.19.0.{34 - number % 3}", 5000 + number % 7, 7)
        for number in range(FRAMES)
    ]
    assert reverse == [
        (f"198.19.0.{34 - number % 3}", f"198.18.0.{10 + number % 10}", 49_184, 84 - number % 5)
        for number in range(FRAMES)
    ]


def test_each_family_has_an_offset_of_its_own(router: SiitperfBed) -> None:
    """The order of the keys does not matter either, although siitperf loses the offset of the left here.

    The router has no IPv6 addresses, and takes the frames by their MAC address.
    """
    conf = conf_text(
        "pdv", IP_L_var="3", IP_L_min="0", IP_L_max="3999", IPv6_L_offset="8", IPv4_R_offset="1",
        IP_R_var="3", IP_R_min="2", IP_R_max="1001", IPv6_R_offset="14",
    )  # fmt: skip
    ended, left, _ = router.send_in_time("tp", f"84 {STATELESS}", conf)
    assert ended.number("Forward frames sent") == len(left) == FRAMES
    sources, destinations, sports, dports = columns(left)
    assert last_16_bits(sources, 48) <= {*range(4000)}
    assert len(sources) > 350
    assert {int(ip_address(source)) & 0xFFFF_FFFF for source in sources} == {2}
    assert last_16_bits(destinations) <= {*range(2, 1002)}
    assert len(destinations) > 200
    assert min(sports) >= 1024
    assert max(dports) <= 49_151
    assert len(sports) > 350
    for frame in left:
        judge(frame, Family.IPV6, 84, Side.LEFT, ttl=10)


def test_networks(router: SiitperfBed) -> None:
    conf = router_conf(IP_L_var="0", IP_R_var="0", Num_R_Nets="100", Num_L_Nets="256")
    ended, left, right = router.measure("tp", f"84 {STATELESS}", conf)
    assert ended.code == 0
    assert columns(left)[0] == {"198.18.0.2"}
    assert columns(left)[1] <= {f"198.19.{number}.2" for number in range(100)}
    assert len(columns(left)[1]) > 80
    assert columns(right)[0] == {"198.19.0.2"}
    assert columns(right)[1] <= {f"198.18.{number}.2" for number in range(256)}


def test_background_frames_are_ipv6_of_the_full_size(router: SiitperfBed) -> None:
    """403 frames are 40 cycles of 10 and three foreground frames."""
    native = {"IPv6_L_Real": "2001:2::2", "IPv6_R_Real": "2001:2:0:8000::2"}
    conf = router_conf(IP_L_var="0", IP_R_var="0", Reverse="0", **native)
    ended, left, _ = router.send_in_time("tp", "100 403 1 200 10 7", conf)
    own = [frame for frame in left if IP in frame]
    others = [frame for frame in left if IP not in frame]
    assert (len(own), len(others)) == (40 * 7 + 3, 40 * 3)
    assert ended.number("Forward frames sent") == 403
    # The router has no IPv6 addresses. A few frames may be lost where the machine pauses the tester.
    assert 0.8 * len(own) < ended.number("Forward frames received") <= len(own)
    for frame in own:
        judge(frame, Family.IPV4, 80, Side.LEFT, ttl=10)
    for frame in others:
        judge(frame, Family.IPV6, 100, Side.LEFT, ttl=10)
        assert tuple_of(frame) == ("2001:2::2", "2001:2:0:8000::2", 49_184, 7)


def test_latency(router: SiitperfBed) -> None:
    ended, _, _ = router.measure("lat", "84 400 2 2000 2 2 1 100", router_conf())
    assert (ended.code, ended.lines[0]) == (0, "Info: Testing started.")
    assert ended.lines.index("Info: Test finished.") == len(ended.lines) - 5
    for direction in ("Forward", "Reverse"):
        assert 0.001 < ended.number(f"{direction} TL") <= ended.number(f"{direction} WCL") < LOST_MS
    assert all(re.search(r": \d+\.\d{6}$", line) for line in ended.lines[-4:])


def test_variation_and_frames_in_time(router: SiitperfBed) -> None:
    """The addresses vary, which siitperf-pdv did not do; lost frames alone do not look like a PDV of 0."""
    ended, left, _ = router.measure("pdv", f"84 {STATELESS} 0", router_conf())
    assert len(columns(left)[0]) > 350
    for direction in ("Forward", "Reverse"):
        high, least, most = (ended.number(f"Info: {direction} {what}") for what in ("D99_9th_perc", "Dmin", "Dmax"))
        assert 0 < least < high <= most < LOST_MS
        assert ended.number(f"{direction} PDV") == pytest.approx(high - least, abs=2e-6)
    in_time, _, _ = router.measure("pdv", f"84 {STATELESS} {LOST_MS - 1}", router_conf())
    assert in_time.number("Forward frames received") == FRAMES
    assert in_time.lines.index("Info: Test finished.") < in_time.lines.index("Forward frames received: 400")
    nowhere = router_conf(MAC_L_DUT="02:00:00:00:00:99", Reverse="0")
    lost, _, _ = router.send_in_time("pdv", f"84 {STATELESS} 0", nowhere)
    assert (lost.code, lost.number("Forward frames received"), lost.number("Forward PDV")) == (0, 0, LOST_MS)


@needs.programs("tc")
@repeated
def test_of_frames_that_all_arrive_those_within_the_time_out_are_counted(router: SiitperfBed) -> None:
    """500 frames a second leave at 400, so that each is held back for longer than the one before."""
    frames, timeout_ms = 1000, 250
    conf = router_conf(IP_L_var="0", IP_R_var="0", Reverse="0")
    with held_back(router, 400):
        ended = undisturbed(
            lambda: router.run(
                "pdv", f"84 500 2 2000 2 2 {timeout_ms}", conf, NATXY_SIITPERF_OVERRUN_FLOOR_MS=str(LATE_MS)
            ),
            Ended.disturbance,
        )
    in_time = sum(shaped_delay_s(400, 500, each / 500) <= timeout_ms / 1000 for each in range(frames))
    assert ended.number("Info: Forward frames completely missing") == 0
    # A sender that is late shifts the delays that follow, by half a millisecond for each frame more or less.
    shifted = 2 * LATE_MS / 0.5
    received = ended.number("Forward frames received")
    assert received <= in_time + shifted
    if received < in_time - shifted:
        raise DisturbedError(f"{received:g} frames in time instead of {in_time}: the gateway let them leave later")


@contextmanager
def held_back(bed: SiitperfBed, rate_fps: int) -> Iterator[None]:
    """Lets frames leave the gateway to the right at a rate."""
    side = bed.lab.interfaces.right
    ((command, _),) = shaper(rate_fps, {side: 64}).put_up
    bed.lab.transport.run(command)
    try:
        yield
    finally:
        bed.lab.transport.run(["tc", "qdisc", "del", "dev", side, "root"])


def test_the_lateness_of_a_sender_is_said_in_siitperfs_way(router: SiitperfBed) -> None:
    """No port sends 14 million frames in a second here."""
    ended = router.run("tp", "84 14000000 1 0 2 2", router_conf(Reverse="0"))
    assert ended.code == 0
    assert [line for line in ended.lines if line.startswith("Warning: Forward") and "invalid" in line]
    assert not [line for line in ended.lines if line.startswith("Forward frames sent")]
    assert len([line for line in ended.lines if line.startswith("Forward frames received")]) == 1


@repeated
def test_each_trial_is_appended_to_a_run(router: SiitperfBed, tmp_path: Path) -> None:
    """Two programs append one after the other; a script that was killed in between loses nothing."""
    run = Path(mkdtemp(dir=tmp_path)) / "made" / "run"
    conf = router_conf()
    calls = (("tp", "200 1 500 2 2"), ("tp", "400 1 500 2 2"), ("pdv", "400 1 500 2 2 0"))
    ended = [router.run(program, f"84 {words}", conf, NATXY_SIITPERF_RUN=str(run)) for program, words in calls]
    # A PDV with a missing frame has no figure.
    if disturbed := ", ".join(filter(None, map(Ended.disturbance, ended))):
        raise DisturbedError(disturbed)
    assert [each.code for each in ended] == [0, 0, 0]
    read = RunReader(run).run
    throughput, pdv = read.experiments
    assert (read.name, read.state) == ("siitperf", RunState.DONE)
    assert [step.rate for step in throughput.repetitions[0].steps] == [200, 400]
    trials = [placed.trial for placed in read.all_trials]
    printed = [each.number("Forward frames received") + each.number("Reverse frames received") for each in ended]
    assert [trial.received for trial in trials] == printed
    assert [trial.planned for trial in trials] == [400, 800, 800]
    assert {stream.name for trial in trials for stream in trial.result.streams} == {"forward", "reverse"}
    assert (pdv.repetitions[0].figures["pdv_forward"] or 0) > 0
    taken = router.run("tp", f"84 {STATELESS}", conf, NATXY_SIITPERF_RUN="/proc/run")
    assert taken.code == 255
    assert any(line.startswith("Error: NATXY_SIITPERF_RUN is '/proc/run': ") for line in taken.errors), taken.errors
