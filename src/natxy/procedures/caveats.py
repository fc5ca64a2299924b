# SPDX-License-Identifier: Apache-2.0
"""States in which ways a plan departs from the RFCs and what limits its results, as caveats that `natxy check` prints
and a run stores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from natxy.plan.caveats import Caveat, departure, gap, limitation, own_rule
from natxy.plan.experiment import Experiment
from natxy.plan.frames.forms import Protocol
from natxy.plan.hosts import PortPair
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.search import Goal
from natxy.plan.model.terms import Order, Selection
from natxy.plan.model.timing import RFC_TIMING, Timing
from natxy.plan.model.traffic import Directions, Orders
from natxy.plan.model.units import counted, format_duration, format_quantity, format_rate
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.procedures.common.streams import LEAST_BACKLOG_S
from natxy.procedures.common.table_check import drops_unknown_replies
from natxy.procedures.registry import procedure_of

# RFC 2544 §12.
RFC_NETWORKS: Final = 256
# What a gateway's queues hold may be a notable part of such a trial.
_SHORT_S: Final = 1.0

_OF_LIVES: Final = (
    "The segments of a connection follow each other at fixed times, and no segment is sent again: a "
    "host with a TCP of its own answers as soon as it can."
)
_OF_PROTOCOL: Final = {
    Protocol.UDP: "Connections are UDP, and results need not carry over to TCP.",
    Protocol.TCP: "All connections take a step of TCP's handshake before any takes the next, and no segment is sent "
    "again: hosts with a TCP of their own mix the steps.",
}


def caveats_of_plan(plan: ResolvedPlan) -> list[Caveat]:
    """Returns every caveat once, in the order of the plan's experiments."""
    return [*dict.fromkeys(_measured(plan)), *_absent_baselines(plan)]


def _measured(plan: ResolvedPlan) -> Iterator[Caveat]:
    if not plan.testbed.has_gateway:
        yield limitation("There is no gateway: what is measured is the tester itself.")
        return
    by_frames = [experiment for experiment in plan.experiments if not experiment.procedure.between_hosts]
    if not plan.testbed.in_virtual_time and not all(each.timing.learning_frames for each in by_frames):
        yield departure(
            "Neighbours are resolved once, when a gateway is set up; RFC 2544 §23 sends learning frames before each "
            "trial."
        )
    for experiment in plan.experiments:
        if experiment.line_rate is not None and plan.testbed.nominal_line_rate:
            line = format_rate(experiment.line_rate, "bit/s")
            yield limitation(
                f"The line rate of {line} is nominal: a lab's links are software, so that more than the theoretical "
                "maximum can pass."
            )
        yield from procedure_of(experiment).caveats(experiment)
    for experiment in by_frames:
        goal = experiment.search.goal if experiment.search else None
        decided_by_goal = goal is not None and goal.final_trial is not None
        yield from _timing(
            experiment.timing,
            fixed_duration=experiment.procedure.timed and not decided_by_goal,
            learning=not experiment.uses_connections,
        )
        if goal:
            yield from _goal(goal)
        yield from _frame_timeout(experiment)
        yield from _ordered_fields(experiment)
        if experiment.phase1_selection == Selection.RANDOM:
            yield departure(
                f"{experiment.title}: phase 1 draws its four-tuples at random, so that its {experiment.connections:,} "
                f"frames make about {experiment.distinct_connections:,.0f} connections; RFC 9693 §4.4 enumerates them."
            )
        if experiment.left_out:
            yield departure(
                f"{experiment.title}: phase 1 may leave out up to {experiment.left_out:,} of the "
                f"{experiment.connections:,} connections, and phase 2 uses the others; RFC 9693 §4.2 makes all of them."
            )
        if experiment.active_connections:
            yield departure(
                f"{experiment.title}: phase 2 uses {experiment.active_connections.text} of the "
                f"{experiment.connections:,} connections; RFC 9693 §4.7 uses all of them."
            )
        yield from procedure_of(experiment).repeat_caveats(experiment.repeat)
        if experiment.uses_connections:
            yield from _unchecked_table(experiment)
    yield from _kinds_of_connections([experiment for experiment in by_frames if experiment.uses_connections])
    yield from _tolerated_losses(by_frames)
    yield from _few_networks(plan.experiments)
    yield from _short_connection_trials(plan.experiments)


