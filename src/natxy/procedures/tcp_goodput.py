# SPDX-License-Identifier: Apache-2.0
"""TCP goodput between two hosts through the DUT: the best of some tests, as people measure it with iperf3.

There are no trials of the engine's here: a repetition that was cut short starts over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import Family
from natxy.plan.procedures.base import ProcedureDeclaration
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig, line_goodput_bps
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.search.outcome import Attempt
from natxy.tcp.hosts import TcpTest, Transfer

# Of the best test.
NOTED_SPREAD: Final = 0.3
_IP_HEADER_BYTES: Final = {Family.IPV4: 20, Family.IPV6: 40}


class TcpGoodput(Procedure):
    declaration: ClassVar[type[ProcedureDeclaration]] = TcpGoodputConfig
    replayable: ClassVar[bool] = False

    def measure(self, repetition: Repetition) -> ProcedureResult:
        test = _test(repetition.experiment)
        tests = []
        for number in range(1, _config(repetition.experiment).best_of + 1):
            repetition.begin(Attempt(number, 1, 0.0))
            tests.append(repetition.transfer(number, test))
            repetition.sleep(repetition.experiment.timing.settle)
        totals = [_total_bps(transfers) for transfers in tests]
        best = max(tests, key=_total_bps)
        return ProcedureResult(
            figures={
                "goodput": max(totals),
                **_line_share(repetition.experiment, max(totals), len(best)),
                **{f"goodput_{name}": transfer.goodput_bps for name, transfer in best.items()},
                **{f"retransmits_{name}": transfer.retransmits for name, transfer in best.items()},
            },
            remark=_spread(totals),
        )

    def expected_steps(self, experiment: Experiment) -> int:
        return _config(experiment).best_of

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return experiment.traffic_s


def _test(experiment: Experiment) -> TcpTest:
    server = experiment.left_destinations
    assert server is not None
    assert experiment.flows is not None
    assert experiment.directions is not None
    config = _config(experiment)
    return TcpTest(
        server=server.first,
        port=experiment.ports.destination.min,
        flows=experiment.flows,
        directions=experiment.directions,
        duration_s=round(config.duration),
        congestion_control=config.congestion_control,
    )


def _total_bps(transfers: dict[str, Transfer]) -> float:
    return sum(transfer.goodput_bps for transfer in transfers.values())


def _spread(totals_bps: Sequence[float]) -> str:
    """The best of some tests says nothing of how far apart they were."""
    if max(totals_bps) - min(totals_bps) <= NOTED_SPREAD * max(totals_bps):
        return ""
    return (
        f"the tests of a repetition differ by more than {100 * NOTED_SPREAD:.0f} %: other work may disturb the hosts; "
        "measure again without it"
    )


def _line_share(experiment: Experiment, goodput_bps: float, directions: int) -> dict[str, float]:
    """In percent, of the link with the longer headers where the two differ; none without a line."""
    if experiment.line_rate is None:
        return {}
    header = max(_IP_HEADER_BYTES[family] for family in experiment.families)
    most_bps = directions * line_goodput_bps(experiment.line_rate, experiment.longest_frame, header)
    return {"line_share": 100 * goodput_bps / most_bps}


def _config(experiment: Experiment) -> TcpGoodputConfig:
    assert isinstance(experiment.procedure, TcpGoodputConfig)
    return experiment.procedure
