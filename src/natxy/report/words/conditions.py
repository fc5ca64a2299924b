# SPDX-License-Identifier: Apache-2.0
"""States what an experiment was measured with, in the words of the RFCs."""

from __future__ import annotations

from typing import Final

from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.plan.frames.mix import sizes_text
from natxy.plan.frames.sizes import VLAN_TAG_BYTES
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import IPNetwork, LinkAddresses
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.search import Search
from natxy.plan.model.terms import Family, Order, Selection, SizeConvention
from natxy.plan.model.traffic import Directions, Orders, PortRange
from natxy.plan.model.units import Percent, Unit, counted, format_duration, format_quantity, format_rate
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.report.words import headlines, wording
from natxy.results.records import ExperimentRecord
from natxy.results.trials import TrialKind
from natxy.system.interrupts import dumped

_DIRECTIONS: Final = {
    Directions.BIDIRECTIONAL: "bidirectional, equal rates",
    Directions.FORWARD: "one: initiator to responder",
    Directions.REVERSE: "one: responder to initiator",
}


def conditions(experiment: ExperimentRecord) -> dict[str, str]:
    """Returns what RFC 9693 §6 and RFC 2544 §26.1 ask a table of results to state, by label.

    Conditions that do not apply have the value `wording.ABSENT`.
    """
    planned, declaration = experiment.planned, experiment.declaration
    stated = {
        "Gateway": experiment.gateway,
        "Gateway's cores": wording.number(planned.cores),
        "IP version": _ip_version(planned),
        "Frame size, FCS counted": _frame_size(planned),
        "Theoretical maximum": _theoretical_maximum(experiment),
        "TTL or hop limit": f"{planned.ttl}, DF set" if planned.dont_fragment else str(planned.ttl),
        "Directions": _directions(planned),
        "Flows": wording.number(planned.flows),
        "Pairs of interfaces": wording.number(planned.pairs),
        "Pairs begin": wording.ABSENT
        if planned.start_interval is None
        else f"{format_duration(planned.start_interval)} apart",
        "Sessions (connections)": wording.number(planned.connections),
        "Connections used in phase 2": planned.active_connections.text
        if planned.active_connections
        else wording.ABSENT,
        "Source addresses": _sources(planned),
        "Destination addresses": _addresses(planned.addresses.right_hosts, planned.addresses.right),
        "Public addresses": _pool(experiment.pool if planned.makes_connections else None),
        "Source ports": _ports(planned.ports.source, planned.ports.in_reverse.source),
        "Destination ports": _ports(planned.ports.destination, planned.ports.in_reverse.destination),
        "Four-tuples": _four_tuples(planned),
        "Connections that may be missing (non-RFC)": wording.number(planned.left_out or None),
        "Phase 1 rate": _known_rate(experiment, "phase1_rate", Unit.CPS),
        declaration.rate_title: _known_rate(experiment, "rate", declaration.rate_unit),
        "Rate sent": _rate_sent(experiment),
        "Validation rate": wording.ABSENT if planned.alpha is None else f"α = {planned.alpha:g} of the rate",
        "Duration of a trial's traffic": _trial_duration(planned),
        "Rates searched": _searched(planned.search, declaration.step_unit),
        "Background traffic": _background(planned),
        "Loss tolerated (non-RFC)": _loss(planned),
        "Search": _mlrsearch(planned),
        "Error of the search": _error(planned.search, declaration.step_unit),
        **_own_settings(declaration),
        **declaration.stated,
    }
    return stated | dict.fromkeys(_NOT_BETWEEN_HOSTS, wording.ABSENT) if declaration.between_hosts else stated


# The hosts' own TCP chooses these; the duration is among the procedure's own settings.
_NOT_BETWEEN_HOSTS: Final = ("TTL or hop limit", "Source ports", "Four-tuples", "Duration of a trial's traffic")


def _directions(planned: Experiment) -> str:
    if planned.procedure.life(planned.protocol):
        return "both, in the lives of connections"
    directions = planned.directions or Directions.FORWARD
    both_at_once = planned.procedure.between_hosts and directions == Directions.BIDIRECTIONAL
    return "both at once" if both_at_once else _DIRECTIONS[directions]


