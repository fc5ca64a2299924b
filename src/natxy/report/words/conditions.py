# SPDX-License-Identifier: Apache-2.0
"""What an experiment was measured with, in the words of the RFCs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.model.background import Background
from natxy.plan.model.loss_tolerance import loss_tolerance_of
from natxy.plan.model.terms import IP_HEADER_DIFFERENCE_BYTES, Order, SizeConvention, TranslationKind
from natxy.plan.model.traffic import PortRange
from natxy.plan.model.units import Unit, format_duration, format_quantity, format_rate
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.report.words import headlines, wording
from natxy.results.records import ExperimentRecord, TrialKind

_DIRECTIONS: Final = {
    "bidirectional": "bidirectional, equal rates",
    "forward": "one: initiator to responder",
    "reverse": "one: responder to initiator",
}


def conditions(experiment: ExperimentRecord) -> dict[str, str]:
    """What RFC 9693 §4.10 and RFC 2544 §26.1 ask a table of results to state; what does not apply is absent."""
    settings = experiment.settings
    addresses, ports, search = settings["addresses"], settings["ports"], settings.get("search")
    connections, alpha = settings.get("connections"), settings.get("alpha")
    enumerated = connections is not None or experiment.declaration.stateful
    tuples = _orders(settings["orders"], enumerated=enumerated)
    between_hosts = experiment.declaration.between_hosts
    trial = format_duration(_procedure(experiment).traffic_s(settings["timing"]["trial"]))
    return {
        "Gateway": experiment.gateway,
        "Gateway's cores": wording.number(settings.get("cores")),
        "IP version": _ip_version(experiment),
        "Frame size, FCS counted": _frame_size(settings),
        "Theoretical maximum": _theoretical_maximum(experiment),
        "TTL or hop limit": wording.ABSENT if between_hosts else _ttl(settings),
        "Directions": _directions(experiment),
        "Flows": wording.number(settings.get("flows")),
        "Sessions (connections)": wording.number(connections),
        "Source addresses": _addresses(addresses, "left"),
        "Destination addresses": _addresses(addresses, "right"),
        "Source ports": wording.ABSENT if between_hosts else _ports(ports["source"]),
        "Destination ports": _ports(ports["destination"]),
        "Four-tuples": wording.ABSENT if between_hosts else tuples,
        "Phase 1 rate": _known_rate(experiment, "phase1_rate", Unit.CPS),
        experiment.declaration.rate_title: _known_rate(experiment, "rate", Unit.FPS),
        "Rate sent": _rate_sent(experiment),
        "Validation rate": wording.ABSENT if alpha is None else f"α = {alpha:g} of the rate",
        # Of a test between hosts it stands among the procedure's own settings.
        "Duration of a trial's traffic": wording.ABSENT
        if between_hosts
        else "one frame a connection"
        if experiment.declaration.stateful
        else trial,
        "Rates searched": _searched(experiment, search) if search else wording.ABSENT,
        "Background traffic": _background(settings),
        "Loss tolerated (non-RFC)": _loss(settings),
        "Search": _mlrsearch(settings, search) if search and search.get("kind") == "mlrsearch" else wording.ABSENT,
        "Error of the search": _step(search["error"], experiment) if search else wording.ABSENT,
        **_own_settings(experiment),
        **experiment.declaration.stated,
    }


def _directions(experiment: ExperimentRecord) -> str:
    declaration = experiment.declaration
    planned = experiment.settings["directions"] if "directions" in declaration.takes else "forward"
    return "both at once" if declaration.between_hosts and planned == "bidirectional" else _DIRECTIONS[planned]


def _procedure(experiment: ExperimentRecord) -> ProcedureDeclaration:
    """With its own settings, as the plan has it."""
    planned = experiment.settings["procedure"]
    return experiment.declaration.model_validate({"name": planned} if isinstance(planned, str) else planned)


def _own_settings(experiment: ExperimentRecord) -> dict[str, str]:
    """What only this procedure takes, under the plan's names."""
    planned = experiment.settings["procedure"]
    own = {} if isinstance(planned, str) else {name: value for name, value in planned.items() if name != "name"}
    return {
        name.replace("_", " ").capitalize(): _in_unit(value, experiment.declaration.unit_of(name))
        for name, value in own.items()
    }


def _in_unit(value: object, unit: Unit | None) -> str:
    if unit is not None and isinstance(value, int | float):
        return format_quantity(value, unit)
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _ip_version(experiment: ExperimentRecord) -> str:
    translation = experiment.settings.get("translation")
    if not translation:
        return _shown_family(experiment.family)
    kind = TranslationKind(translation["kind"])
    left, right = map(_shown_family, kind.families)
    return f"{left} on the left, {right} on the right ({kind.upper()}, prefix {translation['prefix']})"


def _shown_family(family: str) -> str:
    return family.replace("ipv", "IPv")


