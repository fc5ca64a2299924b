# SPDX-License-Identifier: Apache-2.0
"""Connection tracking table capacity (RFC 9693 §4.9).

A full table loses frames of phase 1 or replies of the validation, or it stops the gateway from working at all. In the
last case the gateway is restarted, and the number of connections counts as too many.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from natxy.engine.messages.results import TrialResult, Verdict
from natxy.errors import DutError, PlanError
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import TableNeed
from natxy.plan.model.timing import TimingPreset
from natxy.plan.model.units import Unit, format_quantity
from natxy.plan.procedures.table_capacity import TableCapacityConfig
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.contradictions import why_no_result
from natxy.procedures.common.expiry import expiry, wait_s
from natxy.procedures.common.phase1 import establish
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.searches import binary_search
from natxy.procedures.common.steps import unsent_remark, valid_step
from natxy.procedures.common.table_check import TableError
from natxy.procedures.connection_rate import validate, validated_s
from natxy.results.curves import Axis, Curve
from natxy.results.trials import Purpose
from natxy.search.capacity import CapacityResult, CapacitySearch
from natxy.search.contradictions import Contradicted
from natxy.search.kept import FAILURES, FAILURES_OF_RATES, Establish, Kept
from natxy.search.outcome import Attempt, NeverPrepared, Outcome, Sample, SearchResult, TesterLimitReached

# A rate lower by this factor shows whether a table is full or only slow.
SLOWER: Final = 4


class TableCapacity(Procedure[TableCapacityConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        config, initial = self.config, self.config.initial_connections
        rates = binary_search(repetition.experiment, repetition.ceiling_fps)
        steps = 0
        slowest_loss: dict[int, float] = {}  # the lowest rate at which replies were missing, by connections

        def keep(connections: int, rate: float) -> Kept:
            nonlocal steps
            steps += 1
            result = valid_step(repetition, steps, rate, lambda attempt: _step(repetition, attempt, connections))
            if result.verdict == Verdict.FAIL and result.established is None:
                slowest_loss[connections] = min(rate, slowest_loss.get(connections, rate))
            # A table that refuses connections loses frames in phase 1, one that replaces them loses replies.
            return Kept(result.verdict == Verdict.PASS, sum(stream.received for stream in result.streams))

        failures = _failures(repetition.experiment)
        first = rates.run(lambda attempt: _initial(keep, initial, attempt.rate, failures))
        if first.lower_bound is None:
            _recover(repetition)
            none = no_result(config, f"at no rate were all {initial:,} initial connections kept")
            return replace(none, figures={**none.figures, "c0": initial}, upper_bound=initial)
        search = CapacitySearch(
            config.max_connections,
            config.beta,
            config.gamma,
            config.error,
            rates.narrow,
            bool(config.shortcut),
            failures,
        )
        try:
            found = search.run(initial, first.rate, keep)
        except Contradicted as contradicted:
            _recover(repetition)
            return no_result(config, why_no_result(contradicted, Unit.CONNECTIONS))
        upper = found.upper_bound
        if upper in slowest_loss and (expired := _expired(repetition, upper, slowest_loss[upper])):
            _recover(repetition)
            return no_result(config, expired, explained=True)
        remark = "; ".join(filter(None, (_remark(repetition, found, keep), _rate_remark(first))))
        # The last step may have left the gateway broken, and more experiments may follow.
        _recover(repetition)
        points = tuple((float(connections), rate) for connections, rate in sorted(found.rates.items()))
        curve = Curve(
            "rate", "Rate at which all connections are kept", Axis("connections", Unit.CONNECTIONS),
            Axis("rate", Unit.CPS), points,
        )  # fmt: skip
        return ProcedureResult(
            {
                "capacity": found.capacity,
                "c0": initial,
                "r0": first.rate,
                "cs": found.safe,
                "rs": found.safe_rate,
                "ct": found.too_many,
            },
            lower_bound=found.capacity,
            upper_bound=found.upper_bound,
            remark=remark,
            curves=(curve,),
        )

    def expected_steps(self, experiment: Experiment) -> int:
        config = self.config
        doublings = math.ceil(math.log2(config.max_connections / config.initial_connections) / 2)
        bisections = 2 if config.shortcut else math.ceil(math.log2(1 + _middle(config) / config.error))
        # Of numbers that are too many, attempts at the first one and at the last one are repeated.
        repeated = 2 * (_failures(experiment) - 1)
        return binary_search(experiment).expected_steps() + 2 * (doublings + bisections) + repeated

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return validated_s(experiment.model_copy(update={"connections": round(_middle(self.config))}))

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        found = []
        if _failures(experiment) > 1:
            found.append(
                f"A number of connections is too large only after {_failures(experiment)} attempts have lost some, a "
                f"rate only after {FAILURES_OF_RATES}, and the upper bound is tried again at the end; RFC 9693 §4.9 "
                "repeats no attempt."
            )
        if self.config.shortcut:
            found.append(
                "The capacity was searched for around the number of connections that answered when too many were "
                "validated, and confirmed there; RFC 9693 §4.9 bisects."
            )
        return [*map(departure, found)]


def _middle(config: TableCapacityConfig) -> float:
    """Returns the capacity that estimates assume before it is known."""
    return math.sqrt(config.initial_connections * config.max_connections)


def _failures(experiment: Experiment) -> int:
    """Returns how many failures reject a number of connections: in a lab one may be a pause of the gateway's core."""
    return 1 if experiment.timing.preset == TimingPreset.RFC else FAILURES


