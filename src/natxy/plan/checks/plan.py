# SPDX-License-Identifier: Apache-2.0
"""What can be known to be wrong with a plan before any machine is touched."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from ipaddress import ip_network
from typing import Final

from natxy.plan.address_presets import is_safe
from natxy.plan.checks.background import check_background
from natxy.plan.checks.hosts import check_hosts
from natxy.plan.checks.translation import check_translation
from natxy.plan.experiment import Experiment
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import AddressPreset, LinkAddresses
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import TRAFFIC_FIELDS, Family, Kernel
from natxy.plan.model.traffic import Directions
from natxy.plan.model.units import LONGEST_DURATION_S, Unit, format_duration, format_share
from natxy.plan.procedures import takers
from natxy.plan.written import ExperimentPlan, Plan

# What the engine can number: the frames of a trial, and the four-tuples of a space.
MOST_CONNECTIONS: Final = 2**48 - 1
MOST_FOUR_TUPLES: Final = 2**62

# More than a port's flows take several destination ports, the last of which they need not fill.
FLOWS_TOLERANCE: Final = 0.001


def check_experiment(plan: Plan, own: ExperimentPlan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    yield from _check_procedure(own, location)
    yield from _check_gateway(plan, experiment, location)
    yield from _check_frame(plan, experiment, location)
    yield from check_translation(plan, own, experiment, location)
    yield from _check_connections(experiment, location)
    yield from _check_flows(experiment, location)
    yield from _check_addresses(plan, own, experiment, location)
    yield from _check_search(experiment, location)
    yield from _check_duration(experiment, location)
    yield from _check_loss_tolerance(experiment, location)
    yield from check_background(plan, experiment, location)
    yield from check_hosts(plan.testbed, experiment, location)


def _check_procedure(own: ExperimentPlan, location: Location) -> Iterator[Problem]:
    procedure = own.procedure
    for field in own.model_fields_set:
        others = takers(field)
        if others and field not in procedure.takes:
            text = f"{procedure.name} doesn't take it, only {', '.join(others)}; remove it"
            yield Problem((*location, field), text)
    takes_phase1_rate = "phase1_rate" in procedure.takes
    if takes_phase1_rate and own.connections is not None and own.phase1_rate is None:
        text = "missing; phase 1 needs a rate safely below the gateway's maximum connection establishment rate: give "
        yield Problem((*location, "phase1_rate"), text + "a rate such as 20k, or {experiment: NAME, percent: 50}")
    if takes_phase1_rate and own.connections is None and own.phase1_rate is not None:
        yield Problem((*location, "phase1_rate"), "there is no phase 1 without `connections`; give these or remove it")
    if "rate" in procedure.takes and own.rate is None:
        text = f"missing; {procedure.name} measures at a known rate: give one such as 50k, or "
        yield Problem((*location, "rate"), text + "{experiment: NAME, percent: 100} of an earlier throughput")
    if procedure.name == "reset" and procedure.command is not None and own.gateway.in_virtual_time:
        text = "a simulated gateway runs no commands; remove it, and the gateway's own restart is what is measured"
        yield Problem((*location, "procedure", "command"), text)
    if procedure.stateful and "connections" in procedure.takes and own.connections is None:
        yield Problem(
            (*location, "connections"), f"missing; {procedure.name} needs the connections to set up, e.g. 50k"
        )


def _check_gateway(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    gateway = experiment.gateway
    at = (*location, "gateway")
    if gateway.in_virtual_time != plan.testbed.in_virtual_time:
        text = f"the gateway {gateway.driver!r} doesn't run on the testbed {plan.testbed.kind!r}; "
        yield Problem(at, text + "simulated gateways and the simulated testbed go together")
    if gateway.is_gateway != plan.testbed.has_gateway:
        text = f"the gateway {gateway.driver!r} doesn't run on the testbed {plan.testbed.kind!r}; "
        yield Problem(at, text + "a loop has no gateway, which is `gateway: wire`")
    if gateway.polls:
        if plan.testbed.dut_location and plan.testbed.has_ports:
            text = f"{gateway.driver} runs beside the tester: choose `testbed: {{kind: memif}}`, or a lab"
            yield Problem(at, text)
    elif only := plan.testbed.only_driver:
        text = f"the gateway {gateway.driver!r} doesn't run on the testbed {plan.testbed.kind!r}, only {only!r} does"
        yield Problem(at, text)
    location_of_dut = plan.testbed.dut_location
    if gateway.on_other_machine and not (location_of_dut and location_of_dut.ssh):
        text = f"{gateway.driver} is a machine of its own; give `testbed: {{kind: hardware}}` with its `dut.ssh`"
        yield Problem(at, text)
    if gateway.keeps_connections is False and experiment.procedure.stateful:
        text = f"{gateway.driver} keeps no connections, which {experiment.procedure.name} needs; choose a stateful one"
        yield Problem(at, text)
    elif gateway.keeps_connections is False and experiment.connections is not None:
        text = f"{gateway.driver} keeps no connections; remove it, or choose a stateful gateway"
        yield Problem((*location, "connections"), text)
    if gateway.keeps_connections and not experiment.makes_connections:
        text = f"missing; through the stateful {gateway.driver} only established connections have replies: give "
        yield Problem((*location, "connections"), text + "the connections of phase 1, e.g. 50k")
    yield from _check_only_port(experiment, location)
    if gateway.lab_kernel == Kernel.USER_MODE and not plan.testbed.runs_guests:
        yield Problem((*at, "kernel"), f"user-mode Linux runs in a lab, not on the testbed {plan.testbed.kind!r}")
    yield from _check_table(experiment, location)


def _check_only_port(experiment: Experiment, location: Location) -> Iterator[Problem]:
    if experiment.translation is None:
        return
    kind, ports = experiment.translation.kind, experiment.ports.destination
    port = experiment.gateway.only_port(kind)
    if port is not None and not ports.min == ports.max == port:
        text = f"in a {kind}, {experiment.gateway.driver} translates one destination port, {port}; "
        yield Problem((*location, "ports", "destination"), text + f"set it to {port}")


def _check_table(experiment: Experiment, location: Location) -> Iterator[Problem]:
    if experiment.connections is None:
        return
    at = (*location, "gateway")
    for field, size in experiment.gateway.table_sizes.items():
        if size < experiment.connections:
            yield Problem(
                (*at, field),
                f"the table of {size} entries is smaller than the {experiment.connections} connections asked; "
                "raise it or ask for fewer",
            )
    longest_s = _longest_trial_s(experiment)
    for field, timeout_s in experiment.gateway.lifetimes_s.items():
        if longest_s is not None and timeout_s <= longest_s:
            yield Problem(
                (*at, field),
                f"entries would end after {timeout_s} s, but the longest trial takes {format_duration(longest_s)}; "
                "raise the timeout, ask for fewer connections or for higher rates",
            )


def _longest_trial_s(experiment: Experiment) -> float | None:
    """None where that hangs on a share of a rate not yet measured."""
    phase1_fps = experiment.phase1_rate.rate if experiment.phase1_rate else None
    if experiment.connections is not None and "phase1_rate" in experiment.procedure.takes and phase1_fps is None:
        return None
    return experiment.longest_trial_s(phase1_fps)


def _check_duration(experiment: Experiment, location: Location) -> Iterator[Problem]:
    longest_s = _longest_trial_s(experiment)
    if longest_s is None or longest_s <= LONGEST_DURATION_S:
        return
    limit = format_duration(LONGEST_DURATION_S)
    remedy = "raise the lowest rate or ask for fewer connections" if experiment.connections else "ask for a shorter one"
    yield Problem(location, f"the longest trial would take {format_duration(longest_s)}, {limit} is the most; {remedy}")


def _check_frame(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    if Family.IPV6 in experiment.families and experiment.frame_size < 84:
        yield Problem(
            (*location, "frame_size"),
            f"{experiment.frame_size} bytes cannot hold an IPv6 test frame: headers and the 18-byte signature need 84",
        )
    if text := plan.testbed.frame_problem(experiment.longest_frame):
        yield Problem((*location, "frame_size"), text)


def _check_connections(experiment: Experiment, location: Location) -> Iterator[Problem]:
    connections = experiment.connections or experiment.procedure.most_connections
    if connections is None:
        return
    space = experiment.flow_space_size
    if space < connections:
        yield Problem(
            (*location, "connections"),
            f"addresses and ports give {space} four-tuples, fewer than the {connections} connections asked; "
            "widen `ports` or `addresses`, or ask for fewer",
        )
    if space > MOST_FOUR_TUPLES:
        text = (
            f"addresses and ports give {space} four-tuples, more than the 2^62 that phase 1 can enumerate; narrow them"
        )
        yield Problem((*location, "connections"), text)
    if connections > MOST_CONNECTIONS:
        yield Problem((*location, "connections"), f"at most {MOST_CONNECTIONS} are possible")


def _check_flows(experiment: Experiment, location: Location) -> Iterator[Problem]:
    flows, connections, space = experiment.flows, experiment.connections, experiment.flow_space_size
    at = (*location, "flows")
    if flows is not None and connections is not None:
        yield Problem(at, "connections are flows already; remove one of the two")
    elif flows is not None and not flows <= space <= flows * (1 + FLOWS_TOLERANCE):
        text = f"addresses and ports give {space} four-tuples, not {flows}"
        yield Problem(at, f"{text}; remove `ports` and leave one address a side, or give ranges of that size")
    if experiment.procedure.name == "overload" and max(flows or 0, connections or 0) < 2:
        text = "missing; overload compares one flow with many: give their number, e.g. 10k, or `connections` through "
        yield Problem(at, text + "a stateful gateway")


def _check_addresses(plan: Plan, own: ExperimentPlan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    at = (*location, "addresses")
    addresses = experiment.addresses
    left_family, right_family = experiment.families
    sides: tuple[tuple[str, Family, LinkAddresses, AddressRanges], ...] = (
        ("left", left_family, addresses.left, addresses.left_hosts),
        ("right", right_family, addresses.right, addresses.right_hosts),
    )
    given = own.addresses
    if given.networks > 1 and experiment.translation:
        text = "networks are for gateways that leave the family as it is, as RFC 2544 §12's are for routers; remove it"
        yield Problem((*at, "networks"), text)
    for side, family, link, hosts in sides:
        if given.networks > 1 and getattr(given, side):
            yield Problem((*at, "networks"), f"{side} is a link of your own; give its own `networks` there instead")
        if given.preset == AddressPreset.MULTIPLE and getattr(given, side) and not getattr(given, f"{side}_hosts"):
            text = f"missing; `multiple` on a link of your own needs its range, e.g. {{first: {hosts.first}, last: …}}"
            yield Problem((*at, f"{side}_hosts"), text)
        versions = {link.dut.version, link.tester.version, hosts.first.version, *(net.version for net in link.behind)}
        if versions != {4 if family == Family.IPV4 else 6}:
            yield Problem((*at, side), f"this side's family is {family}, but not all addresses are")
            continue
        if link.dut.network != link.tester.network or link.dut.ip == link.tester.ip:
            yield Problem((*at, side), f"{link.dut} and {link.tester} must be two addresses of one link")
        reached = (ip_network(link.tester.ip), *link.behind)
        if unreached := next((each for each in hosts.ranges if not each.within(reached)), None):
            text = (
                f"the gateway has no route to all of {unreached.first} to {unreached.last}; add one to `{side}.behind`"
            )
            yield Problem((*at, f"{side}_hosts"), text)
        if link.dut.ip in hosts:
            yield Problem((*at, f"{side}_hosts"), f"{link.dut.ip} is the gateway's own; leave it out of the range")
        if not plan.allow_public_destinations and not is_safe(hosts):
            yield Problem(
                (*at, f"{side}_hosts"),
                f"{hosts.first} to {hosts.last} is outside the benchmark and private ranges, and test traffic must not "
                "leak (RFC 6815); choose others, or set `allow_public_destinations: true` on an isolated network",
            )
    left, right = addresses.left.dut.network, addresses.right.dut.network
    twice = {*addresses.left.behind} & {*addresses.right.behind}
    if left.version == right.version and left.overlaps(right):
        text = f"the networks of the two links overlap, {left} on the left and {right} on the right"
        yield Problem(at, f"{text}; give each its own")
    elif twice:
        yield Problem(at, f"{min(map(str, twice))} is behind both links; give each its own")


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
        text = "what is validated are all connections, so their frames must all arrive; give only the replies a "
        yield Problem((*location, "loss_tolerance"), text + f"tolerance: {{reverse: {format_share(tolerance.most)}}}")


def check_references(plan: Plan) -> Iterator[Problem]:
    """Names: each once, and each reference to an earlier experiment that measures what is wanted."""
    earlier: dict[str, ExperimentPlan] = {}
    for number, experiment in enumerate(plan.experiments):
        location: Location = ("experiments", number)
        if experiment.name in earlier:
            yield Problem((*location, "name"), f"{experiment.name!r} is taken; every experiment has its own name")
        yield from _check_known_rates(experiment, earlier, plan.family, location)
        if experiment.baseline is not None:
            yield from _check_baseline(experiment, earlier, plan.family, (*location, "baseline"))
        earlier[experiment.name] = experiment


def _check_known_rates(
    experiment: ExperimentPlan, earlier: dict[str, ExperimentPlan], family: Family, location: Location
) -> Iterator[Problem]:
    fields = (
        ("phase1_rate", experiment.phase1_rate, Unit.CPS, "connection rate"),
        ("rate", experiment.rate, Unit.FPS, "throughput"),
    )
    for field, rate, unit, wanted in fields:
        if rate is None or rate.experiment is None:
            continue
        at = (*location, field, "experiment")
        measured = [name for name, other in earlier.items() if _searches(other, unit)]
        if rate.experiment not in measured:
            others = _names(earlier[name] for name in measured)
            yield Problem(at, f"{rate.experiment!r} is no earlier {wanted} experiment; there are: {others}")
        elif unit == Unit.FPS:
            other = earlier[rate.experiment]
            yield from _check_same_traffic(experiment, other, family, at, "its rate isn't this one's")


def _names(experiments: Iterable[ExperimentPlan]) -> str:
    return ", ".join(dict.fromkeys(each.sweep or each.name for each in experiments)) or "none"


def _searches(experiment: ExperimentPlan, unit: Unit) -> bool:
    """For the highest rate in `unit`; that of bursts is no throughput."""
    procedure = experiment.procedure
    if unit == Unit.FPS:
        return procedure.name == "throughput"
    return procedure.headline().unit == unit and "search" in procedure.takes


def _check_same_traffic(
    experiment: ExperimentPlan, other: ExperimentPlan, family: Family, at: Location, consequence: str
) -> Iterator[Problem]:
    """`family` is the plan's, of experiments that say none."""
    own, others = (_traffic(each, family) for each in (experiment, other))
    for field in TRAFFIC_FIELDS:
        if own[field] != others[field]:
            yield Problem(at, f"{other.name!r} has another `{field}`, so {consequence}")


def _traffic(experiment: ExperimentPlan, family: Family) -> dict[str, object]:
    """The traffic's fields, with what stands for those not given."""
    return {
        "frame_size": experiment.settled_frame_size(family),
        "size_convention": experiment.size_convention,
        "directions": experiment.directions or Directions.BIDIRECTIONAL,
        "family": experiment.families(family)[0],
    }


def _check_baseline(
    experiment: ExperimentPlan, earlier: dict[str, ExperimentPlan], family: Family, at: Location
) -> Iterator[Problem]:
    procedure = experiment.procedure.name
    base = earlier.get(experiment.baseline or "")
    if base is None or base.procedure.name != procedure:
        others = _names(other for other in earlier.values() if other.procedure.name == procedure)
        yield Problem(at, f"{experiment.baseline!r} is no earlier {procedure} experiment; there are: {others}")
        return
    yield from _check_same_traffic(experiment, base, family, at, "a ratio to it would mean nothing")
