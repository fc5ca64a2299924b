# SPDX-License-Identifier: Apache-2.0
"""Numbers and settings of an experiment in the words of the RFCs; every rate says what it is a rate of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from natxy.plan.background import Background
from natxy.plan.line import LineTraffic
from natxy.plan.loss_tolerance import loss_tolerance_of
from natxy.plan.models import AddressRange, CellValue, PortRange
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.terms import IP_HEADER_DIFFERENCE_BYTES, SizeConvention, TranslationKind
from natxy.plan.units import Unit, format_duration, format_quantity, format_rate
from natxy.results.records import ExperimentRecord, RunRecord, RunState, State, TrialKind
from natxy.results.statistics import Ratio, Summary

ABSENT: Final = "–"

STATE_WORDS: Final = {
    State.PENDING: "not started",
    State.RUNNING: "running",
    State.DONE: "done",
    State.NO_RESULT: "no result",
    State.TESTER_LIMIT: "tester limit reached",
    State.FAILED: "failed",
    State.SKIPPED: "skipped",
    State.INTERRUPTED: "interrupted",
}

_RUN_STATE_WORDS: Final = {
    RunState.RUNNING: "running",
    RunState.DONE: "complete",
    RunState.INTERRUPTED: "interrupted",
    RunState.FAILED: "failed",
    RunState.DIED: "died",
}

_DIRECTIONS: Final = {
    "bidirectional": "bidirectional, equal rates",
    "forward": "one: initiator to responder",
    "reverse": "one: responder to initiator",
}


_UNITS: Final = {
    Unit.FPS: "frames/s per direction",
    Unit.CPS: "connections/s",
    Unit.NS: "ms",
    Unit.SECONDS: "s",
    Unit.FRAMES: "frames",
    Unit.CONNECTIONS: "connections",
    Unit.PERCENT: "%",
}

NARROW_STATISTICS: Final = ("Median", "p1", "p99", "Min", "Max", "Disp.", "N")
NARROW_SPREAD: Final = ("Median", "Min", "Max", "Disp.", "N")

_FIELDS: Final = {
    "cores": "CPU cores", "frame_size": "Frame size", "alpha": "α", "addresses": "IP addresses",
    "ports.source": "Source ports", "ports.destination": "Destination ports", "family": "IP version",
    "gateway.conntrack_max": "Table size", "gateway.hash_size": "Hash table size",
}  # fmt: skip


def run_state(run: RunRecord) -> str:
    """`complete, 2 without result`."""
    without = sum(experiment.statistics is None for experiment in run.experiments)
    more = f", {without} without result" if run.state is RunState.DONE and without else ""
    return _RUN_STATE_WORDS[run.state] + more


def state(experiment: ExperimentRecord) -> str:
    """`no result`, or of some repetitions only: `2 of 10 repetitions without result`."""
    if experiment.state is State.NO_RESULT and experiment.statistics:
        without = sum(repetition.state is State.NO_RESULT for repetition in experiment.repetitions)
        return f"{without} of {len(experiment.repetitions)} repetitions without result"
    return STATE_WORDS[experiment.state]


def unit(measured: str) -> str:
    """The words for a `Unit`."""
    return _UNITS[Unit(measured)]


def kind(experiment: ExperimentRecord) -> str:
    """What its headline is, with the unit: the title of its table."""
    headline = experiment.declaration.headline()
    return f"{headline.title}{non_rfc(experiment)}, {unit(headline.unit)}"


def non_rfc(experiment: ExperimentRecord) -> str:
    """Empty where no loss was tolerated."""
    return loss_tolerance_of(experiment.settings).label


def per_direction(experiment: ExperimentRecord) -> bool:
    """The headline counts one direction of traffic that may have two."""
    return experiment.unit == Unit.FPS


def directions(experiment: ExperimentRecord) -> int:
    return 2 if experiment.settings.get("directions") == "bidirectional" else 1


def theoretical_maximum_fps(experiment: ExperimentRecord) -> float | None:
    """Of one direction; None where the plan gives no line rate, or the experiment's rates aren't frames'."""
    if experiment.declaration.step_unit != Unit.FPS:
        return None
    return LineTraffic.model_validate(experiment.settings).maximum_fps


