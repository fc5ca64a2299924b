# SPDX-License-Identifier: Apache-2.0
"""Compares the frames of the programs that stand in for siitperf's, and those of the imported plans, with siitperf's.

Both send through natxy-reference in the same lab, whose links are those of the plan.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pytest
from scapy.packet import Packet

from natxy.dut.drivers.reference import gateway_of
from natxy.engine.messages.common import Side
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import DEFAULT_LINKS
from natxy.plan.gateways.reference import ReferenceConfig, ReferenceMode
from natxy.plan.model.terms import Family, TranslationKind
from natxy.plan.yaml.loading import load_plan
from natxy.procedures.common.streams import establish_request, neighbors_request, traffic_request
from natxy.testbeds.lab import DUT_MACS
from natxy.testbeds.veth import TESTER_MACS
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import Source
from natxy_siitperf.program import PROCEDURES
from tests.support import needs
from tests.support.captured_frames import FourTuple, judge, signature_of, tuple_of
from tests.support.nat_bed import all_captured, patiently
from tests.support.reference_bed import ReferenceBed, reference_bed
from tests.support.siitperf_bed import LINKS, run_in_lab
from tests.support.siitperf_cases import CASES, FRAMES, Case
from tests.support.siitperf_facts import Column, Way, background, enumerates, foreground, phase1, reply_indices, traffic
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, needs.REFERENCE]

_TTL: Final = 10
# Frames of 1538 bytes.
_MTU: Final = 1520
_PLAN_RATE_FPS: Final = 3000
# Phase 1 is repeated if the machine took the gateway's core for so long that connections are missing.
_ATTEMPTS: Final = 4


@dataclass(frozen=True)
class Sent:
    """The frames that one way sent, by the sides of siitperf.conf, and what the responder received of phase 1."""

    phase1: list[Packet]
    forward: list[Packet]
    reverse: list[Packet]
    arrived: list[Packet]


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ReferenceBed]:
    with reference_bed(LINKS.model_copy(update={"mtu": _MTU}), tmp_path_factory.mktemp("reference")) as opened:
        yield opened


# A few seconds each: `make test` has one of each kind.
_QUICK: Final = (
    "SIIT, random ports", "IPv4 router, an offset for each side", "IPv4 router, background",
    "IPv6 router, hosts in the middle", "NAT44, decreasing enumeration", "NAT44, hosts and ports at random",
    "NAT44, the right is the initiator", "NAT64, increasing enumeration",
)  # fmt: skip
_NAMES: Final = [
    *_QUICK,
    *(pytest.param(name, marks=pytest.mark.more) for name in CASES if name not in _QUICK),
]


@pytest.mark.parametrize("name", _NAMES)
@repeated
def test_the_programs_and_the_plan_send_what_siitperf_sends(bed: ReferenceBed, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    experiment = imported(case, tmp_path)
    bed.gateway.apply(gateway_of(gateway_config(case, experiment), experiment.address_plan))
    judge_sent(sent_by_plan(bed, case, experiment), case, case.keys | case.keys_of_plan, plan=True)
    judge_sent(sent_by_program(bed, case, tmp_path), case, case.keys, plan=False)


def imported(case: Case, folder: Path) -> Experiment:
    """Returns the experiment of the plan that the configuration becomes."""
    conf = parse_conf(case.text({}))
    arguments = parse_arguments(PROCEDURES[case.procedure], case.arguments.split(), conf)
    (folder / "plan.yaml").write_text(import_plan(Source(conf, case.procedure, arguments)), encoding="utf-8")
    return load_plan(folder / "plan.yaml").experiments[0]


def gateway_config(case: Case, experiment: Experiment) -> ReferenceConfig:
    """Returns a gateway that does what the plan's does, without being slower than the frames."""
    translation = experiment.translation
    keeps = case.is_stateful or (translation is not None and translation.kind == TranslationKind.NAT46)
    return ReferenceConfig(mode=ReferenceMode.NAT if keeps else ReferenceMode.FORWARD)


