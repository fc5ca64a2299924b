# SPDX-License-Identifier: Apache-2.0
"""TCP goodput between two hosts through the DUT: the best of several iperf3 tests.

The engine runs no trials here, so a repetition that was cut short starts over.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Final

from natxy.plan.caveats import Caveat, limitation
from natxy.plan.experiment import Experiment
from natxy.plan.model.repeat import Repeat
from natxy.plan.model.terms import Family
from natxy.plan.procedures.tcp_goodput import TcpGoodputConfig, line_goodput_bps
from natxy.procedures.common.base import Procedure, ProcedureResult
from natxy.procedures.common.repetition import Repetition
from natxy.search.outcome import Attempt
from natxy.tcp.hosts import TcpTest, Transfer

# The difference between the tests that a remark mentions, as a share of the best one.
NOTED_SPREAD: Final = 0.3
_IP_HEADER_BYTES: Final = {Family.IPV4: 20, Family.IPV6: 40}


class TcpGoodput(Procedure[TcpGoodputConfig]):
    replayable: ClassVar[bool] = False

    def measure(self, repetition: Repetition) -> ProcedureResult:
        test = self._test(repetition.experiment)
        tests = []
        for number in range(1, self.config.best_of + 1):
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
        return self.config.best_of

    def expected_step_s(self, experiment: Experiment, phase1_fps: float | None) -> float:
        return experiment.traffic_s

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        return [
            limitation(
                "TCP goodput is measured by iperf3 between two hosts. It is a figure of the hosts' TCP and the gateway "
                "together, not one of RFC 2544 or RFC 8219, which measure the gateway alone with UDP."
            )
        ]

    def repeat_caveats(self, repeat: Repeat) -> list[Caveat]:
        return []

    def _test(self, experiment: Experiment) -> TcpTest:
        server = experiment.left_destinations
        assert server is not None
        assert experiment.flows is not None
        assert experiment.directions is not None
        return TcpTest(
            server=server.first,
            port=experiment.ports.destination.min,
            flows=experiment.flows,
            directions=experiment.directions,
            duration_s=round(self.config.duration),
            congestion_control=self.config.congestion_control,
        )


def _total_bps(transfers: dict[str, Transfer]) -> float:
    return sum(transfer.goodput_bps for transfer in transfers.values())


def _spread(totals_bps: Sequence[float]) -> str:
    """Returns a remark if the tests differ widely, which the best one alone does not show."""
    if max(totals_bps) - min(totals_bps) <= NOTED_SPREAD * max(totals_bps):
        return ""
    return (
        f"the tests of a repetition differ by more than {100 * NOTED_SPREAD:.0f} %: other work may disturb the hosts; "
        "measure again without it"
    )


def _line_share(experiment: Experiment, goodput_bps: float, directions: int) -> dict[str, float]:
    """Returns the percentage of the line's goodput, or nothing without a line rate.

    If the families of the links differ, the line's goodput is that of the link with the longer headers.
    """
    if experiment.line_rate is None:
        return {}
    header = max(_IP_HEADER_BYTES[family] for family in experiment.families)
    most_bps = directions * line_goodput_bps(experiment.line_rate, experiment.longest_frame, header)
    return {"line_share": 100 * goodput_bps / most_bps}
