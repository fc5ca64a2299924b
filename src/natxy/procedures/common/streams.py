# SPDX-License-Identifier: Apache-2.0
"""Translates an experiment's addresses, ports and orders into requests to the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.ports import NeighborSide, NeighborsResolve
from natxy.engine.messages.requests import (
    AddressField,
    FlowSpace,
    FrameFormat,
    MappingFormat,
    PortField,
    SegmentFormat,
    SoftwireFormat,
    StreamKind,
    StreamSpec,
    SubscriberRule,
    TrialLimits,
    TrialRequest,
)
from natxy.plan.address_presets import RANDOM_PORTS
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import LEAST_MSS, Form, Protocol, data_bytes_of, segment_frame
from natxy.plan.frames.segments import ACK, REQUEST, RESPONSE, SYN, SYN_ACK, Segment, Sender
from natxy.plan.hosts import PortPair
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import LinkPair, MapDomain
from natxy.plan.model.loss_tolerance import LossTolerance
from natxy.plan.model.terms import Family, Order
from natxy.plan.model.traffic import ActiveConnections, Directions
from natxy.plan.procedures.base import LifeStep

# Other tasks take a core for about this long, which delays single frames and says nothing about the queue.
LEAST_BACKLOG_S: Final = 0.005


def neighbors_request(experiment: Experiment) -> NeighborsResolve:
    return NeighborsResolve(
        neighbors=[
            NeighborSide(side=side, pair=pair, address=link.tester.ip, gateway=link.dut.ip, answers=list(link.answered))
            for pair, links in _links(experiment)
            for side, link in ((Side.LEFT, links.left), (Side.RIGHT, links.right))
        ]
    )


def _links(experiment: Experiment) -> Iterator[tuple[int, LinkPair]]:
    """Yields the addresses of all links with the pair of ports that they belong to."""
    plan = experiment.address_plan
    yield from ((0, links) for links in plan.pairs)
    yield from enumerate(plan.further, 1)


def learning_request(experiment: Experiment) -> NeighborsResolve:
    """Requests the learning frames of RFC 2544 §23, which are address requests from all of the DUT's neighbours."""
    request = neighbors_request(experiment)
    hosts = [
        NeighborSide(side=side, address=host, gateway=link.dut.ip)
        for pair in experiment.address_plan.pairs
        for side, link in ((Side.LEFT, pair.left), (Side.RIGHT, pair.right))
        for host in link.hosts_on_link
    ]
    return request.model_copy(update={"neighbors": [*request.neighbors, *hosts]})


def establish_request(experiment: Experiment, rate_fps: float, seed: int, *pairs: int) -> TrialRequest:
    """Requests phase 1: the first frame of every connection of some of the experiment's pairs of interfaces, which
    share the rate equally; without `pairs`, of the first one."""
    share_fps = rate_fps / max(1, len(pairs))
    streams = [_initiator(experiment.of_pair(pair), share_fps, pair) for pair in pairs or (0,)]
    return request_of(experiment, streams, seed)


def request_of(experiment: Experiment, streams: Sequence[StreamSpec], seed: int) -> TrialRequest:
    timing = experiment.timing
    return TrialRequest(
        streams=[*streams],
        seed=seed,
        drain_s=timing.drain,
        drain_ends_early=timing.drain_ends_early,
        limits=TrialLimits(overrun_floor_s=timing.overrun_floor, max_pause_s=timing.max_pause),
    )


def _initiator(experiment: Experiment, rate_fps: float, pair: int) -> StreamSpec:
    assert experiment.connections is not None
    return StreamSpec(
        name=_named("phase 1", pair),
        source=Side.LEFT,
        pair=pair,
        role=StreamRole.PHASE1,
        frame=_frame(experiment, Side.LEFT, SYN),
        rate_fps=rate_fps,
        frames=experiment.connections,
        flows=_flows(experiment, Side.LEFT),
        arrives_as=_arrival(experiment, Side.LEFT),
        selection=experiment.phase1_selection,
        **_limits_of_phase1(experiment, rate_fps, Side.LEFT),
    )


def syn_ack_request(experiment: Experiment, rate_fps: float, seed: int, *pairs: int) -> TrialRequest:
    """Requests the second segment of the handshake of each connection that `establish_request` makes."""
    limits = _limits_of_phase1(experiment, rate_fps / max(1, len(pairs)), Side.RIGHT)
    return _over_each(experiment, rate_fps, seed, pairs, SYN_ACK, limits | {"name": "syn-ack"})