def share_of_maximum(experiment: ExperimentRecord) -> str:
    """The headline's median; absent where it is no rate, or no maximum is known."""
    maximum_fps = theoretical_maximum_fps(experiment)
    if maximum_fps is None or experiment.statistics is None or experiment.unit != Unit.FPS:
        return ABSENT
    return experiment.statistics.shown_median(lambda rate_fps: percent(100 * rate_fps / maximum_fps, 2))


def number(value: float | None) -> str:
    return ABSENT if value is None else f"{value:,.0f}"


def quantity(value: float, measured: str) -> str:
    """In full, for tables whose title gives the unit."""
    if measured == Unit.NS:
        # Milliseconds, as RFC 8219 §7.3 asks, to the nanosecond.
        return f"{value / 1e6:,.6f}"
    return f"{value:,.6g}" if measured in (Unit.PERCENT, Unit.SECONDS) else number(value)


def statistic(summary: Summary, value: float, measured: str) -> str:
    """One of the summary's statistics in full."""
    return summary.shown(value, lambda value: quantity(value, measured))


def dispersion(summary: Summary) -> str:
    return summary.shown_dispersion(lambda ratio: percent(None if ratio is None else 100 * ratio))


def short(value: float, measured: str) -> str:
    """For narrow tables whose title gives the unit: rates in four significant digits, the rest in full."""
    if measured in (Unit.CONNECTIONS, Unit.FRAMES, Unit.NS):
        return quantity(value, measured)
    return format_rate(value, "").replace(" ", "")


def percent(value: float | None, digits: int = 1) -> str:
    return ABSENT if value is None else f"{value:.{digits}f} %"


def ratio(value: Ratio | None) -> str:
    """In percent."""
    return ABSENT if value is None else value.bound + percent(100 * value.value)


def baseline_ratio(experiment: ExperimentRecord) -> str:
    """Empty without a baseline."""
    return "" if experiment.baseline is None else ratio(experiment.baseline_ratio)


def headline(experiment: ExperimentRecord) -> str:
    if experiment.statistics is None:
        return ABSENT
    return experiment.statistics.shown_median(lambda value: format_quantity(value, experiment.unit))


def rate_kind(experiment: ExperimentRecord) -> str:
    """What the headline counts; for a bidirectional throughput, the sum of both directions too."""
    return _counted(experiment) + non_rfc(experiment)


def _counted(experiment: ExperimentRecord) -> str:
    if experiment.unit == Unit.CPS:
        return "new connections per second"
    if not per_direction(experiment):
        return experiment.declaration.headline().title
    if directions(experiment) == 1:
        return "in one direction"
    if experiment.statistics is None:
        return "per direction"
    aggregate = experiment.statistics.shown_median(lambda value: format_rate(2 * value, "fps"))
    return f"per direction · {aggregate} aggregate"


def scale_up(value: Ratio | None) -> str:
    """Three decimals, as in the source papers."""
    return ABSENT if value is None else f"{value.bound}{value.value:.3f}"


def share(value: float | None) -> str:
    return ABSENT if value is None else f"{value:.3f}"


def field(path: str) -> str:
    """A field of the plan, such as `ports.source`."""
    plain = path.removeprefix("procedure.").removeprefix("gateway.")
    return _FIELDS.get(path) or plain.replace(".", " ").replace("_", " ").capitalize()


def coordinate(value: CellValue) -> str:
    """Of a sweep's cell; large counts in full."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) and value >= 10_000 else str(value)


def narrow(cell: str) -> str:
    """A bound close to its number."""
    return cell[0] + cell[2:] if cell.startswith(("≥ ", "≤ ", "< ", "> ")) else cell


def narrow_statistics(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `NARROW_STATISTICS`."""
    median, *spread = narrow_spread(experiment)
    summary = experiment.statistics
    if summary is None:
        return (median, ABSENT, ABSENT, *spread)
    percentiles = (summary.shown(value, lambda v: short(v, experiment.unit)) for value in (summary.p1, summary.p99))
    return (median, *map(narrow, percentiles), *spread)


