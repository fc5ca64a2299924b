# SPDX-License-Identifier: Apache-2.0
"""Resolves a plan as written into one in which every setting has a value, and checks it. Touches no machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from pydantic import ValidationError

from natxy.errors import PlanError
from natxy.plan.address_presets import resolve_addresses, resolve_ports, resolve_subscribers, resolve_translation
from natxy.plan.boxes_alone import with_boxes_alone
from natxy.plan.cells import linked
from natxy.plan.checks import check_experiment, check_written
from natxy.plan.checks.connections import check_connections
from natxy.plan.checks.gateway import check_systems
from natxy.plan.checks.references import check_references
from natxy.plan.crossings import PREFIX
from natxy.plan.experiment import Experiment
from natxy.plan.frames.background import resolve_background
from natxy.plan.frames.mix import mean_bytes
from natxy.plan.hosts import Addresses
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.base import PlanModel
from natxy.plan.model.loss_tolerance import LossTolerance
from natxy.plan.model.problems import Location, PlanProblems, Problem
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.search import GoalPlan, GoalPreset, Search, SearchPlan, resolve_counted_goal, resolve_goal
from natxy.plan.model.subscribers import AnySubscribers, AnySubscribersPlan
from natxy.plan.model.terms import Family
from natxy.plan.model.timing import Timing, TimingPreset, resolve_timing
from natxy.plan.model.traffic import Directions, PortRange
from natxy.plan.model.units import Percent, Rate
from natxy.plan.procedures import ProcedureConfig
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.written import ExperimentPlan, Plan, PortsPlan
from natxy.untrusted.validation import guess

DEFAULT_ALPHA: Final = 0.5
DEFAULT_MIN_RATE: Final = 1000.0
DEFAULT_ERROR: Final = Percent(1)


def resolve(plan: Plan, *, repeat: int | None = None, only: Sequence[str] = (), left_out: bool = False) -> ResolvedPlan:
    """Returns the resolved plan.

    `repeat` overrides the repetitions of every experiment. `only` selects experiments, sweeps or cells by name; the
    experiments that a selected one takes a rate from are kept as well. References between experiments are not checked
    if some with errors were `left_out` of the plan.

    Raises PlanProblems with all problems of the plan, and PlanError for a name in `only` that the plan does not have.
    """
    expanded = with_boxes_alone(plan)
    own_experiments, unlinked = linked(expanded.experiments)
    plan = plan.model_copy(update={"experiments": own_experiments})
    problems: list[Problem] = [*plan.testbed.problems()]
    located: list[tuple[Location, Experiment]] = []
    for number, own in enumerate(plan.experiments):
        location: Location = ("experiments", number)
        problems.extend(check_written(own, location))
        try:
            experiment = _resolve_experiment(plan, own, location, repeat)
        except PlanProblems as found:
            problems.extend(found.problems)
            continue
        problems.extend(check_experiment(plan, own, experiment, location))
        located.append((location, experiment))
    problems.extend(check_systems(located))
    problems.extend(check_connections(located))
    if not left_out:
        problems.extend(unlinked or check_references(plan))
    problems = [*expanded.problems, *expanded.as_written(problems)]
    if problems:
        all_checked = not left_out and not unlinked and len(located) == len(plan.experiments)
        raise PlanProblems(problems, complete=all_checked)
    experiments = [experiment for _, experiment in located]
    kept = _kept(experiments, only)
    absent = _absent_baselines(experiments, kept)
    decided = {
        "experiments": kept,
        "absent_baselines": absent,
        "unjudged_ratios": [
            experiment.name
            for experiment in experiments
            if any(experiment.name in names for names in absent.values())
            and experiment.expect
            and experiment.expect.ratios
        ],
    }
    return ResolvedPlan.model_validate(_shared_fields(plan, ResolvedPlan) | decided)


def _shared_fields(written: PlanModel, resolved: type[PlanModel]) -> dict[str, object]:
    """Returns the fields as written that the resolved model has too."""
    return {name: value for name, value in written if name in resolved.model_fields}


def _resolve_experiment(plan: Plan, own: ExperimentPlan, location: Location, repeat: int | None) -> Experiment:
    family, _ = own.families(plan.family)
    kind = own.translation.kind if own.translation else None
    takes = own.procedure.takes
    flows = own.flows or own.procedure.usual_flows
    timing = resolve_timing(plan.timing, own.timing)
    addresses = resolve_addresses(
        own.addresses,
        family,
        kind,
        hiding=own.gateway.has_private_left,
        many_pairs=own.pairs is not None,
        prefix=(own.translation and own.translation.prefix) or PREFIX,
    )
    problems: list[Problem] = []
    subscribers = None
    with _collected(problems):
        subscribers = _resolve_subscribers(own.subscribers, addresses.left, location) if own.subscribers else None
    if subscribers:
        addresses = _with_subscribers(addresses, subscribers, own)
    frame_size = own.settled_frame_size(plan.family)
    decided = {
        "title": own.title or own.name,
        "gateway": own.gateway.on_one_machine() if plan.testbed.gateways_share_machine else own.gateway,
        "family": family,
        "translation": resolve_translation(own.translation, addresses) if own.translation else None,
        "subscribers": subscribers,
        "frame_size": frame_size,
        "line_rate": own.line_rate or plan.line_rate,
        "tag_bytes": plan.testbed.tag_bytes,
        "directions": (own.directions or Directions.BIDIRECTIONAL) if "directions" in takes else None,
        "addresses": addresses,
        "ports": resolve_ports(
            _with_usual_port(own),
            flows or own.connections or own.procedure.most_connections,
            *([subscribers.port_limits] if subscribers and subscribers.share_addresses else []),
        ),
        "flows": flows,
        "alpha": (own.alpha or DEFAULT_ALPHA) if "alpha" in takes else None,
        "search": None,
        "background": resolve_background(own.background, _mean_size(own, plan.family)) if own.background else None,
        "loss_tolerance": (own.loss_tolerance or LossTolerance()) if "loss_tolerance" in takes else None,
        "repeat": Repeat(at_most=repeat) if repeat else own.repeat or plan.repeat,
        "timing": timing,
    }
    experiment = Experiment.model_validate(_shared_fields(own, Experiment) | decided)
    line_fps = experiment.maximum_fps
    with _collected(problems):
        procedure = _resolve_procedure(own.procedure, line_fps, (*location, "procedure"))
        experiment = experiment.model_copy(update={"procedure": procedure})
    asked = not own.procedure.searches_if_asked or "search" in own.model_fields_set
    if "search" in takes and asked:
        with _collected(problems):
            experiment = experiment.model_copy(update={"search": _whole_search(plan, own, line_fps, timing, location)})
    if problems:
        raise PlanProblems(problems)
    return experiment


@contextmanager
def _collected(problems: list[Problem]) -> Iterator[None]:
    """Adds the problems of a part to the others, so that one error names all of them."""
    try:
        yield
    except PlanProblems as found:
        problems += found.problems


def _whole_search(
    plan: Plan, own: ExperimentPlan, line_fps: float | None, timing: Timing, location: Location
) -> Search:
    """Returns the search with the defaults of its kind."""
    nominal = plan.testbed.nominal_line_rate
    search = _resolve_search(own.search, line_fps, (*location, "search"), nominal=nominal)
    goal = own.search.goal or GoalPlan()
    if own.search.kind is None and _robust_by_default(search, own, timing):
        search = search.model_copy(update={"kind": "mlrsearch"})
        # A mapping without a preset changes parts of the default, too.
        goal = goal if goal.preset else goal.model_copy(update={"preset": GoalPreset.ROBUST})
    if own.procedure.needs_mlrsearch:
        if own.search.kind == "binary":
            text = f"{own.procedure.name} has two goals, which only an mlrsearch takes; remove `kind`"
            raise PlanProblems([Problem((*location, "search", "kind"), text)])
        search = search.model_copy(update={"kind": "mlrsearch"})
    if search.kind == "mlrsearch":
        search = _resolve_mlrsearch(search, goal, own, timing, (*location, "search"))
    return search


def _resolve_subscribers(own: AnySubscribersPlan, left: LinkAddresses, location: Location) -> AnySubscribers:
    try:
        return resolve_subscribers(own, left)
    except ValidationError as error:
        problems = [Problem((*location, "subscribers"), str(each["ctx"]["error"])) for each in error.errors()]
        raise PlanProblems(problems) from error


def _with_subscribers(addresses: Addresses, subscribers: AnySubscribers, own: ExperimentPlan) -> Addresses:
    """Returns the addresses with the subscribers as the left hosts, unless the plan has others, behind the left link.

    Packets to subscribers leave the core in softwires, so that the link needs no route to their IPv4 addresses.
    """
    left, prefix = addresses.left, subscribers.ipv4
    if not any(prefix.version == each.version and prefix.overlaps(each) for each in (left.dut.network, *left.behind)):
        left = left.model_copy(update={"behind": (*left.behind, prefix)})
    hosts = addresses.left_hosts if own.addresses.left_hosts else subscribers.addresses
    return addresses.model_copy(update={"left": left, "left_hosts": hosts})


def _with_usual_port(own: ExperimentPlan) -> PortsPlan:
    """Returns the ports as written, to that destination which the procedure has unless the plan gives one."""
    usual = own.procedure.usual_destination_port
    if usual is None or own.ports.destination:
        return own.ports
    return own.ports.model_copy(update={"destination": PortRange(min=usual, max=usual)})


def _mean_size(own: ExperimentPlan, usual: Family) -> int:
    """Returns the mean size of an experiment's frames in bytes, FCS included."""
    return round(mean_bytes(own.settled_sizes(usual)))


