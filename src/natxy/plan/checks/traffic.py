# SPDX-License-Identifier: Apache-2.0
"""Checks an experiment's frames, flows and connections, and its background traffic."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.plan.checks.addresses import check_destinations
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import LONGEST_CYCLE, Background
from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.sizes import LONGEST_FRAME
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family, Selection
from natxy.plan.model.traffic import ActiveConnections
from natxy.plan.model.units import format_duration, format_share
from natxy.plan.procedures.base import MaximumRate
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.written import Plan

# The engine numbers the frames of a trial and the four-tuples of a flow space up to these limits.
MOST_CONNECTIONS: Final = 2**48 - 1
MOST_FOUR_TUPLES: Final = 2**62

# A rate that was computed from the line's own may differ by so much.
_ROUNDING: Final = 1e-9

# Flows that need several destination ports need not fill the last one.
FLOWS_TOLERANCE: Final = 0.001


def check_traffic(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    yield from _check_frame(plan.testbed, experiment, location)
    if experiment.protocol == Protocol.TCP:
        yield from _check_segments(experiment, location)
    yield from _check_connections(experiment, location)
    if experiment.active_connections:
        yield from _check_active(experiment, experiment.active_connections, (*location, "active_connections"))
    yield from _check_flows(experiment, location)
    yield from _check_directions(experiment, location)
    yield from _check_search(experiment, location)
    if not plan.testbed.nominal_line_rate:
        yield from _check_line(experiment, location)
    yield from _check_loss_tolerance(experiment, location)
    yield from _check_phase1_loss(experiment, (*location, "phase1_loss"))
    yield from _check_frame_timeout(experiment, (*location, "procedure", "frame_timeout"))
    if experiment.background:
        yield from _check_background(plan, experiment, experiment.background, (*location, "background"))


def _check_frame(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    smallest = experiment.smallest_frame
    field = "mix" if experiment.mix else "frame_size"
    if min(experiment.frame_sizes) < smallest:
        yield Problem(
            (*location, field),
            f"{min(experiment.frame_sizes)} bytes cannot hold {_test_frame(experiment)}: headers and the 18-byte "
            f"signature need {smallest}",
        )
    if experiment.frame_size != max(experiment.frame_sizes):
        text = "`mix` has the sizes of the frames; remove `frame_size`, or make it null"
        yield Problem((*location, "frame_size"), text)
    if experiment.extension_headers.bytes and experiment.families != (Family.IPV6, Family.IPV6):
        text = (
            "only IPv6 without a translation has extension headers (RFC 8219 §5.2); give `family: ipv6` and no "
            "`translation`, or remove it"
        )
        yield Problem((*location, "extension_headers"), text)
    sent = max(max(experiment.frames_of_port(side).sizes) for side in ("left", "right"))
    if sent > LONGEST_FRAME:
        text = (
            f"the tester would send frames of {sent} bytes in the softwire, and its longest have {LONGEST_FRAME}; give "
        )
        yield Problem((*location, field), f"{text}at most {LONGEST_FRAME - sent + max(experiment.frame_sizes)}")
    elif too_long := testbed.frame_problem(experiment.longest_frame + experiment.spare_mtu):
        yield Problem((*location, field), too_long)


def _test_frame(experiment: Experiment) -> str:
    """Returns words for a test frame of the experiment, such as `an IPv4 test frame of TCP`."""
    family = "an IPv6" if Family.IPV6 in experiment.families else "an IPv4"
    return f"{family} test frame" + (" of TCP" if experiment.protocol == Protocol.TCP else "")


def _check_segments(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields what test frames of TCP cannot have, and who cannot send or forward them."""
    refused = {
        "mix": (experiment.mix, "segments of TCP have one size"),
        "extension_headers": (experiment.extension_headers.bytes, "segments of TCP have no extension headers"),
        "background": (experiment.background, "segments of TCP have no background"),
        "phase1_loss": (experiment.phase1_loss, "handshakes leave out no connection"),
    }
    for field, (given, why) in refused.items():
        if given:
            yield Problem((*location, field), f"{why}; remove `{field}`, or give `protocol: udp`")
    protocol, procedure = (*location, "protocol"), experiment.procedure
    if procedure.counts_instructions:
        yield Problem(protocol, f"{procedure.name} counts the instructions of UDP; give `protocol: udp`")
    elif procedure.between_hosts:
        yield Problem(protocol, f"the hosts of {procedure.name} make their own frames; remove it")
    elif experiment.softwire or experiment.map_domain:
        text = "the tester plays the other end of a softwire or of MAP-T with UDP only; give `protocol: udp`"
        yield Problem(protocol, text)