def narrow_spread(experiment: ExperimentRecord) -> tuple[str, ...]:
    """Under `NARROW_SPREAD`."""
    summary = experiment.statistics
    shown = [ABSENT] * 4
    if summary is not None:

        def abbreviated(value: float) -> str:
            return short(value, experiment.unit)

        extremes = (summary.shown(value, abbreviated) for value in (summary.minimum, summary.maximum))
        shown = [summary.shown_median(abbreviated), *extremes, dispersion(summary)]
    return (*map(narrow, shown), repetitions(experiment))


def repetitions(experiment: ExperimentRecord) -> str:
    asked, done = experiment.settings["repeat"], len(experiment.values)
    return str(done) if done == asked else f"{done}/{asked}"


def incomplete(run: RunRecord) -> list[tuple[ExperimentRecord, str]]:
    """Every experiment that did not end as planned, with the reason: never silently dropped."""
    told = []
    for experiment in run.experiments:
        if experiment.state != State.DONE:
            told.append((experiment, _sentence(state(experiment), experiment.reason)))
        told.extend(
            (
                experiment,
                _sentence(f"repetition {repetition.number}: {STATE_WORDS[repetition.state]}", repetition.reason),
            )
            for repetition in experiment.repetitions
            if experiment.state not in (State.DONE, State.NO_RESULT)
            and (repetition.state != State.DONE or repetition.reason)
            and repetition.reason != experiment.reason
        )
    return told


def remarks(run: RunRecord) -> list[str]:
    """On results that are as planned: `forward, reverse: at least this: the search's highest rate passed`."""
    said: dict[str, list[str]] = {}
    for experiment in run.experiments:
        if experiment.state is State.DONE and experiment.reason:
            said.setdefault(experiment.reason, []).append(experiment.name)
    return [f"{', '.join(names)}: {remark}" for remark, names in said.items()]


def conditions(experiment: ExperimentRecord) -> dict[str, str]:
    """What RFC 9693 §4.10 and RFC 2544 §26.1 ask a table of results to state; what does not apply is absent."""
    settings = experiment.settings
    addresses, ports, search = settings["addresses"], settings["ports"], settings.get("search")
    connections, alpha = settings.get("connections"), settings.get("alpha")
    enumerated = connections is not None or experiment.declaration.stateful
    trial = format_duration(_procedure(experiment).traffic_s(settings["timing"]["trial"]))
    return {
        "Gateway": experiment.gateway,
        "Gateway's cores": number(settings.get("cores")),
        "IP version": _ip_version(experiment),
        "Frame size, FCS counted": _frame_size(settings),
        "Theoretical maximum": _theoretical_maximum(experiment),
        "TTL or hop limit": _ttl(settings),
        "Directions": _DIRECTIONS[
            settings["directions"] if "directions" in experiment.declaration.takes else "forward"
        ],
        "Flows": number(settings.get("flows")),
        "Sessions (connections)": number(connections),
        "Source addresses": _addresses(addresses["left_hosts"]),
        "Destination addresses": _addresses(addresses["right_hosts"]),
        "Source ports": _ports(ports["source"]),
        "Destination ports": _ports(ports["destination"]),
        "Four-tuples": _orders(settings["orders"]) if enumerated else "picked at random (RFC 4814)",
        "Phase 1 rate": _known_rate(experiment, "phase1_rate", Unit.CPS),
        experiment.declaration.rate_title: _known_rate(experiment, "rate", Unit.FPS),
        "Rate sent": _rate_sent(experiment),
        "Validation rate": ABSENT if alpha is None else f"α = {alpha:g} of the rate",
        "Duration of a trial's traffic": "one frame a connection" if experiment.declaration.stateful else trial,
        "Rates searched": _searched(experiment, search) if search else ABSENT,
        "Background traffic": _background(settings),
        "Loss tolerated (non-RFC)": _loss(settings),
        "Search": _mlrsearch(settings, search) if search and search.get("kind") == "mlrsearch" else ABSENT,
        "Error of the search": _step(search["error"], experiment) if search else ABSENT,
        **_own_settings(settings["procedure"]),
        **experiment.declaration.stated,
    }