def sent_by_plan(bed: ReferenceBed, case: Case, experiment: Experiment) -> Sent:
    bed.engine.resolve_neighbors(neighbors_request(experiment))
    first, arrived = established(bed, experiment) if case.is_stateful else ([], [])
    with bed.sent(Side.LEFT) as left, bed.sent(Side.RIGHT) as right:
        if experiment.procedure.name != "connection-rate":
            request = traffic_request(experiment, _PLAN_RATE_FPS, seed=2, frames=FRAMES)
            bed.engine.run_trial(patiently(request))
    ways = (right, left) if case.is_mirrored else (left, right)
    return Sent(first, *ways, arrived)


def established(bed: ReferenceBed, experiment: Experiment) -> tuple[list[Packet], list[Packet]]:
    """Runs the plan's phase 1; returns the frames that its left side sent, and those that the right side received."""
    for _ in range(_ATTEMPTS):
        bed.gateway.clear_table(0)
        with bed.sent(Side.LEFT) as first, bed.arrived(Side.RIGHT) as arrived:
            connecting = establish_request(experiment, _PLAN_RATE_FPS, seed=1)
            done = bed.engine.run_trial(patiently(connecting))
        if done.established == experiment.connections:
            break
    return first, arrived


def sent_by_program(bed: ReferenceBed, case: Case, folder: Path) -> Sent:
    """Runs the program with the sides that the plan has."""
    sides = sides_of(case)
    macs = {f"MAC-{letter}-Tester": TESTER_MACS[side] for letter, side in sides.items()}
    macs |= {f"MAC-{letter}-DUT": DUT_MACS[side] for letter, side in sides.items()}
    for _ in range(_ATTEMPTS):
        if case.is_stateful:
            bed.gateway.clear_table(0)
        with bed.sent(Side.LEFT) as left, bed.sent(Side.RIGHT) as right, bed.arrived(Side.RIGHT) as arrived:
            conf, mirrored = case.text(macs), case.is_mirrored
            ended = run_in_lab(bed.lab, case.program, case.arguments, folder, conf, io="af_packet", mirrored=mirrored)
        assert ended.code == 0, ended.errors
        if not any("Failed to fill state table" in line for line in ended.lines):
            break
    first: list[Packet] = []
    if case.is_stateful:
        run_id = signature_of(left[0]).run_id
        first, left = ([f for f in left if (signature_of(f).run_id == run_id) is own] for own in (True, False))
        arrived = [frame for frame in arrived if signature_of(frame).run_id == run_id]
    return Sent(first, *((right, left) if case.is_mirrored else (left, right)), arrived)


def sides_of(case: Case) -> dict[str, Side]:
    """Returns the plan's sides of siitperf's: the plan's left has the initiator, which may be on siitperf's right."""
    return {"L": Side.RIGHT, "R": Side.LEFT} if case.is_mirrored else {"L": Side.LEFT, "R": Side.RIGHT}


def judge_sent(sent: Sent, case: Case, keys: dict[str, str], *, plan: bool) -> None:
    connections = judge_phase1(sent, case, keys) if case.is_stateful else []
    for forward in (True, False):
        frames = sent.forward if forward else sent.reverse
        if keys["Forward" if forward else "Reverse"] == "0":
            assert not frames
            continue
        own = judge_mixture(frames, case, keys, forward, plan=plan)
        for frame in own:
            judge_frame(frame, *foreground(keys, forward, case.size), left=forward is not case.is_mirrored)
        tuples = by_sequence(own)
        if case.is_stateful and forward is case.is_mirrored:
            judge_replies(tuples, connections, case, keys)
        elif case.is_stateful and plan:
            assert {*tuples} <= {tuple_of(frame) for frame in sent.phase1}
        else:
            way = traffic(keys, forward)
            judge_columns(tuples, from_all_networks(way, keys, forward) if plan else way)


