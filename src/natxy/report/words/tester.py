# SPDX-License-Identifier: Apache-2.0
"""States how near results came to the limits of the tester."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.units import Unit, format_rate
from natxy.report.words.wording import percent
from natxy.results.analysis.ceilings import DOUBTFUL_QUERIES_SHARE, DOUBTFUL_SHARE, TesterShare, ceiling_share
from natxy.results.analysis.receive_queues import ReceiveQueues, receive_queues
from natxy.results.records import ExperimentRecord, RunRecord
from natxy.results.selftest import SelfTest, Work

_UNITS: Final[dict[str, str]] = {Unit.CPS: "connections/s", Unit.QPS: "queries/s"}


def self_test_sentence(run: RunRecord) -> str:
    """Compares the results with the tester's own limit; empty when no real tester sent."""
    if run.tester is None:
        return ""
    if run.self_test is None:
        return (
            f"No self-test was made of this tester ({run.tester}) before the run, so it is not known how near these "
            "results are to the tester's own limit: `natxy selftest` makes one."
        )
    shares = [share for each in run.experiments if (share := ceiling_share(each, run.self_test))]
    if not shares:
        return f"The tester's own limit is known ({_made(run.self_test)}), but no result is a rate to compare with it."
    frames = [share for share in shares if share.work != Work.QUERIES]
    queries = [share for share in shares if share.work == Work.QUERIES]
    said = []
    if frames:
        passed = f"Without a gateway this tester passes {_ceilings(frames, 'frames/s')} per direction"
        said.append(f"{passed} ({_made(run.self_test)}). {_near(frames)} above {DOUBTFUL_SHARE:.0%} of that.")
    if queries:
        answered = f"The tester itself answers {_ceilings(queries, 'queries/s')} ({_made(run.self_test)})"
        asked = "as RFC 8219 §9.2.1 asks for 220% of a server's rate"
        said.append(f"{answered}. {_near(queries)} above {DOUBTFUL_QUERIES_SHARE:.0%} of that, {asked}.")
    return " ".join(said)


def _ceilings(shares: list[TesterShare], unit: str) -> str:
    lowest, highest = (format_rate(pick(share.ceiling_fps for share in shares), unit) for pick in (min, max))
    return lowest if lowest == highest else f"{lowest} to {highest}, by the traffic,"


def _near(shares: list[TesterShare]) -> str:
    doubtful = sum(share.doubtful for share in shares)
    return f"{doubtful} of {len(shares)} results are" if doubtful else "No result is"


def tester_limited(run: RunRecord, experiment: ExperimentRecord) -> str:
    """Marks a result that is so near the tester's own ceiling that it may be the tester's limit; otherwise empty."""
    share = ceiling_share(experiment, run.self_test)
    if share is None or not share.doubtful:
        return ""
    unit = _UNITS.get(experiment.unit, "frames/s")
    why = "the gateway may be faster"
    if share.share > 1:
        why = "it did more than the self-test found; make a new one by `natxy selftest` on an idle machine"
    return (
        f"tester-limited? {percent(100 * share.share)} of the {format_rate(share.ceiling_fps, unit)} that this "
        f"tester {'answers itself' if share.work == Work.QUERIES else 'passes without a gateway'}: {why}"
    )


def doubt(run: RunRecord, experiment: ExperimentRecord) -> str:
    """Returns the mark of such a result for places without room for a sentence; otherwise empty."""
    return "tester-limited?" if tester_limited(run, experiment) else ""


def tester_limits(run: RunRecord) -> list[str]:
    """Returns a line for each result that may be the tester's limit."""
    return [f"{each.title}: {text}" for each in run.experiments if (text := tester_limited(run, each))]


def uneven_queues(run: RunRecord) -> list[str]:
    """Returns a line for each port one of whose receive queues got most of the frames of many flows."""
    return [
        f"{experiment.title}: queue {queues.fullest} of the tester's {port_name(queues)} port received "
        f"{percent(100 * max(queues.frames) / queues.total)} of the frames, although they had up to "
        f"{queues.flows:,} four-tuples: the port's card does not spread what differs between them. Vary more of "
        "the addresses and ports, or use one queue."
        for experiment in run.experiments
        for queues in receive_queues(experiment)
        if queues.uneven
    ]


def port_name(queues: ReceiveQueues) -> str:
    """Returns a port's side, for a further pair of interfaces with the pair's number."""
    return f"{queues.side} {queues.pair + 1}" if queues.pair else queues.side.value


def _made(self_test: SelfTest) -> str:
    return f"self-test of {self_test.measured_at[:10]}"
