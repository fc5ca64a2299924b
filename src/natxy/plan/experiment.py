# SPDX-License-Identifier: Apache-2.0
"""The resolved plan: every setting has a value. Procedures work from it, and a run folder keeps it as plan.yaml.

Its fields are named as in a plan, so a resolved plan is itself a valid plan with the same meaning.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from typing import Annotated, Any, Literal

from pydantic import Field, field_serializer

from natxy.addressing.embedding import moved_bit
from natxy.plan.crossings import LinkForm, bytes_longer
from natxy.plan.draws import expected_distinct
from natxy.plan.frames.background import Background
from natxy.plan.frames.forms import ExtensionHeaders, Form, Frames, Protocol, segment_frame, smallest_frame
from natxy.plan.frames.mix import Mix, mean_bytes, mix_sizes
from natxy.plan.frames.sizes import line_rate_fps, mtu_for
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.chain import Kinds
from natxy.plan.hosts import Addresses, Ports
from natxy.plan.model.address_ranges import AddressRange, AddressRanges
from natxy.plan.model.addresses import (
    AddressPlan,
    IPNetwork,
    LinkPair,
    MapDomain,
    Softwire,
    Translation,
)
from natxy.plan.model.base import PlanModel, Shorthand
from natxy.plan.model.loss_tolerance import LossTolerance, Phase1Loss, left_out
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.search import KnownRate, Search
from natxy.plan.model.subscribers import AnySubscribers
from natxy.plan.model.terms import CellValue, EarlyEnd, Family, Selection, SizeConvention
from natxy.plan.model.thresholds import Thresholds
from natxy.plan.model.timing import Timing
from natxy.plan.model.traffic import ActiveConnections, Directions, Orders
from natxy.plan.model.units import BitRate, Duration, Unit, counted
from natxy.plan.path import GatewayPath, forms_of_links, kinds_of, path_of
from natxy.plan.procedures import ProcedureConfig
from natxy.system.interrupts import dumped


class Experiment(PlanModel):
    """A procedure, the gateway that it measures, and all settings of the traffic.

    In a cell of a sweep, `sweep` is the name of the swept experiment, and `cell` has the swept fields with this cell's
    values, in the order of the plan.
    """

    name: str
    title: str
    sweep: str | None = None
    cell: dict[str, CellValue] = Field(default={}, exclude_if=lambda cell: not cell)
    gateway: GatewayConfig
    whole: str | None = Field(default=None, exclude_if=lambda whole: whole is None)
    """The experiment on the whole chain, if this one has a box of it alone."""
    procedure: ProcedureConfig
    family: Family
    translation: Translation | None
    subscribers: AnySubscribers | None = Field(default=None, exclude_if=lambda subscribers: subscribers is None)
    protocol: Protocol = Field(default=Protocol.UDP, exclude_if=lambda protocol: protocol == Protocol.UDP)
    frame_size: int
    """The size in bytes, FCS included, of every frame, or of the longest of a `mix`."""
    mix: Mix | None = Field(default=None, exclude_if=lambda mix: mix is None)
    extension_headers: ExtensionHeaders = Field(
        default=ExtensionHeaders.NONE, exclude_if=lambda headers: headers == ExtensionHeaders.NONE
    )
    size_convention: SizeConvention
    line_rate: BitRate | None
    tag_bytes: int = Field(default=0, exclude_if=lambda tag_bytes: not tag_bytes)
    """The bytes that a VLAN tag adds to each frame on the cable."""
    ttl: int
    dont_fragment: bool
    directions: Directions | None
    addresses: Addresses
    ports: Ports
    orders: Orders
    flows: int | None
    pairs: int | None = Field(default=None, exclude_if=lambda pairs: pairs is None)
    """The pairs of interfaces that have traffic at the same time, each with flows and connections of its own."""
    start_interval: Duration | None = Field(default=None, exclude_if=lambda interval: interval is None)
    """The time from the start of one pair of interfaces to that of the next; None: all begin together."""
    cores: int | None
    connections: int | None
    phase1_selection: Selection = Field(
        default=Selection.ENUMERATE, exclude_if=lambda selection: selection == Selection.ENUMERATE
    )
    active_connections: ActiveConnections | None
    phase1_rate: KnownRate | None
    phase1_loss: Phase1Loss | None = Field(default=None, exclude_if=lambda loss: loss is None)
    rate: KnownRate | None
    alpha: float | None
    search: Search | None
    background: Background | None
    loss_tolerance: LossTolerance | None
    baseline: str | None
    expect: Thresholds | None
    repeat: Annotated[Repeat, Shorthand("at_most", "Repetitions")]
    max_invalid: int
    timing: Timing

    @field_serializer("gateway")
    def _gateway(self, gateway: GatewayConfig) -> dict[str, Any]:
        return dumped(gateway, exclude_none=True)

    @field_serializer("procedure")
    def _procedure(self, procedure: ProcedureConfig) -> dict[str, Any] | str:
        settings = dumped(procedure, exclude_none=True)
        return settings if len(settings) > 1 else procedure.name

    @property
    def address_plan(self) -> AddressPlan:
        """The addresses of the tester's links."""
        plays = any(box.is_played for box in self.gateway.boxes)
        return self.path.ends if plays and self.kinds else self._ends

    @property
    def _ends(self) -> AddressPlan:
        """The addresses of both ends, also of one within a box that the tester plays."""
        longest = max(self.longest_frame, self.background.frame_size if self.background else 0)
        return AddressPlan(
            left=self.addresses.left,
            right=self.addresses.right,
            translation=self.translation,
            pool=self.addresses.pool,
            background=self.background.links if self.background else None,
            further=tuple(LinkPair(left=each.left, right=each.right) for each in self.addresses_of_pairs[1:]),
            mtu=mtu_for(longest) + self.spare_mtu,
        )

    @property
    def forms_of_links(self) -> tuple[LinkForm, ...]:
        """The forms of frames on all links, from the left to the right end."""
        return forms_of_links(self.families[0], self.kinds) if self.kinds else tuple(map(LinkForm, self.families))

    @property
    def families_of_links(self) -> tuple[Family, ...]:
        """The address families of all links likewise."""
        return tuple(form.family for form in self.forms_of_links)

    @property
    def forms_of_ports(self) -> tuple[LinkForm, LinkForm]:
        """The forms of frames on the links of the tester's left and right port."""
        boxes, forms = self.gateway.boxes, self.forms_of_links
        return forms[int(boxes[0].is_played)], forms[-1 - int(boxes[-1].is_played)]

    @property
    def softwire(self) -> Softwire | None:
        """The end of a softwire whose other end the tester plays; None if it plays none."""
        left, right = self.forms_of_ports
        if not left.in_softwire and not right.in_softwire:
            return None
        # A router may stand before the gateway that is the end.
        ends = [hop.addresses.softwire for hop in self.path.hops if hop.addresses.softwire]
        return ends[0] if left.in_softwire else ends[-1]

    @property
    def map_domain(self) -> MapDomain | None:
        """The end of MAP-T whose other end the tester plays; None if it plays none."""
        left, right = self.forms_of_ports
        if not left.mapped and not right.mapped:
            return None
        ends = [hop.addresses.map_domain for hop in self.path.hops if hop.addresses.map_domain]
        return ends[0] if left.mapped else ends[-1]

    @property
    def can_spoof(self) -> bool:
        """True if the tester plays an end whose spoofed frames the gateway can tell. A packet of MAP-T has no second
        address: only its port shows that it is spoofed, if subscribers share addresses (RFC 7599 §8)."""
        left, right = self.forms_of_ports
        if left.mapped or right.mapped:
            return left.mapped and self.subscribers is not None and self.subscribers.share_addresses
        return self.softwire is not None

    @property
    def kinds(self) -> Kinds | None:
        """The translation of each gateway, or its end of a softwire or of MAP-T; None for a chain that leads
        nowhere."""
        return kinds_of(self.gateway, self.families, self.translation)

    @property
    def path(self) -> GatewayPath:
        """The gateways, each with the addresses of its links."""
        kinds = self.kinds
        assert kinds, "the plan's checks refuse a chain that leads nowhere"
        return path_of(
            self.gateway,
            kinds,
            self._ends,
            self.families[0],
            self.addresses.left_hosts,
            self.subscribers.bindings if self.subscribers else None,
            self.subscribers.core if self.subscribers else None,
        )

    @property
    def pair_count(self) -> int:
        """The number of pairs of interfaces that have traffic."""
        return self.pairs or 1

    @property
    def addresses_of_pairs(self) -> tuple[Addresses, ...]:
        return tuple(self.addresses.of_pair(number) for number in range(self.pair_count))

    def of_pair(self, number: int) -> Experiment:
        """Returns a copy with the addresses of one of the pairs."""
        return self.model_copy(update={"addresses": self.addresses.of_pair(number)}) if number else self

    @property
    def families(self) -> tuple[Family, Family]:
        """The address families of the left and of the right side."""
        return self.translation.kind.families if self.translation else (self.family, self.family)

    @property
    def families_of_ports(self) -> tuple[Family, Family]:
        """The families of the addresses in the flows of the tester's left and right port."""
        left, right = self.forms_of_ports
        return left.tuple_family, right.tuple_family

    @property
    def hosts_of_ports(self) -> tuple[AddressRanges, AddressRanges]:
        """The left and the right hosts, by their addresses on the link of their port.

        They have others there than at the ends, if the tester plays a translator.
        """
        left = self._seen_by_port(0, self.addresses.left_hosts)
        right = self._seen_by_port(1, self.addresses.right_hosts)
        assert left, "natxy's own prefix divides no addresses"
        assert right, "natxy's own prefix divides no addresses"
        return left, right

    @property
    def left_destinations(self) -> AddressRanges | None:
        """The right hosts, by the addresses that the left port sends to."""
        return self._addressed(0, self.addresses.right_hosts)

    @property
    def right_destinations(self) -> AddressRanges | None:
        """The left hosts, by the addresses that the right port sends to; None if the right side can only reply."""
        return self._addressed(1, self.addresses.left_hosts)

    def _addressed(self, port: int, hosts: AddressRanges) -> AddressRanges | None:
        return _all_across(self.translation, hosts) if self.translation else self._seen_by_port(port, hosts)

    def _seen_by_port(self, port: int, hosts: AddressRanges) -> AddressRanges | None:
        """Returns hosts by their addresses on the link of a port, where the translations of a chain are undone at its
        ends."""
        if self.families_of_ports[port] == self.families[port]:
            return hosts
        clat = self.path.clat
        assert clat, "only a translator that the tester plays makes a port's family another one"
        return _all_across(clat, hosts)

    def sent_frames(self, family: Family) -> Frames:
        """Returns what the frames that a side of this family sends look like, before a box of the tester's own."""
        shortened = self.translation is not None and self.size_convention == SizeConvention.PAIRED
        less = bytes_longer(Family.IPV6, than=family) if shortened else 0
        form = self.extension_headers.form if family == Family.IPV6 else Form.UDP
        if self.protocol == Protocol.TCP:
            form = Form.TCP
        return Frames(tuple(size - less for size in self.frame_sizes), form)

    def frames_of_port(self, side: Literal["left", "right"]) -> Frames:
        """Returns what the frames look like that the port on a side sends: longer by what the box adds that the tester
        plays."""
        number = 0 if side == "left" else 1
        family, link = self.families[number], self.forms_of_ports[number]
        frames = self.sent_frames(family)
        if longer := link.bytes_longer(than=family):
            return Frames(tuple(size + longer for size in frames.sizes), link.form_from(side))
        return frames

    @property
    def frame_sizes(self) -> tuple[int, ...]:
        """The sizes of frames in their order, which repeats."""
        return mix_sizes(self.mix, self.smallest_frame) if self.mix else (self.frame_size,)

    @property
    def mean_frame_size(self) -> float:
        """The mean size of frames in bytes, FCS included."""
        return mean_bytes(self.frame_sizes) if self.mix else self.frame_size

    @property
    def smallest_frame(self) -> int:
        """The smallest size in bytes, FCS included, that can hold a test frame."""
        return smallest_frame(self.protocol, self.extension_headers, self.families)

    @property
    def senders(self) -> tuple[Literal["left", "right"], ...]:
        """The sides whose frames the trials have."""
        one_way = self.procedure.stateful and self.alpha is None
        directions = Directions.FORWARD if one_way else self.directions
        match directions:
            case Directions.FORWARD:
                return ("left",)
            case Directions.REVERSE:
                return ("right",)
        return ("left", "right")

    @property
    def longest_frame(self) -> int:
        """The size in bytes, FCS included, of the longest foreground frame on any link."""
        senders = [self.families[0 if side == "left" else 1] for side in self.senders]
        return max(
            max(self.sent_frames(sender).sizes) + form.bytes_longer(than=sender)
            for sender in senders
            for form in self.forms_of_links
        )

    @property
    def spare_mtu(self) -> int:
        """The bytes by which the links' MTU has to be larger than the longest packet."""
        return max(hop.spare_mtu for hop in self.gateway.hops)

    @property
    def maximum_fps(self) -> float | None:
        """The theoretical maximum of all pairs of interfaces together for one direction, foreground plus background, in
        frames per second; None without a line rate."""
        if self.line_rate is None:
            return None
        frame = self.longest_frame - self.frame_size + self.mean_frame_size
        if self.protocol == Protocol.TCP and self.procedure.stateful:  # what opens connections has no data
            frame = max(map(segment_frame, self.families))
        if self.background:
            frame += self.background.share * (self.background.frame_size - frame)
        return self.pair_count * line_rate_fps(self.line_rate, frame + self.tag_bytes)

    @property
    def unit(self) -> Unit:
        """The unit of the procedure's headline."""
        return self.procedure.headline().unit

    @property
    def known_rates(self) -> dict[str, KnownRate]:
        """The rates that the plan gives or that earlier experiments measure, by field."""
        rates = {"phase1_rate": self.phase1_rate, "rate": self.rate}
        return {field: rate for field, rate in rates.items() if rate}

    @property
    def traffic_s(self) -> float:
        """The duration of the traffic of a trial whose length is fixed."""
        return self.procedure.traffic_s(self.timing.trial) + self.starting_s

    @property
    def starting_s(self) -> float:
        """The time from the beginning of the first pair's traffic to that of the last one's."""
        return (self.pair_count - 1) * (self.start_interval or 0.0)

    @property
    def deciding_trial_s(self) -> float:
        """The duration of the traffic of a trial that decides, if it is fixed."""
        goal = self.search.goal if self.search else None
        return goal.final_trial + self.starting_s if goal and goal.final_trial else self.traffic_s

    @property
    def ends_early(self) -> EarlyEnd:
        """The cause that ends a trial before its length. A search that steers by loss ends invalid trials only."""
        ends = self.timing.ends_early if self.search and self.procedure.ends_early else EarlyEnd.NEVER
        binary = self.search is not None and self.search.kind == "binary"
        return ends if binary or ends != EarlyEnd.LOST else EarlyEnd.NEVER

    @property
    def non_rfc(self) -> str:
        """The mark of a result whose search allows what RFC 2544 and RFC 9693 do not, to be printed after it; empty if
        none does."""
        tolerance, goal = self.loss_tolerance, self.search.goal if self.search else None
        loss = f"up to {tolerance.text} loss" if tolerance and tolerance.most else ""
        failing = "some trials may fail" if goal and goal.exceed_ratio > 0 else ""
        missing = f"up to {counted(self.left_out, 'connection')} missing" if self.left_out else ""
        marks = ", ".join(filter(None, (failing, loss, missing)))
        return f" (non-RFC: {marks})" if marks else ""

    @property
    def may_lack_checksum(self) -> bool:
        """True if packets may arrive in softwires without a UDP checksum, because a NAT has changed them (RFC 768)."""
        return self.gateway.hides_left

    @property
    def uses_connections(self) -> bool:
        """True if the gateway's table is emptied before every step."""
        return self.procedure.stateful or self.connections is not None

    @property
    def makes_connections(self) -> bool:
        """True if the left side opens connections and the right side only replies, as a stateful gateway demands."""
        return self.uses_connections or self.procedure.between_hosts

    @property
    def flow_space_size(self) -> int:
        """The number of four-tuples from left to right."""
        return self.addresses.left_hosts.size * self.addresses.right_hosts.size * self.ports.size

    @property
    def reverse_flow_space_size(self) -> int:
        """The number of four-tuples from right to left in traffic without connections."""
        return self.flow_space_size // self.ports.size * self.ports.in_reverse.size

    @property
    def distinct_connections(self) -> float | None:
        """The connections that phase 1 makes; on average, where it draws its four-tuples. None without a phase 1."""
        if self.connections is None or self.phase1_selection == Selection.ENUMERATE:
            return self.connections
        addresses, ports, orders = self.addresses, self.ports, self.orders
        fields = (
            (addresses.left_hosts.size, orders.source_address),
            (addresses.right_hosts.size, orders.destination_address),
            (ports.source.size, orders.source_port),
            (ports.destination.size, orders.destination_port),
        )
        return expected_distinct(self.connections, fields)

    @property
    def left_out(self) -> int:
        """The connections of each pair of interfaces that may be missing after phase 1."""
        return left_out(self.phase1_loss, self.connections) if self.phase1_loss and self.connections else 0

    @property
    def left_endpoints(self) -> int:
        """The number of pairs of address and port on the left side that connections or frames come from."""
        most = self.addresses.left_hosts.size * self.ports.source.size
        return most if self.connections is None else min(most, self.connections)

    @property
    def right_endpoints(self) -> int:
        """The number of pairs of address and port on the right side that connections or frames go to."""
        return self.addresses.right_hosts.size * self.ports.destination.size

    @property
    def pool(self) -> IPNetwork | None:
        """The addresses that replace those of all left hosts on the right; None for the gateway's own address alone."""
        if len(self.gateway.boxes) == 1 or not self.kinds:
            return self.translation.pool if self.translation else self.addresses.pool
        last = next((hop.addresses for hop in reversed(self.path.hops) if hop.replaces_left), None)
        if last is None:
            return None
        return last.translation.pool if last.translation else last.pool

    @property
    def turn_frames(self) -> int:
        """The smallest number of frames of one direction that has foreground and background in their exact ratio."""
        return self.background.turns[1] if self.background else 1

    def with_one_flow(self, step: int = 0) -> Experiment:
        """Returns a copy with one connection or, without connections, with the first four-tuple only.

        `step`: so many ports after the first ones.
        """
        if self.connections is not None:
            return self.model_copy(update={"connections": 1, "active_connections": None})
        ports, addresses = self.ports, self.addresses
        hosts = {side: getattr(addresses, side).first_alone for side in ("left_hosts", "right_hosts")}
        reverse, forward = ports.reverse and ports.reverse.alone(step), ports.alone(step)
        only = Ports(source=forward.source, destination=forward.destination, reverse=reverse)
        return self.model_copy(update={"flows": 1, "ports": only, "addresses": addresses.model_copy(update=hosts)})

    def longest_trial_s(self, phase1_fps: float | None) -> float:
        """Returns the time from the first new connection to the last frame that uses it; a table's timeouts must be
        longer.

        `phase1_fps` is the rate of the experiment's own phase 1. In a search for a connection rate, the trial at the
        lowest rate is the longest.
        """
        own, timing = self.connections or 0, self.timing
        if not self.procedure.stateful:
            made_s = self.pair_count * own / phase1_fps + timing.drain + timing.learning_pause if phase1_fps else 0.0
            return made_s + max(self.traffic_s, self.deciding_trial_s) + timing.drain
        rate_fps = self.search.min_rate if self.search else phase1_fps
        if rate_fps is None:
            return 0.0
        # Pairs of interfaces share the connections of a capacity and make them one after another; otherwise they have
        # as many each and make them at the same time.
        shared = self.procedure.most_connections is not None
        connections = own if shared else self.pair_count * own
        drains_s = self.pair_count * timing.drain if shared else timing.drain
        phase1_s = connections / rate_fps + self.procedure.life_s(self.protocol) + drains_s
        if self.alpha is None:
            return phase1_s
        return phase1_s + connections / (self.alpha * rate_fps) + drains_s


def _all_across(translation: Translation, hosts: AddressRanges) -> AddressRanges | None:
    addressed = [_across(translation, each) for each in hosts.ranges]
    return AddressRanges(tuple(each for each in addressed if each)) if all(addressed) else None


def _across(translation: Translation, hosts: AddressRange) -> AddressRange | None:
    first, last = translation.across(hosts.first), translation.across(hosts.last)
    if isinstance(hosts.first, IPv4Address) and first and last and not translation.mapping_of(hosts.first):
        low_bit = moved_bit(translation.prefix, int(hosts.first) ^ int(hosts.last), hosts.low_bit)
        return None if low_bit is None else AddressRange(first=first, last=last, low_bit=low_bit)
    # If the two ends lie in different mappings, the addresses between them form no range on the other side.
    if first is None or last is None or int(last) - int(first) != int(hosts.last) - int(hosts.first):
        return None
    return AddressRange(first=first, last=last, low_bit=hosts.low_bit)