def ack_request(experiment: Experiment, rate_fps: float, seed: int, *pairs: int) -> TrialRequest:
    """Requests the last segment of the handshake of each connection that `establish_request` makes."""
    limits = _limits_of_phase1(experiment, rate_fps / max(1, len(pairs)), Side.LEFT)
    return _over_each(experiment, rate_fps, seed, pairs, ACK, limits | {"name": "ack"})


def validate_request(experiment: Experiment, rate_fps: float, seed: int, *pairs: int) -> TrialRequest:
    """Requests a reply for each connection that `establish_request` makes; the pairs share the rate equally."""
    limits = _limits(experiment, rate_fps / max(1, len(pairs)), Side.RIGHT)
    own = limits | {"name": "validation", "role": StreamRole.VALIDATION}
    return _over_each(experiment, rate_fps, seed, pairs, RESPONSE, own)


def _over_each(
    experiment: Experiment, rate_fps: float, seed: int, pairs: Sequence[int], segment: Segment, own: dict[str, Any]
) -> TrialRequest:
    """Requests a frame over each connection, from the side that sends such a segment of TCP; `own` has further fields
    of the streams, with their name."""
    assert experiment.connections is not None
    side = _side(segment.sender)
    streams = [
        StreamSpec(
            source=side,
            pair=pair,
            kind=StreamKind.CONNECTIONS if side == Side.LEFT else StreamKind.REPLIES,
            frame=_frame(experiment, side, segment),
            rate_fps=rate_fps / max(1, len(pairs)),
            frames=experiment.connections,
            order=experiment.orders.of_initiator if side == Side.LEFT else experiment.orders.state_table,
            **own | {"name": _named(own["name"], pair)},
        )
        for pair in pairs or (0,)
    ]
    return request_of(experiment, streams, seed)


def _limits_of_phase1(experiment: Experiment, rate_fps: float, side: Side) -> dict[str, Any]:
    """Returns what a trial that makes connections tolerates: what the procedure does if it measures them, and otherwise
    the connections that may be left out."""
    if experiment.procedure.stateful:
        return _limits(experiment, rate_fps, side)
    return {"max_loss_ratio": _left_out(experiment)}


def _limits(experiment: Experiment, rate_fps: float, side: Side) -> dict[str, Any]:
    """Returns what a frame for each connection at this rate may lose, and by how much the last may be delayed."""
    assert experiment.connections is not None
    return {
        "max_loss_ratio": tolerated(experiment, side),
        "max_backlog_s": allowed_backlog_s(experiment, experiment.connections / rate_fps),
    }


def lives_request(experiment: Experiment, rate_fps: float, seed: int, *pairs: int) -> TrialRequest:
    """Requests the connections of some pairs of interfaces, which share the rate equally, and in the same trial the
    further frames that the procedure has for each connection. A loss of any frame counts alike."""
    opened = establish_request(experiment, rate_fps, seed, *pairs)
    steps = experiment.procedure.life(experiment.protocol)
    lives = [_live(experiment, stream, step) for stream in opened.streams for step in steps]
    return opened.model_copy(update={"streams": [*opened.streams, *lives]})


def _live(experiment: Experiment, opening: StreamSpec, step: LifeStep) -> StreamSpec:
    """Returns the stream of a step in the lives of the connections that a stream opens."""
    side = _side(step.sender)
    return StreamSpec(
        name=_named(step.name, opening.pair),
        source=side,
        pair=opening.pair,
        kind=StreamKind.CONNECTIONS if side == Side.LEFT else StreamKind.REPLIES,
        frame=_frame(experiment, side, step.segment),
        rate_fps=opening.rate_fps,
        frames=opening.frames,
        start_s=step.age_s,
        order=Order.INCREASING,
        **_limits(experiment, opening.rate_fps, side),
    )


def first_reply_request(experiment: Experiment, rate_fps: float, seed: int) -> TrialRequest:
    """Requests the first frame that a gateway without a connection would not let through: a SYN-ACK, or any of UDP."""
    request = syn_ack_request if experiment.protocol == Protocol.TCP else validate_request
    return request(experiment, rate_fps, seed)