def _procedure(experiment: ExperimentRecord) -> ProcedureDeclaration:
    """With its own settings, as the plan has it."""
    planned = experiment.settings["procedure"]
    return experiment.declaration.model_validate({"name": planned} if isinstance(planned, str) else planned)


def _own_settings(procedure: str | Mapping[str, Any]) -> dict[str, str]:
    """What only this procedure takes, under the plan's names."""
    own = {} if isinstance(procedure, str) else procedure
    return {name.replace("_", " ").capitalize(): _plain(value) for name, value in own.items() if name != "name"}


def _plain(value: object) -> str:
    return f"{value:,.10g}" if isinstance(value, float) else str(value)


def _sentence(state: str, reason: str) -> str:
    if not reason:
        return f"{state}."
    return reason if reason.startswith(state) else f"{state}: {reason}"


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
    maximum_fps = theoretical_maximum_fps(experiment)
    if maximum_fps is None:
        return ABSENT
    line = format_rate(experiment.settings["line_rate"], "bit/s")
    return f"{number(maximum_fps)} frames/s per direction at {line}"


def _ttl(settings: Mapping[str, Any]) -> str:
    return f"{settings['ttl']}, DF set" if settings["dont_fragment"] else str(settings["ttl"])


def _addresses(hosts: Mapping[str, Any]) -> str:
    span = AddressRange.model_validate(hosts)
    return f"{span.size:,} ({span.first} – {span.last})" if span.size > 1 else f"1 ({span.first})"


def _ports(ports: Mapping[str, Any]) -> str:
    span = PortRange.model_validate(ports)
    return f"{span.size:,} ({span.min}–{span.max})" if span.size > 1 else f"1 ({span.min})"


def _orders(orders: Mapping[str, str]) -> str:
    if len(set(orders.values())) == 1:
        return f"each once, {next(iter(orders.values()))}"
    return "each once; " + ", ".join(f"{field.replace('_', ' ')} {order}" for field, order in orders.items())


def _known_rate(experiment: ExperimentRecord, field: str, measured: Unit) -> str:
    """With the result that it is a share of, which may be only a bound."""
    planned = experiment.settings.get(field)
    if not planned:
        return ABSENT
    if planned.get("rate") is not None:
        return format_rate(planned["rate"], measured)
    share = f"{planned['percent']:g} % of {planned['experiment']}"
    source = experiment.rate_sources.get(field)
    if source is None or source.statistics is None:
        return share
    rate = format_rate(source.statistics.median * planned["percent"] / 100, measured)
    bound = f", which is {headline(source)}" if source.is_only_a_lower_bound else ""
    return f"{rate} ({share}{bound})"


def _rate_sent(experiment: ExperimentRecord) -> str:
    """Absent where it is the experiment's `rate`."""
    if experiment.declaration.rate_title == ProcedureDeclaration.rate_title:
        return ABSENT
    trials = (trial for repetition in experiment.repetitions for trial in repetition.trials)
    return next((format_rate(trial.rate_fps, Unit.FPS) for trial in trials if trial.kind is TrialKind.TRAFFIC), ABSENT)


def _background(settings: Mapping[str, Any]) -> str:
    given = settings.get("background")
    if not given:
        return ABSENT
    background = Background.model_validate(given)
    few, of = background.turns
    taken = f", {few} of every {of} frames" if few else ""
    return f"{100 * background.share:.10g} % native IPv6{taken}, {background.frame_size} bytes"


def _loss(settings: Mapping[str, Any]) -> str:
    tolerance = loss_tolerance_of(settings)
    return tolerance.text if tolerance.most else ABSENT


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