def _kinds_of_connections(experiments: list[Experiment]) -> Iterator[Caveat]:
    """Says how connections differ from those of hosts, and if they do in several ways, of which experiments."""
    of_tcp = [experiment for experiment in experiments if experiment.protocol == Protocol.TCP]
    alike: dict[str, dict[str, None]] = {}
    for experiment in of_tcp or experiments:
        lives = experiment.protocol == Protocol.TCP and experiment.procedure.life(Protocol.TCP)
        text = _OF_LIVES if lives else _OF_PROTOCOL[experiment.protocol]
        alike.setdefault(text, {})[experiment.sweep or experiment.title] = None
    for text, names in alike.items():
        yield limitation(text if len(alike) == 1 else f"{'; '.join(names)}: {text}")


def _unchecked_table(experiment: Experiment) -> Iterator[Caveat]:
    gateway = experiment.gateway
    if not gateway.keeps_connections or gateway.is_counted:
        return
    text = (
        f"The table of the gateway `{gateway.title}` is never checked to be empty before a trial, nor to hold the "
        "connections of phase 1, because the gateway has no `count`"
    )
    tried = "; whether its `clear` works is tried once in each experiment, by replies to old connections"
    yield gap(f"{text}{tried if drops_unknown_replies(experiment) else ''}.")


def _timing(timing: Timing, *, fixed_duration: bool, learning: bool) -> Iterator[Caveat]:
    """Yields what is shorter than the RFCs ask, and natxy's own rules.

    `fixed_duration`: a trial lasts as long as `timing.trial`, and not as long as its connections take. `learning`: the
    pause follows learning frames; RFC 9693 gives no length for that between the phases.
    """
    asked = [
        ("trial", "The traffic of a trial lasts", "at least", "RFC 2544 §24"),
        ("drain", "The wait for residual frames is", "", "RFC 2544 §23"),
        ("settle", "The rest between trials is", "at least", "RFC 2544 §23"),
        ("learning_pause", "The pause between learning and the traffic is", "", "RFC 2544 §23"),
    ]
    for field, words, bound, source in asked:
        value, standard = getattr(timing, field), getattr(RFC_TIMING, field)
        applies = {"trial": fixed_duration, "learning_pause": learning}.get(field, True)
        if value < standard and applies:
            wanted = f"{bound} {format_duration(standard)}".strip()
            yield departure(f"{words} {format_duration(value)}; {source} asks for {wanted}.")
    if timing.drain_ends_early:
        yield departure(
            "The wait for residual frames ends as soon as every frame has arrived, so that duplicates which arrive "
            f"later are not counted in that trial; RFC 2544 §23 asks for {format_duration(RFC_TIMING.drain)}."
        )
    if timing.warm_up:
        yield own_rule(
            f"Before each trial of traffic, {format_duration(timing.warm_up)} of the same traffic is sent and not "
            "counted, so that frames which a gateway loses while it learns hosts and flows are not in the results."
        )
    if timing.overrun_floor > 0:
        yield own_rule(
            f"A trial whose last frame is up to {format_duration(timing.overrun_floor)} late counts as "
            "valid, even if that is more than 0.001 % of its duration."
        )
    if timing.max_backlog is not None:
        yield own_rule(
            f"A trial of a search for a rate fails if its last frame is delayed by more than "
            f"{100 * timing.max_backlog:g} % of its traffic's length (at least {format_duration(LEAST_BACKLOG_S)}), "
            "because the gateway's queue would hide loss from a short trial."
        )
    if timing.max_pause > RFC_TIMING.max_pause:
        yield own_rule(
            f"Loss counts against the gateway although bursts after pauses of the tester's core of up to "
            f"{format_duration(timing.max_pause)} could explain it."
        )


def _goal(goal: Goal) -> Iterator[Caveat]:
    if goal.final_trial is not None and goal.final_trial < RFC_TIMING.trial:
        yield departure(
            f"The trials that decide on a rate last {format_duration(goal.final_trial)}; RFC 2544 §24 asks for at "
            f"least {format_duration(RFC_TIMING.trial)}."
        )
    if goal.exceed_ratio > 0:
        share = f"trials with up to {100 * goal.exceed_ratio:g} % of its trial time"
        if goal.trials:
            share = f"up to {100 * goal.exceed_ratio:g} % of its {counted(goal.trials, 'trial')}"
        yield departure(
            f"A rate passes although {share} lose frames (MLRsearch's goal exceed ratio); RFC 2544 §26.1 allows no "
            "loss."
        )


def _tolerated_losses(experiments: list[Experiment]) -> Iterator[Caveat]:
    """Names the experiments of the same tolerance together, and a sweep once."""
    alike: dict[tuple[str, str], dict[str, None]] = {}
    for experiment in experiments:
        tolerance = experiment.loss_tolerance
        if tolerance and tolerance.most:
            title = experiment.procedure.headline().title.lower()
            alike.setdefault((tolerance.text, title), {})[experiment.sweep or experiment.title] = None
    for (text, title), names in alike.items():
        yield departure(
            f"{'; '.join(names)}: trials pass with up to {text} of their frames lost, so that the result is not a "
            f"{title} as the RFCs define it; RFC 2544 §26.1 and RFC 9693 §4.5 allow no loss."
        )