def traffic_request(experiment: Experiment, rate_fps: float, seed: int, *, frames: int | None = None) -> TrialRequest:
    """Requests traffic at `rate_fps` in each direction, for the experiment's `traffic_s` or for a number of `frames`.

    Pairs of interfaces share the rate equally; each has streams of its own, of `frames` frames. Without `frames`, one
    that begins after the others ends with them (RFC 8219 §10.2.2). With background traffic, the number of frames is
    rounded to whole turns of foreground and background. With connections, the traffic is phase 2, and no frame opens a
    new connection.
    """
    sides = {
        Directions.FORWARD: [Side.LEFT],
        Directions.REVERSE: [Side.RIGHT],
        Directions.BIDIRECTIONAL: [Side.LEFT, Side.RIGHT],
    }[experiment.directions or Directions.BIDIRECTIONAL]
    pairs = [experiment.of_pair(number) for number in range(experiment.pair_count)]
    interval_s = experiment.start_interval or 0.0
    streams = [
        stream
        for number, pair in enumerate(pairs)
        for side in sides
        for stream in _direction(pair, side, number, rate_fps / len(pairs), frames, number * interval_s)
    ]
    return request_of(experiment, streams, seed)


def _named(name: str, pair: int) -> str:
    """Returns the name of a stream, which for a further pair of interfaces ends with the pair's number."""
    return f"{name} {pair + 1}" if pair else name


def with_foreground(request: TrialRequest, updates: Callable[[StreamSpec], dict[str, Any]]) -> TrialRequest:
    """Returns the request with the fields in `updates(stream)` replaced in every foreground stream."""
    streams = [
        stream if stream.role == StreamRole.BACKGROUND else stream.model_copy(update=updates(stream))
        for stream in request.streams
    ]
    return request.model_copy(update={"streams": streams})


def _direction(
    experiment: Experiment, side: Side, number: int, rate_fps: float, frames: int | None, start_s: float
) -> list[StreamSpec]:
    """Returns the foreground and background streams of one sender, on the pair of this number, whose rates add up to
    `rate_fps`."""
    own = _traffic(experiment, side, number, rate_fps, frames, start_s)
    background = experiment.background
    if background is None or background.share == 0:
        return [own]
    few, of = background.turns
    cycles = max(1, round(own.frames / of))
    share = few / of
    native = StreamSpec(
        name=_named(f"{side.direction} background", number),
        source=side,
        pair=number,
        role=StreamRole.BACKGROUND,
        frame=own.frame.model_copy(update={"size": background.frame_size, "form": Form.UDP}),
        rate_fps=rate_fps * share,
        frames=cycles * few,
        flows=_native_flows(background.links, side),
        interleaved_with=own.name,
        max_loss_ratio=own.max_loss_ratio,
        max_backlog_s=own.max_backlog_s,
        frame_timeout_s=own.frame_timeout_s,
    )
    return [own.model_copy(update={"rate_fps": rate_fps * (1 - share), "frames": cycles * (of - few)}), native]


def _native_flows(links: LinkPair, side: Side) -> FlowSpace:
    own, far = (links.left, links.right) if side == Side.LEFT else (links.right, links.left)
    return FlowSpace(
        source_address=AddressField(address=own.tester.ip),
        destination_address=AddressField(address=far.tester.ip),
        source_port=PortField(min=RANDOM_PORTS.source.min, max=RANDOM_PORTS.source.max),
        destination_port=PortField(min=RANDOM_PORTS.destination.min, max=RANDOM_PORTS.destination.max),
    )


def _traffic(
    experiment: Experiment, side: Side, number: int, rate_fps: float, frames: int | None, start_s: float
) -> StreamSpec:
    duration_s = experiment.traffic_s - start_s
    stateful = experiment.connections is not None
    established = StreamKind.CONNECTIONS if side == Side.LEFT else StreamKind.REPLIES
    active = experiment.active_connections or ActiveConnections()
    return StreamSpec(
        name=_named(side.direction, number),
        source=side,
        pair=number,
        kind=established if stateful else StreamKind.FLOWS,
        frame=_frame(experiment, side, REQUEST if side == Side.LEFT else RESPONSE),
        rate_fps=rate_fps,
        frames=frames or max(1, round(rate_fps * duration_s)),
        start_s=start_s,
        flows=None if stateful else _flows(experiment, side),
        arrives_as=None if stateful else _arrival(experiment, side),
        order=experiment.orders.of_initiator if side == Side.LEFT else experiment.orders.state_table,
        active_connections=active.forward if side == Side.LEFT else active.reverse,
        max_loss_ratio=tolerated(experiment, side),
        max_backlog_s=allowed_backlog_s(experiment, duration_s),
        frame_timeout_s=experiment.procedure.frame_timeout_s,
    )


def allowed_backlog_s(experiment: Experiment, traffic_s: float) -> float | None:
    """Returns by how much the last frame of so long a traffic may be delayed; None if any delay is allowed."""
    share = experiment.timing.max_backlog
    return max(LEAST_BACKLOG_S, share * traffic_s) if experiment.procedure.sustained and share is not None else None