def _initial(keep: Establish, connections: int, rate: float, failures: int) -> Sample:
    """Returns a failure if as many attempts as have to agree on a failure all lost connections."""
    for _ in range(min(failures, FAILURES_OF_RATES)):
        kept = keep(connections, rate)
        if kept.passed:
            return Sample(Outcome.PASS, connections, 0)
    return Sample(Outcome.FAIL, connections, connections - kept.connections)


def _remark(repetition: Repetition, found: CapacityResult, keep: Establish) -> str:
    """Tells a full table from a gateway that became slow: connections that are too many only for the rate are kept at a
    lower one.

    Returns no remark when the attempt at the lower rate cannot be made: the capacity is known without it.
    """
    if found.upper_bound is None:
        return "at least this: all of max_connections were kept"
    asked = found.rate_needed
    slower = asked / SLOWER
    if found.full or not _lives_long_enough(repetition, found.upper_bound, slower):
        return ""
    try:
        kept = keep(found.upper_bound, slower)
    except (TesterLimitReached, NeverPrepared, DutError):
        return ""
    if not kept.passed:
        return ""
    return (
        f"the table is not full: {format_quantity(found.upper_bound, Unit.CONNECTIONS)} are kept at "
        f"{format_quantity(slower, Unit.CPS)}, but not at {format_quantity(asked, Unit.CPS)}, the rate that "
        "RFC 9693 asks for by gamma"
    )


def _expired(repetition: Repetition, connections: int, rate: float) -> str:
    """Returns a sentence if connections expire before their validation, as those that seem too many; otherwise an empty
    text."""
    alpha = repetition.experiment.alpha
    assert alpha is not None
    return expiry(repetition, wait_s(repetition.experiment.timing, connections, rate, connections / (alpha * rate)))


def _rate_remark(first: SearchResult) -> str:
    """Returns whether the tester limited R0, on which all other rates depend; nothing if it did not."""
    unsent = unsent_remark(first, Unit.CPS)
    return unsent and f"R0{' is at least this' if first.upper_bound is None else ''}: {unsent}"


def _step(repetition: Repetition, attempt: Attempt, connections: int) -> TrialResult:
    """Tries to keep `connections`, made at `attempt.rate` per second; restarts a gateway that fails."""
    _check_timeouts(_with(repetition, connections), attempt.rate)
    try:
        repetition.begin(attempt)
    except TableError:
        raise
    except DutError:
        # The previous step broke the gateway, so that its table could not be emptied.
        with repetition.gateway() as gateway:
            gateway.restart()
        repetition.begin(attempt)
    pairs = repetition.experiment.pair_count
    parts = [_with(repetition, connections // pairs + (pair < connections % pairs)) for pair in range(pairs)]
    established = _of_all_pairs(
        establish(part, attempt, Purpose.MEASURE, attempt.rate, pair) for pair, part in enumerate(parts)
    )
    if established.verdict != Verdict.PASS:
        return established
    return _of_all_pairs(validate(part, attempt, pair) for pair, part in enumerate(parts))


def _with(repetition: Repetition, connections: int) -> Repetition:
    return replace(repetition, experiment=repetition.experiment.model_copy(update={"connections": connections}))


def _of_all_pairs(results: Iterable[TrialResult]) -> TrialResult:
    """Returns the first result of a pair of interfaces that did not pass, or else the last, with the streams of all.

    After a pair that fails, the others are measured too, so that all connections that were kept are counted. One that
    decides nothing ends it.
    """
    found: list[TrialResult] = []
    for result in results:
        if result.verdict not in {Verdict.PASS, Verdict.FAIL}:
            return result
        found.append(result)
    decides = next((result for result in found if result.verdict == Verdict.FAIL), found[-1])
    return decides.model_copy(update={"streams": [stream for result in found for stream in result.streams]})


def _recover(repetition: Repetition) -> None:
    with repetition.gateway() as gateway:
        try:
            gateway.clear()
        except DutError:
            gateway.restart()


def _check_timeouts(repetition: Repetition, rate: float) -> None:
    """Raises DutError if connections would time out before they are validated, which would look like a full table."""
    experiment = repetition.experiment
    try:
        _check_table(repetition, experiment, rate)
    except PlanError as error:
        raise DutError(f"{experiment.connections:,} connections cannot be tried: {error}") from error


def _lives_long_enough(repetition: Repetition, connections: int, rate: float) -> bool:
    """Returns False if connections would time out before they are validated."""
    try:
        _check_table(repetition, repetition.experiment.model_copy(update={"connections": connections}), rate)
    except PlanError:
        return False
    return True


def _check_table(repetition: Repetition, experiment: Experiment, rate: float) -> None:
    assert experiment.search is not None
    at_rate = experiment.model_copy(update={"search": experiment.search.model_copy(update={"min_rate": rate})})
    # The table's size is what the procedure measures, so any size is accepted here.
    with repetition.gateway() as gateway:
        gateway.check(TableNeed(1, 1, 1, longest_trial_s=at_rate.longest_trial_s(None)))