def _frame_timeout(experiment: Experiment) -> Iterator[Caveat]:
    timeout_s = experiment.procedure.frame_timeout_s
    # RFC 8219 §9 asks for one.
    if timeout_s is not None and not experiment.procedure.asks_dns64:
        yield departure(
            f"{experiment.title}: a frame that arrives more than {format_duration(timeout_s)} after it was sent counts "
            f"as lost; RFC 2544 §26 has no such limit."
        )


def _ordered_fields(experiment: Experiment) -> Iterator[Caveat]:
    if experiment.uses_connections:
        return
    left, right = experiment.addresses.left_hosts, experiment.addresses.right_hosts
    forward = _ordered(left, right, experiment.ports, experiment.orders)
    reverse = _ordered(right, left, experiment.ports.in_reverse, experiment.orders.in_reverse)
    ways = {Directions.FORWARD: (forward,), Directions.REVERSE: (reverse,)}.get(
        experiment.directions or Directions.BIDIRECTIONAL, (forward, reverse)
    )
    for ordered in dict.fromkeys(filter(None, ways)):
        where = "" if len({*ways}) == 1 else f" from {'left to right' if ordered == forward else 'right to left'}"
        text = f"{experiment.title}: {ordered} are in counting order{where}"
        yield departure(f"{text}; RFC 4814 §4 asks for pseudorandom order.")


def _ordered(own: AddressRanges, far: AddressRanges, ports: PortPair, orders: Orders) -> str:
    """Names the fields of one direction that vary in another order than a pseudorandom one."""
    fields = (
        (own.size, orders.source_address, "source addresses"),
        (far.size, orders.destination_address, "destination addresses"),
        (ports.source.size, orders.source_port, "source ports"),
        (ports.destination.size, orders.destination_port, "destination ports"),
    )
    return ", ".join(name for size, order, name in fields if size > 1 and order != Order.PSEUDORANDOM)


def _few_networks(experiments: list[Experiment]) -> Iterator[Caveat]:
    """The second run that RFC 2544 §12 asks for may be another experiment of the plan."""
    of_routers = [each for each in experiments if all(hop.is_router for hop in each.gateway.hops)]
    alone = (each for each in of_routers if len(each.gateway.hops) == 1)
    spread = {each.procedure.name for each in alone if each.addresses.destination_networks >= RFC_NETWORKS}
    for name in dict.fromkeys(each.procedure.name for each in of_routers if each.procedure.name not in spread):
        yield departure(
            f"The {name} of a router is measured with fewer than {RFC_NETWORKS} destination networks a side; RFC 2544 "
            f"§12 asks for a second run with random destinations in {RFC_NETWORKS} networks."
        )


def _short_connection_trials(experiments: list[Experiment]) -> Iterator[Caveat]:
    """Reports only the cell with the shortest trials of each sweep."""
    shortest: dict[str, tuple[float, int, Experiment]] = {}
    for experiment in experiments:
        name, search = experiment.sweep or experiment.name, experiment.search
        if experiment.procedure.stateful and search and experiment.connections is not None:
            connections = experiment.pair_count * experiment.connections
            trial_s = connections / search.max_rate
            if trial_s < min(_SHORT_S, shortest[name][0] if name in shortest else math.inf):
                shortest[name] = trial_s, connections, experiment
    for trial_s, connections, experiment in shortest.values():
        assert experiment.search
        floor_s = experiment.timing.overrun_floor
        sentence = (
            f"A connection rate trial lasts as long as its connections take: {connections:,} at the "
            f"search's highest rate, {format_quantity(experiment.search.max_rate, experiment.unit)}, are "
            f"{format_duration(trial_s)}"
        )
        if floor_s > 0:
            share = f"{100 * floor_s / trial_s:.2g} %"
            sentence += f", {share} of which is the {format_duration(floor_s)} that the last frame may be late"
        sentence += ". So short a trial may show what the gateway's queues hold, and not what it keeps up."
        yield limitation(sentence)


def _absent_baselines(plan: ResolvedPlan) -> Iterator[Caveat]:
    for baseline, names in plan.absent_baselines.items():
        yield limitation(
            f"{', '.join(names)}: the plan compares with {baseline}, which `--only` leaves out; name it too for the "
            "ratio."
        )
    if plan.unjudged_ratios:
        yield limitation(
            f"{', '.join(plan.unjudged_ratios)}: the ratio is not judged, because `--only` leaves out the baseline."
        )
