# SPDX-License-Identifier: Apache-2.0
"""The use of a subscriber's port set (RFC 7596 §5, RFC 7597 §5.1): how many connections one subscriber gets, to one
destination and to several, and from which ports they leave the gateway.

More connections than the set has ports are tried at a rate at which the gateway makes all that it can, each from
another port of one host as far as there are some. The responder knows the port of each that arrives. Those that still
have their replies afterwards count: a gateway may give the ports of old connections to new ones. Frames from ports that
are not in the set are counted, and no failure of the trial.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from natxy.addressing.port_sets import PortSet
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import PortUse, TrialResult, Verdict
from natxy.plan.experiment import Experiment
from natxy.plan.hosts import Ports
from natxy.plan.model.traffic import PortRange
from natxy.plan.model.units import Unit, counted, format_quantity
from natxy.plan.procedures.port_set import PortSetConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.phase1 import TRIAL_OVERHEAD_S
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import establish_request, validate_request
from natxy.procedures.common.traffic import ANY_LOSS
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt


class PortSetUse(Procedure[PortSetConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        ports = self._ports(repetition.experiment)
        found: list[_Found] = []
        for number, destinations in enumerate((1, self.config.destinations), 1):
            made = self._made(repetition, number, ports, destinations)
            if isinstance(made, str):
                return no_result(self.config, made, explained=True)
            found.append(made)
        one, several = found
        used = {port for each in found for use in each.ports for port in range(use.first, use.last + 1)}
        in_set = sorted(port for port in used if port in ports)
        ranges = [sum(port in each for port in in_set) for each in ports.ranges]
        outside = _outside(ports, (use for each in found for use in each.ports))
        used_ranges = sum(map(bool, ranges))
        remarks = (
            f"ports used: {len(in_set):,} of {len(ports):,}, in {used_ranges:,} of "
            f"{counted(len(ranges), 'range')}{_which(ports.ranges, ranges)}",
            _outside_remark(outside),
            *(each.remark for each in found),
        )
        return ProcedureResult(
            figures={
                "connections": float(one.kept),
                "several": float(several.kept),
                "ports": 100 * len(in_set) / len(ports),
                "ranges": 100 * used_ranges / len(ranges),
                "outside": float(sum(use.connections * (use.last - use.first + 1) for use in outside)),
            },
            remark="; ".join(filter(None, remarks)),
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return 2

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        rate_fps = (experiment.rate and experiment.rate.rate) or 1000.0
        tried = self.config.tried(self._ports(experiment)) * (1 + self.config.destinations) / 2
        return 2 * (tried / rate_fps + experiment.timing.drain + TRIAL_OVERHEAD_S)

    def _ports(self, experiment: Experiment) -> PortSet:
        ports = self.config.ports_of(experiment.gateway.own_ports)
        assert ports, "the plan's checks refuse an experiment without a port set"
        return ports

    def _made(self, repetition: Repetition, number: int, ports: PortSet, destinations: int) -> _Found | str:
        """Returns what became of connections to so many destinations, or why this is unknown."""
        tried = self.config.tried(ports) * destinations
        experiment = _to_destinations(repetition.experiment, tried, destinations)
        results: list[TrialResult] = []

        def step(attempt: Attempt) -> TrialResult:
            results[:] = _trials(repetition, experiment, attempt)
            return results[-1]

        valid_step(repetition, number, tried, step)
        made = results[0]
        if not made.established:
            return f"no connection was made: {made.reason}"
        spread = made.sources
        if spread is None or spread.ports is None:
            return "the tester does not know from which ports the connections came"
        if spread.addresses > 1:
            return f"the connections came from {spread.addresses:,} addresses, and a port set is that of one"
        if len(results) == 1:
            return f"the connections were not asked for replies: {made.reason}"
        [replies] = results[1].streams
        kept = made.established
        remark = ""
        if replies.lost:
            # A connection that is missing has another one in its place, so that the share of replies is known.
            kept = round(made.established * replies.received / replies.planned)
            lost = made.established - kept
            to = "one destination" if destinations == 1 else "several destinations"
            remark = f"about {format_quantity(lost, Unit.CONNECTIONS)} to {to} were made and had no reply afterwards"
        return _Found(kept, spread.ports, remark)


@dataclass(frozen=True)
class _Found:
    """Holds how many connections were kept, and the ports of those that were made."""

    kept: int
    ports: Sequence[PortUse]
    remark: str


def _trials(repetition: Repetition, experiment: Experiment, attempt: Attempt) -> list[TrialResult]:
    """Makes connections, as many as the gateway makes, and asks those for replies. Returns the results of both trials,
    or of the first if it says nothing."""
    rate_fps = repetition.rate
    assert rate_fps is not None
    repetition.begin(attempt)
    own = replace(repetition, experiment=experiment)
    run = partial(own.trial, attempt, rate_fps=rate_fps)

    def establish(seed: int) -> TrialRequest:
        return _with_any_loss(establish_request(experiment, rate_fps, seed)).model_copy(update={"list_ports": True})

    def validate(seed: int) -> TrialRequest:
        return _with_any_loss(validate_request(experiment, rate_fps, seed))

    engine = repetition.engine
    made = run(
        kind=TrialKind.PHASE1,
        purpose=Purpose.MEASURE,
        run=lambda seed, report: engine.run_trial(establish(seed), report),
    )
    if made.verdict != Verdict.PASS:
        return [made]
    replies = run(
        kind=TrialKind.VALIDATE,
        purpose=Purpose.MEASURE,
        run=lambda seed, report: engine.run_trial(validate(seed), report),
    )
    return [made, replies]


def _with_any_loss(request: TrialRequest) -> TrialRequest:
    update = {"max_loss_ratio": ANY_LOSS, "max_backlog_s": None}
    return request.model_copy(update={"streams": [stream.model_copy(update=update) for stream in request.streams]})


def _to_destinations(experiment: Experiment, connections: int, destinations: int) -> Experiment:
    """Returns the experiment with connections of one left host to so many ports of one right host."""
    ports, addresses = experiment.ports, experiment.addresses
    first = ports.destination.min
    to = PortRange(min=first, max=first + destinations - 1)
    hosts = {side: getattr(addresses, side).first_alone for side in ("left_hosts", "right_hosts")}
    return experiment.model_copy(
        update={
            "connections": connections,
            "ports": Ports(source=ports.source, destination=to),
            "addresses": addresses.model_copy(update=hosts),
        }
    )


def _outside(ports: PortSet, uses: Iterable[PortUse]) -> list[PortUse]:
    """Returns the uses of ports that are not in the set, each of one port."""
    return [
        use.model_copy(update={"first": port, "last": port})
        for use in uses
        for port in range(use.first, use.last + 1)
        if port not in ports
    ]


def _outside_remark(outside: Sequence[PortUse]) -> str:
    if not outside:
        return ""
    ports = sorted({use.first for use in outside})
    lowest, highest = ports[0], ports[-1]
    which = f"port {lowest}" if lowest == highest else f"{counted(len(ports), 'port')} from {lowest} to {highest}"
    return f"frames left from {which} that the subscriber does not have"


def _which(ranges: Sequence[range], used: Sequence[int]) -> str:
    """Returns which ranges are used if not all are; a gateway that uses the first one alone has this fault by name."""
    if all(used) or not any(used):
        return ""
    first = ranges[0]
    return f": the first one alone, {first[0]} to {first[-1]}" if used[0] and not any(used[1:]) else ""