def _left_out(experiment: Experiment) -> float:
    """Returns the share of connections that phase 1 may leave out, so that its floor is the exact number of them."""
    assert experiment.connections is not None
    return (experiment.left_out + 0.5) / experiment.connections if experiment.left_out else 0.0


def tolerated(experiment: Experiment, sender: Side) -> float:
    tolerance = experiment.loss_tolerance or LossTolerance()
    return tolerance.forward if sender == Side.LEFT else tolerance.reverse


def _flows(experiment: Experiment, side: Side) -> FlowSpace:
    """Returns the flow space of one direction; the orders named `source` apply to the sender's own fields."""
    orders = experiment.orders
    ports: PortPair = experiment.ports
    left, right = experiment.hosts_of_ports
    own, far = left, experiment.left_destinations
    if side == Side.RIGHT:
        own, far = right, experiment.right_destinations
        ports, orders = experiment.ports.in_reverse, experiment.orders.in_reverse
    assert far is not None
    return FlowSpace(
        source_address=_address_field(own, orders.source_address),
        destination_address=_address_field(far, orders.destination_address),
        source_port=PortField(min=ports.source.min, max=ports.source.max, order=orders.source_port),
        destination_port=PortField(min=ports.destination.min, max=ports.destination.max, order=orders.destination_port),
    )


def _address_field(hosts: AddressRanges, order: Order) -> AddressField:
    one, *others = hosts.ranges
    field = AddressField(address=one.first, order=order, others=[each.first for each in others])
    low, high = one.values
    return field if low == high else field.model_copy(update={"low_bit": one.low_bit, "min": low, "max": high})


def _arrival(experiment: Experiment, sender: Side) -> Family | None:
    """Returns the family in which a side's frames arrive, if it is another one."""
    left, right = experiment.families_of_ports
    return None if left == right else right if sender == Side.LEFT else left


def _side(sender: Sender) -> Side:
    return Side.LEFT if sender == Sender.INITIATOR else Side.RIGHT


def _frame(experiment: Experiment, side: Side, segment: Segment | None) -> FrameFormat:
    """Returns what a side's frames look like; those of TCP are such segments."""
    frames = experiment.frames_of_port(side.value)
    size = frames.sizes[0] if len(frames.sizes) == 1 else [*frames.sizes]
    plain = FrameFormat(form=frames.form, size=size, ttl=experiment.ttl, dont_fragment=experiment.dont_fragment)
    if frames.form == Form.TCP:
        assert segment is not None
        return plain.model_copy(update=_of_segment(experiment, side, segment))
    update: dict[str, Any] = {"arrival_form": _arrival_form(experiment, side)}
    if softwire := experiment.softwire:
        subscribers = experiment.subscribers.bindings if experiment.subscribers else None
        ends = SoftwireFormat.of(softwire, subscribers)
        ends = ends.model_copy(update={"may_lack_checksum": experiment.may_lack_checksum})
        return plain.model_copy(update=update | {"softwire": ends})
    if domain := experiment.map_domain:
        return plain.model_copy(update=update | {"mapping": _mapping(domain)})
    return plain


def _of_segment(experiment: Experiment, side: Side, segment: Segment) -> dict[str, Any]:
    """Returns what a side's frames have that are such segments of TCP."""
    own_bytes, other_bytes = (_data_bytes(experiment, each) for each in (side, side.opposite))
    own = SegmentFormat(
        sender=segment.sender,
        flags=segment.flags,
        sequence=segment.sequence.bytes(own_bytes),
        acknowledged=segment.acknowledged.bytes(other_bytes),
        largest=max(other_bytes, LEAST_MSS),
    )
    if segment.has_data:
        return {"segment": own}
    return {"segment": own, "form": Form.TCP_OPTION, "size": segment_frame(_family(experiment, side))}


def _family(experiment: Experiment, side: Side) -> Family:
    """Returns the family of what the port on a side sends."""
    return experiment.families_of_ports[0 if side == Side.LEFT else 1]


def _data_bytes(experiment: Experiment, side: Side) -> int:
    """Returns how many bytes of data a segment has that the port on a side sends."""
    return data_bytes_of(experiment.frames_of_port(side.value).sizes[0], _family(experiment, side))


def _mapping(domain: MapDomain) -> MappingFormat:
    return MappingFormat(subscribers=SubscriberRule.of_domain(domain), prefix=domain.prefix)


def _arrival_form(experiment: Experiment, sender: Side) -> Form:
    """Returns the form in which a side's frames arrive, where the tester plays the end of a softwire or of MAP-T."""
    left, right = experiment.forms_of_ports
    return (right if sender == Side.LEFT else left).form_from(sender.value)
