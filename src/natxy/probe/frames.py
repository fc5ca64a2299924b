# SPDX-License-Identifier: Apache-2.0
"""Sends probe frames through a gateway, as an experiment's own frames but few and of one flow."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Final

from natxy.causes.damage import DAMAGED, damage, frame_bytes
from natxy.engine.interface import Engine
from natxy.engine.messages.common import Side
from natxy.engine.messages.requests import StreamSpec
from natxy.engine.messages.results import ForeignSample, StreamResult, TrialResult
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.probe.observed import Passage, Refusal, together
from natxy.procedures.common.streams import establish_request, traffic_request, with_foreground

FRAMES: Final = 16
# Frames of one flow that follow each other closely are those that an offload merges.
_BURST: Final = 8
PROBE_FPS: Final = 2000.0
# A gateway whose own neighbours are not resolved yet, or whose core is away, needs longer than a short drain.
_DRAIN_S: Final = 0.4
SEED: Final = 1

_ETHERNET_HEADER_BYTES: Final = 14
_IPV6_BYTES: Final = 40
# By type and code; the codes of RFC 1812 §5.2.7.1 and RFC 4443 §3.1.
_ICMP: Final = {
    **{(3, code): Refusal.NO_ROUTE for code in (0, 1, 5, 6, 7, 11, 12)},
    **{(3, code): Refusal.PROHIBITED for code in (9, 10, 13)},
    (3, 3): Refusal.PORT,
    (3, 4): Refusal.TOO_LONG,
}
_ICMPV6: Final = {
    **{(1, code): Refusal.NO_ROUTE for code in (0, 3, 6)},
    **{(1, code): Refusal.PROHIBITED for code in (1, 5)},
    (1, 4): Refusal.PORT,
}


def send_probes(
    engine: Engine, experiment: Experiment, openings: int = 1, pair: int = 0, attempt: int = 0
) -> list[Passage]:
    """Sends frames in the experiment's directions, between the interfaces of one pair, and returns how they fared.

    Through a gateway that keeps connections, the frames are those of one connection. If that cannot be opened by as
    many frames as `openings`, one after the other, nothing else is sent. Each `attempt` takes other ports, if the
    experiment has others: a gateway may lose one flow and forward the rest.
    """
    probe = probe_of(experiment, attempt)
    if probe.connections:
        request = establish_request(probe, PROBE_FPS, SEED, pair)
        tried: list[Passage] = []
        while not any(passage.good for passage in tried):
            if len(tried) == openings:
                return [together(tried)]
            tried += passages(engine.run_trial(request), request.streams)
    of_all = traffic_request(probe, probe.pair_count * PROBE_FPS, SEED, frames=FRAMES)
    of_pair = [stream for stream in of_all.streams if stream.pair == pair]
    traffic = with_foreground(of_all.model_copy(update={"streams": of_pair}), lambda _: {"burst": _BURST})
    return passages(engine.run_trial(traffic), traffic.streams)


def passages(result: TrialResult, streams: list[StreamSpec]) -> list[Passage]:
    """Returns how the frames of each stream fared."""
    found = {stream.name: stream for stream in result.streams}
    return [_passage(stream, found[stream.name], result.samples) for stream in streams]


def probe_of(experiment: Experiment, attempt: int = 0) -> Experiment:
    """Returns the experiment with a single flow, another one for each `attempt`, and with the limits of a probe."""
    timing = experiment.timing.model_copy(
        update={
            "drain": _DRAIN_S,
            "drain_ends_early": True,
            "overrun_floor": 1.0,
            "max_pause": 10.0,
            "max_backlog": None,
        }
    )
    # The longest frames of a mix show whether a link or an offload changes them.
    # One flow of UDP crosses every gateway, but a segment of TCP may not without a handshake.
    update = {"background": None, "timing": timing, "connections": None, "mix": None, "protocol": Protocol.UDP}
    probe = experiment.model_copy(update=update).with_one_flow(attempt)
    return probe.model_copy(update={"connections": 1 if experiment.uses_connections else None})


def _passage(stream: StreamSpec, found: StreamResult, samples: list[ForeignSample]) -> Passage:
    lengths = [
        length
        for sample in samples
        if sample.side != stream.source and sample.kind == DAMAGED and (length := frame_bytes(_bytes(sample)))
    ]
    return Passage(
        source=stream.source,
        size=stream.frame.longest,
        sent=found.sent,
        arrived=found.received,
        misrouted=found.misrouted,
        corrupt=found.corrupt,
        longest=max(lengths, default=None),
        refusals=tuple(dict.fromkeys(_refusals(stream.source, samples))),
        damage=damage(
            (sample for sample in samples if sample.side != stream.source),
            may_lack_checksum=bool(stream.frame.softwire and stream.frame.softwire.may_lack_checksum),
        ),
    )


def _refusals(sender: Side, samples: list[ForeignSample]) -> Iterator[Refusal]:
    for sample in samples:
        if sample.side != sender:
            continue
        packet = _bytes(sample)[_ETHERNET_HEADER_BYTES:]
        match sample.kind:
            case "icmp_unreachable":
                header_bytes = 4 * (packet[0] & 0xF) if packet else 0
                yield _ICMP.get(_type_and_code(packet, header_bytes), Refusal.OTHER)
            case "icmpv6_unreachable":
                yield _ICMPV6.get(_type_and_code(packet, _IPV6_BYTES), Refusal.OTHER)
            case "icmp_fragmentation_needed" | "icmpv6_packet_too_big":
                yield Refusal.TOO_LONG
            case "icmp_time_exceeded" | "icmpv6_time_exceeded":
                yield Refusal.LOOP


def _bytes(sample: ForeignSample) -> bytes:
    return base64.b64decode(sample.data_base64)


def _type_and_code(packet: bytes, header_bytes: int) -> tuple[int, int]:
    kind, code = (*packet[header_bytes : header_bytes + 2], 0, 0)[:2]
    return kind, code
