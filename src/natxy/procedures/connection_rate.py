# SPDX-License-Identifier: Apache-2.0
"""Maximum connection establishment rate (RFC 9693 §4.5), and the validated one (§4.6).

N new connections at rate R pass when all N frames arrive. A full table may drop old connections for new ones while
every frame still arrives; only validation shows that: the responder sends each connection's reply once, at α·R.
"""

from __future__ import annotations

from natxy.procedures.bench import Bench
from natxy.procedures.streams import establish_request, validate_request
from natxy.results.records import Purpose, TrialKind
from natxy.search.outcome import Attempt, Outcome


def measure_connection_rate(bench: Bench, attempt: Attempt) -> Outcome:
    """`attempt.rate` in connections per second; validated when the experiment has an `alpha`."""
    bench.begin(attempt)
    established = bench.trial(
        attempt,
        TrialKind.PHASE1,
        Purpose.MEASURE,
        attempt.rate,
        lambda seed, on_progress: bench.engine.establish(
            establish_request(bench.experiment, attempt.rate, seed), on_progress
        ),
    )
    alpha = bench.experiment.alpha
    if alpha is None or established != Outcome.PASS:
        return established
    return bench.trial(
        attempt,
        TrialKind.VALIDATE,
        Purpose.MEASURE,
        alpha * attempt.rate,
        lambda seed, on_progress: bench.engine.validate(
            validate_request(bench.experiment, alpha * attempt.rate, seed), on_progress
        ),
    )