def _check_line(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the rates that no frame could be sent at. A search ends at the line's rate by itself."""
    highest = experiment.maximum_fps
    if highest is None:
        return
    rates: dict[Location, float | None] = {(field,): known.rate for field, known in experiment.known_rates.items()}
    if isinstance(experiment.procedure, MaximumRate):
        rates["procedure", "maximum_rate"] = experiment.procedure.maximum_rate
    for field, rate in rates.items():
        if rate is not None and rate > highest * (1 + _ROUNDING):
            what = f"frames/s of {experiment.mix}" if experiment.mix else f"{experiment.longest_frame}-byte frames/s"
            text = f"{rate:,.0f} is above the {highest:,.0f} of the line, in {what}"
            yield Problem((*location, *field), f"{text}; give a lower rate, or the `line_rate` that the medium has")


def _check_connections(experiment: Experiment, location: Location) -> Iterator[Problem]:
    connections, most = experiment.connections, experiment.procedure.most_connections
    if connections is None and most is not None:
        # Pairs of interfaces share them.
        connections = -(-most // experiment.pair_count)
    if connections is not None and connections > MOST_CONNECTIONS:
        yield Problem((*location, "connections"), f"at most {MOST_CONNECTIONS} are possible")
    if experiment.phase1_selection == Selection.RANDOM:
        yield from _check_random(experiment, (*location, "phase1_selection"))
    elif connections is not None:
        yield from _check_space(experiment, connections, location)


def _check_random(experiment: Experiment, at: Location) -> Iterator[Problem]:
    if experiment.procedure.counts_connections:
        text = f"{experiment.procedure.name} counts connections, so that phase 1 must make each of them once; remove it"
        yield Problem(at, text)
    elif experiment.connections is None:
        yield Problem(at, "there is no phase 1 without `connections`; give these or remove it")


def _check_space(experiment: Experiment, connections: int, location: Location) -> Iterator[Problem]:
    space = experiment.flow_space_size
    if space < connections:
        yield Problem(
            (*location, "connections"),
            f"addresses and ports give {space} four-tuples, fewer than the {connections} connections; "
            "widen `ports` or `addresses`, or ask for fewer",
        )
    if space > MOST_FOUR_TUPLES:
        text = (
            f"addresses and ports give {space} four-tuples, more than the 2^62 that phase 1 can enumerate; narrow them"
        )
        yield Problem((*location, "connections"), text)


def _check_active(experiment: Experiment, active: ActiveConnections, at: Location) -> Iterator[Problem]:
    connections, procedure = experiment.connections, experiment.procedure
    if procedure.stateful:
        yield Problem(at, f"{procedure.name} uses every connection; remove it")
    elif connections is None:
        yield Problem(at, "there is no phase 2 without `connections`; give these or remove it")
    elif (most := max(active.forward or 1, active.reverse or 1)) > connections:
        yield Problem(at, f"phase 1 makes {connections} connections, so that phase 2 cannot use {most}; ask for fewer")


def _check_flows(experiment: Experiment, location: Location) -> Iterator[Problem]:
    flows, connections = experiment.flows, experiment.connections
    spaces = (experiment.flow_space_size, experiment.reverse_flow_space_size)
    at = (*location, "flows")
    if flows is not None and connections is not None:
        yield Problem(at, "connections are flows already; remove one of the two")
    elif flows is not None and (
        unfit := [space for space in spaces if not flows <= space <= flows * (1 + FLOWS_TOLERANCE)]
    ):
        text = f"addresses and ports give {unfit[0]} four-tuples, not {flows}"
        yield Problem(at, f"{text}; remove `ports` and leave one address a side, or give ranges of that size")
    procedure = experiment.procedure
    if max(flows or 0, connections or 0) < procedure.fewest_flows:
        text = f"missing; {procedure.name} needs at least {procedure.fewest_flows} flows: give their number, e.g. 10k, "
        yield Problem(at, text + "or `connections` through a stateful gateway")
    if flows is not None and procedure.most_flows is not None and flows > procedure.most_flows:
        yield Problem(at, f"{procedure.name} has at most {procedure.most_flows} flows, not {flows:,}; lower it")


def _check_directions(experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Refuses ports and orders of a direction that the experiment's traffic does not have."""
    if not experiment.makes_connections:
        if experiment.orders.initiator is not None:
            text = "is the order of connections in phase 2, and there are none; remove it, or give `connections`"
            yield Problem((*location, "orders", "initiator"), text)
        return
    for field, given in (("ports", experiment.ports.reverse), ("orders", experiment.orders.reverse)):
        if given is not None:
            text = f"replies have the {field} of their connections; remove it, or ask for traffic without `connections`"
            yield Problem((*location, field, "reverse"), text)


def _check_search(experiment: Experiment, location: Location) -> Iterator[Problem]:
    search = experiment.search
    if search and search.absolute_error is not None and search.absolute_error > search.max_rate:
        text = (
            f"an error of {search.absolute_error:g} is wider than the whole search up to {search.max_rate:g}; lower it"
        )
        yield Problem((*location, "search", "error"), text)


def _check_loss_tolerance(experiment: Experiment, location: Location) -> Iterator[Problem]:
    tolerance = experiment.loss_tolerance
    if tolerance and tolerance.forward and experiment.alpha is not None:
        text = "all connections are validated, so every frame of phase 1 must arrive; give only the replies a "
        yield Problem((*location, "loss_tolerance"), text + f"tolerance: {{reverse: {format_share(tolerance.most)}}}")
    partial, least = experiment.procedure.partial_loss_ratio, tolerance.most if tolerance else 0.0
    if partial is not None and partial <= least:
        text = f"must be above the loss of the no drop rate, {format_share(least)}; raise it"
        yield Problem((*location, "procedure", "partial_loss"), text)


def _check_phase1_loss(experiment: Experiment, at: Location) -> Iterator[Problem]:
    if experiment.phase1_loss is None or experiment.connections is None:
        return
    if experiment.left_out < 1:
        text = (
            f"{experiment.phase1_loss} of {experiment.connections:,} connections is less than one; give 1, or remove it"
        )
        yield Problem(at, text)
    elif experiment.left_out >= experiment.connections:
        yield Problem(at, f"all {experiment.connections:,} connections could be missing; lower it, or remove it")


def _check_frame_timeout(experiment: Experiment, at: Location) -> Iterator[Problem]:
    timeout_s = experiment.procedure.frame_timeout_s
    longest_s = experiment.deciding_trial_s + experiment.timing.drain
    # Of queries, the drain has a check of its own.
    if timeout_s is not None and timeout_s >= longest_s and not experiment.procedure.asks_dns64:
        ends = f"a trial's traffic and its drain end after {format_duration(longest_s)}"
        yield Problem(at, f"{ends}, so that no frame can come so late; lower it, or remove it")


def _check_background(plan: Plan, experiment: Experiment, background: Background, at: Location) -> Iterator[Problem]:
    few, of = background.turns
    if abs(background.share - few / of) > 1e-12:
        text = (
            f"{format_share(background.share)} is no share of at most {LONGEST_CYCLE} frames; give whole tenths of 1 %"
        )
        yield Problem((*at, "share"), text)
    if experiment.gateway.hides_left and Family.IPV6 in experiment.families and experiment.translation is None:
        text = f"{experiment.gateway.title} would translate the native IPv6 traffic too; remove it, or measure IPv4"
        yield Problem(at, text)
    for side in ("left", "right"):
        link = getattr(background, side)
        own = getattr(experiment.addresses, side)
        if (link.dut.version, link.tester.version) != (6, 6) or link.dut.network != link.tester.network:
            yield Problem((*at, side), f"{link.dut} and {link.tester} must be two IPv6 addresses of one link")
        elif link.dut.network.overlaps(own.dut.network):
            yield Problem((*at, side), f"{link.dut.network} is the experiment's own too; choose another prefix")
        else:
            yield from check_destinations(plan, AddressRanges.model_validate(link.tester.ip), (*at, side))