def _resolve_procedure(own: ProcedureConfig, line_fps: float | None, location: Location) -> ProcedureConfig:
    if line_fps is not None:
        return own.with_line_rate(line_fps)
    if own.lacks_maximum_rate:
        text = f"missing; {own.name} needs the highest rate of the medium: give it here, or the plan's `line_rate`"
        raise PlanProblems([Problem((*location, "maximum_rate"), text)])
    return own


def _resolve_search(own: SearchPlan, line_fps: float | None, location: Location, *, nominal: bool) -> Search:
    """Returns the search with its limits as rates, of which none is above that of the line, unless it is `nominal`."""
    problems: list[Problem] = []

    def rate(field: str, given: Rate) -> float:
        if not isinstance(given, Percent):
            return given
        if line_fps is None:
            text = f"{given} is a share of the line rate; give the plan's `line_rate`, e.g. 10Gbps"
            problems.append(Problem((*location, field), text))
            return 1.0
        return line_fps * given.value / 100

    if own.max_rate is None:
        problems.append(Problem((*location, "max_rate"), "missing; give the highest rate to search, e.g. 1M"))
    resolved = Search(
        kind=own.kind or ("mlrsearch" if own.goal else "binary"),
        min_rate=DEFAULT_MIN_RATE if own.min_rate is None else rate("min_rate", own.min_rate),
        max_rate=1.0 if own.max_rate is None else rate("max_rate", own.max_rate),
        error=own.error or DEFAULT_ERROR,
    )
    if line_fps is not None and not nominal and resolved.max_rate > line_fps:
        resolved = resolved.model_copy(update={"max_rate": line_fps})
    if not problems and resolved.min_rate > resolved.max_rate:
        line = ", that of the line" if resolved.max_rate == line_fps else ""
        text = f"min_rate ({resolved.min_rate:g}) must not be above max_rate ({resolved.max_rate:g}{line})"
        problems.append(Problem((*location, "min_rate"), text))
    if problems:
        raise PlanProblems(problems)
    return resolved