def _frame_size(settings: Mapping[str, Any]) -> str:
    """With the convention where a translation changes it."""
    size = f"{settings['frame_size']} bytes"
    if not settings.get("translation"):
        return size
    if settings["size_convention"] == SizeConvention.NOMINAL:
        return f"{size} sent from both sides (nominal)"
    return f"{size} in IPv6, {settings['frame_size'] - IP_HEADER_DIFFERENCE_BYTES} bytes in IPv4 (paired)"


def _theoretical_maximum(experiment: ExperimentRecord) -> str:
    maximum_fps = headlines.theoretical_maximum_fps(experiment)
    if maximum_fps is None:
        return wording.ABSENT
    line = format_rate(experiment.settings["line_rate"], "bit/s")
    return f"{wording.number(maximum_fps)} frames/s per direction at {line}"


def _ttl(settings: Mapping[str, Any]) -> str:
    return f"{settings['ttl']}, DF set" if settings["dont_fragment"] else str(settings["ttl"])


def _addresses(addresses: Mapping[str, Any], side: str) -> str:
    hosts = AddressRanges.model_validate(addresses[f"{side}_hosts"])
    if hosts.size == 1:
        return f"1 ({hosts.first})"
    networks = len(LinkAddresses.model_validate(addresses[side]).networks_behind)
    where = f", {networks:,} networks" if networks > 1 else ""
    listed = f", a list of {len(hosts.ranges):,}" if len(hosts.ranges) > 1 else ""
    return f"{hosts.size:,} ({hosts.first} – {hosts.last}{listed}{where})"


def _ports(ports: Mapping[str, Any]) -> str:
    span = PortRange.model_validate(ports)
    return f"{span.size:,} ({span.min}–{span.max})" if span.size > 1 else f"1 ({span.min})"


def _orders(orders: Mapping[str, str], *, enumerated: bool) -> str:
    own = {field: order for field, order in orders.items() if enumerated or field != "state_table"}
    if not enumerated and set(own.values()) == {Order.PSEUDORANDOM}:
        return "picked at random (RFC 4814)"
    taken = "each once" if enumerated else "each field on its own"
    if len(set(own.values())) == 1:
        return f"{taken}, {next(iter(own.values()))}"
    return f"{taken}; " + ", ".join(f"{field.replace('_', ' ')} {order}" for field, order in own.items())


def _known_rate(experiment: ExperimentRecord, field: str, measured: Unit) -> str:
    """With the result that it is a share of, which may be only a bound."""
    planned = experiment.settings.get(field)
    if not planned:
        return wording.ABSENT
    if planned.get("rate") is not None:
        return format_rate(planned["rate"], measured)
    share = f"{planned['percent']:g} % of {planned['experiment']}"
    source = experiment.rate_sources.get(field)
    if source is None or source.statistics is None:
        return share
    rate = format_rate(source.statistics.median * planned["percent"] / 100, measured)
    bound = f", which is {headlines.headline(source)}" if source.is_only_a_lower_bound else ""
    return f"{rate} ({share}{bound})"


def _rate_sent(experiment: ExperimentRecord) -> str:
    """Absent where it is the experiment's `rate`."""
    if experiment.declaration.rate_title == ProcedureDeclaration.rate_title:
        return wording.ABSENT
    trials = (trial for repetition in experiment.repetitions for trial in repetition.trials)
    return next(
        (format_rate(trial.rate_fps, Unit.FPS) for trial in trials if trial.kind is TrialKind.TRAFFIC), wording.ABSENT
    )


def _background(settings: Mapping[str, Any]) -> str:
    given = settings.get("background")
    if not given:
        return wording.ABSENT
    background = Background.model_validate(given)
    few, of = background.turns
    taken = f", {few} of every {of} frames" if few else ""
    return f"{100 * background.share:.10g} % native IPv6{taken}, {background.frame_size} bytes"


def _loss(settings: Mapping[str, Any]) -> str:
    tolerance = loss_tolerance_of(settings)
    return tolerance.text if tolerance.most else wording.ABSENT


def _mlrsearch(settings: Mapping[str, Any], search: Mapping[str, Any]) -> str:
    """With every attribute of its goal (RFC 9971 §4)."""
    goal = search.get("goal")
    loss_ratio = f"MLRsearch, goal loss ratio {loss_tolerance_of(settings).most:g}"
    if not goal:
        return f"{loss_ratio}, one trial a rate"
    durations = (format_duration(goal[name]) for name in ("initial_trial", "final_trial", "duration_sum"))
    initial, final, total = durations
    return f"{loss_ratio}, goal exceed ratio {goal['exceed_ratio']:g}, trials of {initial} to {final}, {total} a rate"


def _searched(experiment: ExperimentRecord, search: Mapping[str, Any]) -> str:
    return f"{_step(search['min_rate'], experiment)} to {_step(search['max_rate'], experiment)}"


def _step(value: float | str, experiment: ExperimentRecord) -> str:
    if isinstance(value, str):
        return f"{value.removesuffix('%')} %"
    return format_quantity(value, experiment.declaration.step_unit)