def _trial_duration(planned: Experiment) -> str:
    if not planned.procedure.stateful:
        return format_duration(planned.deciding_trial_s)
    frames = 1 + len(planned.procedure.life(planned.protocol))
    return "one frame a connection" if frames == 1 else f"{frames} frames a connection"


def _own_settings(procedure: ProcedureDeclaration) -> dict[str, str]:
    """Returns the settings that only this procedure takes, under the plan's names."""
    if procedure.lacks_maximum_rate:
        # A script chose the rates, and not in shares of a maximum.
        return {}
    own = dumped(procedure, exclude_none=True, exclude={"name"})
    known = type(procedure).model_fields
    return {
        name.replace("_", " ").capitalize(): _in_unit(value, procedure.unit_of(name) if name in known else None)
        for name, value in own.items()
    }


def _in_unit(value: object, unit: Unit | None) -> str:
    if unit is not None and isinstance(value, int | float):
        return format_quantity(value, unit)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ip_version(planned: Experiment) -> str:
    if planned.translation is None:
        ends, *between = dict.fromkeys(planned.families_of_links)
        return f"{_family(ends)}, {_family(between[0])} between the gateways" if between else _family(ends)
    left, right = map(_family, planned.families)
    kind, prefix = planned.translation.kind.upper(), planned.translation.prefix
    return f"{left} on the left, {right} on the right ({kind}, prefix {prefix})"


def _family(family: Family) -> str:
    return family.replace("ipv", "IPv")


def _frame_size(planned: Experiment) -> str:
    """Adds the size convention where a translation changes the size, and the tag of a VLAN, which no size counts."""
    size = sizes_text(planned.frame_sizes)
    headers = planned.extension_headers
    tags = "a VLAN's tag" if planned.tag_bytes == VLAN_TAG_BYTES else "the tags of two VLANs"
    tag = f", and {planned.tag_bytes} bytes of {tags}" if planned.tag_bytes else ""
    if planned.protocol == Protocol.TCP:
        size += " of TCP"
    if headers.bytes:
        size += f", {headers.bytes} of them extension headers ({headers.value})"
    if planned.translation is None:
        return size + tag
    if planned.size_convention == SizeConvention.NOMINAL:
        return f"{size} sent from both sides (nominal){tag}"
    return f"{size} in IPv6, {sizes_text(planned.sent_frames(Family.IPV4).sizes)} in IPv4 (paired){tag}"


def _theoretical_maximum(experiment: ExperimentRecord) -> str:
    maximum_fps, line_rate = headlines.theoretical_maximum_fps(experiment), experiment.planned.line_rate
    if maximum_fps is None or line_rate is None:
        return wording.ABSENT
    return f"{wording.number(maximum_fps)} frames/s per direction at {format_rate(line_rate, 'bit/s')}"


def _sources(planned: Experiment) -> str:
    if isinstance(homes := planned.subscribers, HomesPlan):
        return f"1 ({homes.inner}), of {homes.count:,} homes"
    return _addresses(planned.addresses.left_hosts, planned.addresses.left)


def _addresses(hosts: AddressRanges, link: LinkAddresses) -> str:
    if hosts.size == 1:
        return f"1 ({hosts.first})"
    networks = len(link.networks_behind)
    where = f", {networks:,} networks" if networks > 1 else ""
    listed = f", a list of {len(hosts.ranges):,}" if len(hosts.ranges) > 1 else ""
    return f"{hosts.size:,} ({hosts.first} – {hosts.last}{listed}{where})"


def _pool(pool: IPNetwork | None) -> str:
    return wording.ABSENT if pool is None else f"{pool.num_addresses:,} ({pool})"


def _ports(forward: PortRange, reverse: PortRange) -> str:
    return _range(forward) if forward == reverse else f"{_range(forward)}; from right to left {_range(reverse)}"


def _range(ports: PortRange) -> str:
    return f"{ports.size:,} ({ports.min}–{ports.max})" if ports.size > 1 else f"1 ({ports.min})"


def _four_tuples(planned: Experiment) -> str:
    orders = planned.orders
    if planned.uses_connections:
        taken = "each once"
        if planned.phase1_selection == Selection.RANDOM:
            taken = f"drawn at random, about {wording.number(planned.distinct_connections)} different ones"
        return f"{taken}{_of_fields(orders, exclude={'reverse'})}"
    forward, reverse = (_picked(each) for each in (orders, orders.in_reverse))
    return forward if forward == reverse else f"{forward}; from right to left {reverse}"