def _robust_by_default(search: Search, own: ExperimentPlan, timing: Timing) -> bool:
    """Returns True if one trial must not decide on a rate: in a lab, the gateway's core pauses now and then.

    Without a gateway, the search is for the tester's own limit, which it must not avoid.
    """
    searched = search.min_rate < search.max_rate and (search.relative_error or 0) < 1
    in_lab = timing.preset == TimingPreset.LAB and own.gateway.is_gateway
    return searched and in_lab and own.procedure.takes_mlrsearch


def _resolve_mlrsearch(
    search: Search, own_goal: GoalPlan, own: ExperimentPlan, timing: Timing, location: Location
) -> Search:
    procedure, goal = own.procedure, None
    problem: tuple[str, str] | None = None
    if not procedure.takes_mlrsearch:
        problem = ("kind", f"{procedure.name} supports only a binary search; remove it")
    elif search.min_rate >= search.max_rate:
        problem = ("max_rate", "must be above min_rate for an mlrsearch")
    elif (search.relative_error or 0) >= 1:
        problem = ("error", "must be below 100 % for an mlrsearch")
    elif procedure.stateful:
        try:
            goal = resolve_counted_goal(own_goal)
        except ValueError as error:
            problem = ("goal", f"the trials of {procedure.name} {error}")
    else:
        try:
            goal = resolve_goal(own_goal, timing.trial)
        except ValueError as error:
            problem = ("goal", str(error))
    if problem:
        raise PlanProblems([Problem((*location, problem[0]), problem[1])])
    return search.model_copy(update={"goal": goal})


def _absent_baselines(experiments: list[Experiment], kept: list[Experiment]) -> dict[str, list[str]]:
    """Returns the names of kept experiments whose baseline is not kept, by the baseline's name."""
    names = {experiment.name for experiment in kept}
    absent: dict[str, list[str]] = {}
    for experiment in experiments:
        if experiment.name in names and experiment.baseline and experiment.baseline not in names:
            absent.setdefault(experiment.baseline, []).append(experiment.name)
    return absent


def _kept(experiments: list[Experiment], only: Sequence[str]) -> list[Experiment]:
    if not only:
        return experiments
    names = dict.fromkeys(experiment.sweep or experiment.name for experiment in experiments)
    if unknown := [name for name in only if name not in {*names, *(experiment.name for experiment in experiments)}]:
        near = guess(unknown[0], names) or ";"
        raise PlanError(f"the plan has no experiment {unknown[0]!r}{near} it has {', '.join(names)}")
    wanted = {experiment.name for experiment in experiments if {experiment.name, experiment.sweep} & set(only)}
    # Who asks for a chain asks for its boxes, too.
    wanted |= {experiment.name for experiment in experiments if experiment.whole in wanted}
    # An experiment may only take rates from earlier ones, which may take rates themselves.
    for experiment in reversed(experiments):
        if experiment.name in wanted:
            wanted.update(rate.experiment for rate in experiment.known_rates.values() if rate.experiment)
    kept = [experiment for experiment in experiments if experiment.name in wanted]
    kept = [experiment if experiment.baseline in wanted else _without_baseline(experiment) for experiment in kept]
    return [
        experiment if experiment.whole in wanted else experiment.model_copy(update={"whole": None})
        for experiment in kept
    ]


def _without_baseline(experiment: Experiment) -> Experiment:
    expect = experiment.expect and experiment.expect.without_ratio()
    return experiment.model_copy(update={"baseline": None, "expect": expect})
