# SPDX-License-Identifier: Apache-2.0
"""The rate at which a DNS64 server answers all queries (RFC 8219 §9).

The tester's left port asks for AAAA records, at exact times whether answers come or not. Its right port is the
authority that the server asks: it computes every answer from the name, and has one for any number of names. An answer
counts if it comes in time with the address that the name has, or that the server's prefix makes of it.
"""

from __future__ import annotations

from typing import Final

from natxy.engine.interface import OnProgress
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import StreamResult, TrialResult, Verdict
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.dns64_rate import TIMEOUT_S, Dns64RateConfig
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.queries import CACHED_NAMES, greet, queries_of, queries_request
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import search_rate, timed
from natxy.procedures.common.traffic import beginning
from natxy.results.trials import Purpose, TrialKind
from natxy.search.outcome import Attempt

# RFC 8219 §9.
LEAST_TRIAL_S: Final = 60.0
LEAST_REPEAT: Final = 20
# Far below what any server answers, and soon done.
_FILLING_FPS: Final = 1000.0
# About how long a server takes to start and to answer its first queries.
_STARTING_S: Final = 1.0


class Dns64Rate(Procedure[Dns64RateConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        passed: dict[float, StreamResult] = {}

        def step(attempt: Attempt) -> TrialResult:
            result = self._ask(repetition, attempt)
            if result.verdict == Verdict.PASS:
                passed[attempt.rate] = result.streams[0]
            return result

        found = search_rate(repetition, step)
        rate = found.figures["rate"]
        delay = passed[rate].delay if rate in passed else None
        return ProcedureResult(
            figures={
                **found.figures,
                "delay_median": delay.median_ns if delay else None,
                "delay_p99": delay.p99_ns if delay else None,
            },
            lower_bound=found.lower_bound,
            upper_bound=found.upper_bound,
            remark=found.remark,
        )

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        filling_s = CACHED_NAMES / _FILLING_FPS if self.config.cached_percent else 0.0
        before_s = _STARTING_S + experiment.timing.warm_up + filling_s
        return before_s + super().expected_step_s(experiment, phase1_fps)

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        found = []
        if (trial_s := experiment.deciding_trial_s) < LEAST_TRIAL_S:
            asked = f"RFC 8219 §9 asks for at least {format_duration(LEAST_TRIAL_S)}"
            why = "so that a server gains little by answering its last queries late"
            text = (
                f"Queries are asked for {format_duration(trial_s)} in the trials that decide on a rate; {asked}, {why}."
            )
            found.append(departure(text))
        if (timeout_s := experiment.procedure.frame_timeout_s) != TIMEOUT_S:
            own = "by the end of the drain" if timeout_s is None else f"within {format_duration(timeout_s)}"
            text = f"A query has to be answered {own}; RFC 8219 §9 asks for {format_duration(TIMEOUT_S)}."
            found.append(departure(text))
        return found

    def repeat_caveats(self, repeat: Repeat) -> list[Caveat]:
        if repeat.least >= LEAST_REPEAT:
            return []
        asked = f"RFC 8219 §9 asks for at least {LEAST_REPEAT} times"
        return [departure(f"The rate of a DNS64 server is measured {repeat.text}; {asked}.")]

    def _ask(self, repetition: Repetition, attempt: Attempt) -> TrialResult:
        """Runs one trial at the attempt's rate, of a server that has just started. Before it come a few queries, so
        that the server has found the authority; the warm-up, if the timing has one, which fills the server's cache; and
        the names of the cached share."""
        experiment = timed(repetition.experiment, attempt)
        shares = {"cached_percent": self.config.cached_percent, "aaaa_percent": self.config.aaaa_percent}
        queries = queries_of(experiment, **shares)
        repetition.begin(attempt)

        def request(seed: int) -> TrialRequest:
            asked = queries_request(experiment, queries, attempt.rate, seed)
            return asked.model_copy(update={"ends_early": experiment.ends_early})

        def run(seed: int, on_progress: OnProgress) -> TrialResult:
            return repetition.engine.run_trial(request(seed), on_progress)

        def before(seed: int) -> None:
            with repetition.gateway() as gateway:
                gateway.clear()
            greet(repetition.engine, experiment)
            if warm_up_s := experiment.timing.warm_up:
                repetition.engine.run_trial(beginning(request(seed), warm_up_s))
            if queries.cached_percent:
                cached = queries.model_copy(update={"cached_percent": 100})
                repetition.engine.run_trial(
                    queries_request(experiment, cached, _FILLING_FPS, seed, frames=CACHED_NAMES)
                )

        return repetition.trial(attempt, TrialKind.QUERIES, Purpose.MEASURE, attempt.rate, run, before)
