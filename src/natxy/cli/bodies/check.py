# SPDX-License-Identifier: Apache-2.0
"""Describes what a plan measures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby

from natxy.plan.caveats import TITLES, by_kind, counts
from natxy.plan.experiment import Experiment
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.search import KnownRate, Search
from natxy.plan.model.terms import Selection
from natxy.plan.model.thresholds import Thresholds
from natxy.plan.model.traffic import PortRange
from natxy.plan.model.units import (
    Percent,
    Unit,
    counted,
    enumerated,
    format_duration,
    format_quantity,
    format_rate,
    format_share,
    times,
)
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.results.reader import RunReader
from natxy.run.caveats import caveats_of_run
from natxy.run.estimate import estimate_s, repetition_s
from natxy.run.forecast import expected_repetitions


def describe(plan: ResolvedPlan, earlier: RunReader | None = None) -> Iterator[str]:
    """Yields the lines that describe what the plan measures; `earlier` is a run of it that was measured before."""
    yield f"{plan.name}: {plan.description}" if plan.description else plan.name
    before = 0
    for name, group in groupby(plan.experiments, lambda each: each.sweep or each.name):
        cells = [*group]
        first, before = before + 1, before + len(cells)
        yield ""
        if cells[0].sweep:
            yield f"{first}-{before}. {name}: a sweep of {len(cells)} experiments"
        else:
            yield f"{first}. {name}: {cells[0].title}"
        for line in _of_sweep(plan, cells) if cells[0].sweep else _lines(cells[0]):
            yield f"   {line}"
    yield ""
    if not plan.testbed.in_virtual_time:
        # natxy does not know the tables of other gateways.
        hops = [hop for experiment in plan.experiments for hop in experiment.gateway.hops]
        tracked = any(hop.keeps_conntrack for hop in hops)
        checked, unchecked = ["the cores"], ["root"]
        if here := plan.testbed.gateway_is_local:
            checked.append("the gateways' programs")
        if tracked:
            (checked if here else unchecked).append("nf_conntrack_max")
            unchecked.append("the timeouts")
        if plan.testbed.dut_location:
            unchecked.append("the DUT's own networks")
        yield f"Checked on this machine: {enumerated(checked)}; `natxy run` will check {enumerated(unchecked)}."
    for kind, sentences in by_kind(caveats_of_run(plan)).items():
        yield f"{TITLES[kind]}:"
        yield from (f"• {sentence}" for sentence in sentences)
    yield from _effort(plan, earlier)


def describe_briefly(plan: ResolvedPlan, earlier: RunReader | None = None) -> Iterator[str]:
    """Yields the last lines of `describe`, after the number of caveats instead of their list."""
    if found := caveats_of_run(plan):
        yield f"{counts(found)}, which `natxy check` lists without `--brief`."
    yield from _effort(plan, earlier)


def _effort(plan: ResolvedPlan, earlier: RunReader | None) -> Iterator[str]:
    """Yields how many experiments and repetitions are to be measured, and how long that takes."""
    expected = expected_repetitions(plan, earlier) if earlier else {}
    if earlier and expected:
        counts = ", ".join(f"{name} {times(count)}" for name, count in expected.items())
        yield f"Expected repetitions, judged by {earlier.folder}: {counts}."
    count = len(plan.experiments)
    yield (
        f"{count} experiment{'s' if count > 1 else ''} on the testbed {plan.testbed.kind!r}, seed {plan.seed}, "
        f"{about(estimate_s(plan, expected))}{' of virtual time' if plan.testbed.in_virtual_time else ''}"
        f"{_at_most(plan, expected)}{_at_rates(plan)}."
    )


def _at_most(plan: ResolvedPlan, expected: Mapping[str, int]) -> str:
    unknown = any(each.repeat.until and each.name not in expected for each in plan.experiments)
    return " if all repetitions are needed" if unknown else ""


def _at_rates(plan: ResolvedPlan) -> str:
    """States which rates the estimate takes: the lowest ones, of which `--at-scale` has the time, take longer."""
    searched = any(experiment.search for experiment in plan.experiments) and not plan.testbed.in_virtual_time
    return ", at rates in the middle of the searches" if searched else ""


def _of_sweep(plan: ResolvedPlan, cells: list[Experiment]) -> Iterator[str]:
    """Yields the facts that all cells share, and then a line for each cell with its own."""
    facts = [[line.split(", ") for line in _lines(cell)] for cell in cells]
    every = [{fact for line in lines for fact in line} for lines in facts]
    common = set.intersection(*every)
    for line in facts[0]:
        if shared := [fact for fact in line if fact in common]:
            yield ", ".join(shared)
    for cell, lines in zip(cells, facts, strict=True):
        own = [fact for line in lines for fact in line if fact not in common]
        coordinates = cell.name.partition("/")[2] or cell.name
        yield f"- {coordinates}: {', '.join([*own, about(cell.repeat.at_most * repetition_s(plan, cell))])}"


def about(seconds: float) -> str:
    """Returns a duration with one or two digits, as many as an estimate deserves."""
    return f"about {format_duration(float(f'{seconds:.2g}' if seconds > 10 else f'{seconds:.1g}'))}"


def _lines(experiment: Experiment) -> Iterator[str]:
    left, right = experiment.families
    frames = experiment.sent_frames(left).text(left)
    if experiment.extension_headers.bytes:
        frames += f" with extension headers ({experiment.extension_headers})"
    if experiment.translation:
        frames += f", {experiment.sent_frames(right).text(right)} from the right ({experiment.size_convention})"
    if experiment.directions:
        # The goal of a search may have shorter trials than the timing.
        which = "trials" if experiment.deciding_trial_s >= experiment.timing.trial else "deciding trials"
        frames += f", {experiment.directions}, {which} of {format_duration(experiment.deciding_trial_s)}"
    if experiment.procedure.frame_timeout_s is not None:
        late = "an answer late" if experiment.procedure.asks_dns64 else "a frame lost"
        frames += f", {late} after {format_duration(experiment.procedure.frame_timeout_s)}"
    if (partial_loss := experiment.procedure.partial_loss_ratio) is not None:
        frames += f", a partial loss of {format_share(partial_loss)}"
    cores = "" if experiment.cores is None else f" on {experiment.cores} core{'s' if experiment.cores > 1 else ''}"
    yield f"{experiment.procedure.name} of {experiment.gateway.title}{cores}: {frames}"
    if experiment.connections is not None:
        yield _connections(experiment)
    if background := experiment.background:
        yield f"{100 * background.share:.10g} % of the frames are native IPv6, of {background.frame_size} bytes"
    if experiment.pair_count > 1:
        yield f"between {experiment.pair_count} pairs of interfaces at the same time"
    addresses = experiment.addresses
    homes = experiment.subscribers
    sources = _hosts(addresses.left_hosts, addresses.left)
    if isinstance(homes, HomesPlan):
        sources = f"{homes.inner} of {homes.count:,} homes"
    if experiment.procedure.asks_dns64:
        asked = f"{addresses.left.tester.ip} asks {addresses.left.dut.ip}"
        yield f"{asked}, which asks {addresses.right.tester.ip} for natxy.test, {_flows(experiment)}"
    else:
        yield f"{sources} to {_hosts(addresses.right_hosts, addresses.right)}, {_flows(experiment)}"
    yield from _subscribers(experiment)
    if pool := addresses.pool:
        yield f"public addresses {pool[0]} to {pool[-1]}"
    if experiment.rate:
        unit = experiment.procedure.rate_unit
        yield f"at {_known(experiment.rate, unit)}{' per direction' if unit == Unit.FPS else ''}"
    repeated = experiment.repeat.text
    yield f"{_search(experiment, experiment.search)}; {repeated}" if experiment.search else repeated
    if experiment.baseline:
        yield f"compared with {experiment.baseline}"
    if experiment.expect:
        yield f"expects {_expected(experiment.expect)}"


def _subscribers(experiment: Experiment) -> Iterator[str]:
    """Yields who the subscribers are that the tester plays, and the ends of their softwires."""
    own = experiment.subscribers
    if own is None:
        return
    text = counted(own.count, "subscriber")
    if not isinstance(own, HomesPlan) and own.share_addresses:
        shared = own.bindings
        text += f", {shared.psid_count} at each address by a PSID of {shared.psid_length} bits"
        text += f" and an offset of {shared.offset}"
    text += f"; their ends are in {own.ipv6}"
    if softwire := experiment.softwire:
        text += f", the core's end is {softwire.own}"
    yield text


def _expected(expect: Thresholds) -> str:
    """Returns the thresholds as the plan has them."""
    worse = expect.no_worse_than
    thresholds = (
        f"at least {_quantity(expect.at_least)}" if expect.at_least is not None else "",
        f"at most {_quantity(expect.at_most)}" if expect.at_most is not None else "",
        *(f"{name.removeprefix('ratio_').replace('_', ' ')} {share} of the baseline" for name, share in expect.ratios),
        worse and f"a result that is worse than that in {worse.baseline} by no more than {worse.by}",
    )
    return enumerated([threshold for threshold in thresholds if threshold])


def _quantity(written: float | str) -> str:
    return written if isinstance(written, str) else f"{written:,.10g}"


def _flows(experiment: Experiment) -> str:
    procedure, ports = experiment.procedure, experiment.ports
    if isinstance(procedure, TcpGoodputConfig):
        flows = "1 TCP flow" if experiment.flows == 1 else f"{experiment.flows} TCP flows"
        return f"{flows} to port {ports.destination.min}, the best of {procedure.best_of} tests"
    reverse = ports.reverse
    back = f", from the right {_ports(reverse.source)} to {_ports(reverse.destination)}" if reverse else ""
    return f"{_ports(ports.source)} to {_ports(ports.destination)}{back}"


def _ports(ports: PortRange) -> str:
    return f"port {ports.min}" if ports.min == ports.max else f"ports {ports.min}-{ports.max}"


def _connections(experiment: Experiment) -> str:
    text = f"{experiment.connections:,} connections"
    if experiment.phase1_selection == Selection.RANDOM:
        text += f" drawn at random, about {experiment.distinct_connections:,.0f} different ones"
    if experiment.phase1_rate:
        text += f", established at {_known(experiment.phase1_rate, Unit.CPS)}"
    if experiment.left_out:
        text += f", of which up to {experiment.left_out:,} may be missing"
    if experiment.active_connections:
        text += f", of which phase 2 uses {experiment.active_connections.text}"
    if experiment.alpha is not None:
        text += f", validated at {experiment.alpha:g} times that rate"
    return text


def _search(experiment: Experiment, search: Search) -> str:
    unit = experiment.procedure.step_unit
    error = str(search.error) if isinstance(search.error, Percent) else format_quantity(search.error, unit)
    direction = " per direction" if unit == Unit.FPS else ""
    limits = f"{format_quantity(search.min_rate, unit)} to {format_quantity(search.max_rate, unit)}"
    kind = "MLRsearch" if search.kind == "mlrsearch" else "search"
    line = " (the line's maximum)" if search.max_rate == experiment.maximum_fps else ""
    return f"{kind} from {limits}{direction}{line}, to within {error}"


def _known(rate: KnownRate, unit: Unit) -> str:
    return format_rate(rate.rate, unit) if rate.rate else f"{rate.percent:g} % of {rate.experiment}"


def _hosts(hosts: AddressRanges, link: LinkAddresses) -> str:
    networks = len(link.networks_behind)
    where = f" in {networks:,} networks" if networks > 1 else ""
    return str(hosts.first) if hosts.size == 1 else f"{hosts.size:,} addresses from {hosts.first}{where}"