def _picked(orders: Orders) -> str:
    fields = _of_fields(orders, exclude={"reverse", "state_table", "initiator"})
    return "picked at random (RFC 4814)" if fields == f", {Order.PSEUDORANDOM}" else f"each field on its own{fields}"


def _of_fields(orders: Orders, exclude: set[str]) -> str:
    """Returns the order of all fields or, where they differ, of each of them."""
    own = dumped(orders, exclude=exclude, exclude_none=True)
    if len(set(own.values())) == 1:
        return f", {next(iter(own.values()))}"
    return "; " + ", ".join(f"{field.replace('_', ' ')} {order}" for field, order in own.items())


def _known_rate(experiment: ExperimentRecord, field: str, measured: Unit) -> str:
    """Names the result that the rate is a share of, and its bound where that result is only one."""
    known = experiment.planned.known_rates.get(field)
    if known is None:
        return wording.ABSENT
    if known.rate is not None:
        return format_rate(known.rate, measured)
    assert known.percent is not None  # KnownRate has either form
    share = f"{known.percent:g} % of {known.experiment}"
    source = experiment.rate_sources.get(field)
    if source is None or source.statistics is None:
        return share
    rate = format_rate(source.statistics.median * known.percent / 100, measured)
    bound = f", which is {headlines.headline(source)}" if source.is_only_a_lower_bound else ""
    if experiment.in_blocks and len(source.values) > 1:
        return f"{share} in the same block{bound}; {rate} by the median"
    return f"{rate} ({share}{bound})"


def _rate_sent(experiment: ExperimentRecord) -> str:
    """Returns the rate of the trials where the experiment's `rate` is not that of its trials."""
    if experiment.declaration.rate_title == ProcedureDeclaration.rate_title:
        return wording.ABSENT
    trials = (trial for repetition in experiment.repetitions for trial in repetition.trials)
    return next(
        (format_rate(trial.rate_fps, Unit.FPS) for trial in trials if trial.kind is TrialKind.TRAFFIC), wording.ABSENT
    )


def _background(planned: Experiment) -> str:
    background = planned.background
    if background is None:
        return wording.ABSENT
    few, of = background.turns
    taken = f", {few} of every {of} frames" if few else ""
    return f"{100 * background.share:.10g} % native IPv6{taken}, {background.frame_size} bytes"


def _loss(planned: Experiment) -> str:
    tolerance = planned.loss_tolerance
    return tolerance.text if tolerance and tolerance.most else wording.ABSENT


def _mlrsearch(planned: Experiment) -> str:
    """States every attribute of an MLRsearch's goal (RFC 9971 §4)."""
    if planned.search is None or planned.search.kind != "mlrsearch":
        return wording.ABSENT
    goal = planned.search.goal
    loss_ratio = f"MLRsearch, goal loss ratio {planned.loss_tolerance.most if planned.loss_tolerance else 0:g}"
    if (second := planned.procedure.partial_loss_ratio) is not None:
        loss_ratio = f"{loss_ratio} and {second:g}"
    if goal is None:
        return f"{loss_ratio}, one trial a rate"
    ratios = f"{loss_ratio}, goal exceed ratio {goal.exceed_ratio:g}"
    if goal.initial_trial is None or goal.final_trial is None or goal.duration_sum is None:
        return f"{ratios}, {counted(goal.deciding_trials, 'trial')} a rate"
    initial, final, total = map(format_duration, (goal.initial_trial, goal.final_trial, goal.duration_sum))
    if initial == final:
        return f"{ratios}, {counted(goal.deciding_trials, 'trial')} of {final} a rate"
    return f"{ratios}, trials of {initial} to {final}, {total} a rate"


def _searched(search: Search | None, unit: Unit) -> str:
    if search is None:
        return wording.ABSENT
    return f"{format_quantity(search.min_rate, unit)} to {format_quantity(search.max_rate, unit)}"


def _error(search: Search | None, unit: Unit) -> str:
    if search is None:
        return wording.ABSENT
    if isinstance(search.error, Percent):
        return f"{search.error.value:g} %"
    return format_quantity(search.error, unit)