def judge_phase1(sent: Sent, case: Case, keys: dict[str, str]) -> list[FourTuple]:
    """Judges the frames of phase 1; returns the connections as the responder saw them, in their order."""
    way = phase1(keys)
    for frame in sent.phase1:
        judge_frame(frame, *foreground(keys, not case.is_mirrored, case.size), left=True)
    all_captured(sent.phase1, case.connections)
    all_captured(sent.arrived, case.connections)
    assert len(sent.phase1) == case.connections
    tuples, every = by_sequence(sent.phase1), way.every_tuple
    if not enumerates(keys):
        judge_columns(tuples, way)
    elif way.sport.order == 3 or way.source.order == 3:
        assert len({*tuples}) == len(tuples)
        assert {*tuples} <= {*every}
        assert len(tuples) < len(every) or sorted(tuples) == sorted(every)
        assert tuples != sorted(tuples)
    else:
        assert tuples == every[: len(tuples)]
    return by_sequence(sent.arrived)


def judge_mixture(frames: list[Packet], case: Case, keys: dict[str, str], forward: bool, *, plan: bool) -> list[Packet]:
    """Judges the number of frames and those of the background; returns the others."""
    all_captured(frames, FRAMES)
    assert len(frames) == FRAMES
    streams = [signature_of(frame).stream for frame in frames]
    own, native = (
        [f for f, stream in zip(frames, streams, strict=True) if (stream == min(streams)) is fg] for fg in (True, False)
    )
    assert len(own) == FRAMES * min(case.m, case.n) // case.n
    for frame in native:
        judge_frame(frame, 6, case.size, left=forward is not case.is_mirrored)
    if native:
        way = background_of_plan(case, keys, forward) if plan else background(keys, forward)
        judge_columns(by_sequence(native), way)
    return own


def background_of_plan(case: Case, keys: dict[str, str], forward: bool) -> Way:
    """Returns what a plan sends, as its head says: one address on each side, which is natxy's own where the foreground
    is IPv6 too, and the ports of RFC 4814."""
    addresses = {
        letter: keys[f"IPv6-{letter}-Real"]
        if keys[f"IP-{letter}-Vers"] == "4"
        else str(getattr(DEFAULT_LINKS, side).tester.ip)
        for letter, side in sides_of(case).items()
    }
    source, destination = (Column([addresses[letter]], 0) for letter in ("LR" if forward else "RL"))
    sport, dport = (Column(range(low, high + 1), 3) for low, high in ((1024, 65_535), (1, 49_151)))
    return Way(source, destination, sport, dport)


def judge_frame(frame: Packet, version: int, size: int, *, left: bool) -> None:
    family, side = (Family.IPV4 if version == 4 else Family.IPV6), (Side.LEFT if left else Side.RIGHT)
    judge(frame, family, size, side, ttl=_TTL)


def judge_columns(tuples: list[FourTuple], way: Way) -> None:
    """Judges each field on its own: a counter has its sequence, and a random one all values but no others."""
    for column, sent in zip(way.columns, zip(*tuples, strict=True), strict=True):
        values = column.values
        if not column.is_random:
            assert [*sent] == [values[number % len(values)] for number in range(len(sent))]
            continue
        assert {*sent} <= {*values}
        # The probability that a value is missing is below 1e-9.
        assert len(sent) < 25 * len(values) or {*sent} == {*values}
        assert len(values) < 5 or [*sent] != sorted(sent)


def judge_replies(tuples: list[FourTuple], connections: list[FourTuple], case: Case, keys: dict[str, str]) -> None:
    table = [(destination, source, dport, sport) for source, destination, sport, dport in connections[: case.table]]
    indices = reply_indices(keys, case.table, len(tuples))
    if indices is None:
        assert {*tuples} == {*table}
        assert tuples[: len(table)] != table
    else:
        assert tuples == [table[index] for index in indices]


def from_all_networks(way: Way, keys: dict[str, str], forward: bool) -> Way:
    """Returns what a plan sends: the hosts of all networks of a side are sources too, as its head says."""
    own = traffic(keys, not forward).destination
    return way if len(own.values) == len(way.source.values) else replace(way, source=own)


def by_sequence(frames: list[Packet]) -> list[FourTuple]:
    tuples = {signature_of(frame).sequence: tuple_of(frame) for frame in frames}
    assert sorted(tuples) == [*range(len(frames))]
    return [tuples[number] for number in range(len(frames))]
