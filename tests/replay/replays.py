# SPDX-License-Identifier: Apache-2.0
"""Lists siitperf's scripts by gateway, each with the plan that does the same, and with the result that is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from natxy.results.records import RepetitionRecord
from tests.replay.lab import PATIENCE_MS, Import, TwoWays, standing
from tests.replay.limits import INTERFACES, Limit, bucket, bucket_fps, budget, shaped_delay_s, shaper, table
from tests.support import siitperf_scripts as scripts
from tests.support.siitperf_confs import conf_text
from tests.support.siitperf_scripts import Bed, Phase1

Figures = Mapping[str, float]
"""The values that a way found, by their names with units."""

ROUTER: Final = conf_text("router-many", IP_L_min="2", IP_L_max="50", IP_R_min="2", IP_R_max="50")
# The requests by which a router finds each host would be held back too, and the frames behind them.
ONE_HOST: Final = conf_text("router-many", IP_L_var="0", IP_R_var="0")
SIIT: Final = conf_text("siit", IPv6_R_Virt="2001:2:0:1000::198.19.0.2")
_PORTS: Final = {"Fwd_sport_min": "10000", "Fwd_sport_max": "10199", "Fwd_dport_min": "80", "Fwd_dport_max": "179"}
NAT44: Final = conf_text("nat44", **_PORTS)

# A rate that no search tries.
FRAMES: Final = 3977
MAXIMUM, ERROR = 6000, 20
LOSSY: Final = (6000, 5400, 4800, 4200)
LOSSLESS: Final = (3600, 3000)
# Percent: two or three frames of a trial, which a busy machine may lose.
_STRAY: Final = 0.05

RATE, SHAPED = 500, 400
# A sender that pauses shifts all delays that follow.
_DELAY_SLACK_MS: Final = 2 * PATIENCE_MS

TIMEOUT_MS: Final = 500
OVER: Final = Phase1(400, 2000)
MADE, MADE_FPS, MADE_BURST = Phase1(2000, 4000), 1000, 1000

TABLE: Final = 1733
SMALLEST_TABLE, LARGEST_TABLE, TABLE_ERROR = 500, 8000, 50
TABLE_FPS, TABLE_FPS_ERROR = 4000, 1000


@dataclass(frozen=True)
class Replay:
    """A script and a plan for one gateway.

    `known` has the bounds of each figure, between which a correct way finds it.
    """

    script: str
    driver: str
    asked: Import
    limit: Limit
    by_script: Callable[[Bed], Figures]
    by_plan: Callable[[RepetitionRecord], Figures]
    known: Mapping[str, tuple[float, float]]
    bed: Mapping[str, Any] = field(default_factory=dict)
    masquerades: bool = False

    @contextmanager
    def standing(self, folder: Path) -> Iterator[TwoWays]:
        stateful = bool(self.limit.clear)
        with standing(
            folder, self.asked, self.driver, self.limit, stateful=stateful, masquerades=self.masquerades
        ) as ways:
            yield ways

    def script_finds(self, ways: TwoWays, **mistake: Any) -> Figures:
        """Decides as the script does; `mistake` changes its variables."""
        return self.by_script(Bed(partial(ways.call, self.asked.conf), **{**self.bed, **mistake}))

    def plan_finds(self, ways: TwoWays) -> Figures:
        return self.by_plan(ways.run(self.asked))

    def alternating(self, ways: TwoWays, rounds: int) -> Compared:
        """Measures by both ways in turn, so that a machine that becomes slower does so for both."""
        found = [(self.script_finds(ways), self.plan_finds(ways)) for _ in range(rounds)]
        return Compared(self.known, [each for each, _ in found], [each for _, each in found])


@dataclass(frozen=True)
class Compared:
    known: Mapping[str, tuple[float, float]]
    by_script: Sequence[Figures]
    by_plan: Sequence[Figures]

    def with_rounds(self, others: Compared) -> Compared:
        return Compared(self.known, [*self.by_script, *others.by_script], [*self.by_plan, *others.by_plan])

    def values(self, name: str) -> tuple[list[float], list[float]]:
        return [each[name] for each in self.by_script], [each[name] for each in self.by_plan]

    def differences(self) -> list[str]:
        """Returns the figures in which the ways differ from each other or from what is known.

        The medians may be as far apart as the values of both ways spread, and as the known bounds are.
        """
        found = []
        for name, (low, high) in self.known.items():
            both = self.values(name)
            medians = [median(each) for each in both]
            spread = sum(max(each) - min(each) for each in both)
            if not all(low <= each <= high for each in medians) or abs(medians[0] - medians[1]) > spread + high - low:
                found.append(f"{name}: by script {both[0]}, by plan {both[1]}, known {low:.4g} to {high:.4g}")
        return found


def of_router(driver: str, conf: str, conf_of_delays: str, sizes: Mapping[str, int]) -> Iterator[Replay]:
    """Yields the scripts for gateways without state."""
    per_trial = budget(FRAMES, sizes)
    rate_bounds = {"frames/s": (FRAMES - ERROR, FRAMES)}
    searching = {"search": {"kind": "binary", "max_rate": MAXIMUM, "error": ERROR}}
    throughput = Import(conf, "throughput", f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2", searching)
    for script, search in (
        ("binary-rate-alg.sh", scripts.binary_rate),
        ("binary-rate-alg.sh-pdv", partial(scripts.binary_rate_in_time, frame_timeout_ms=TIMEOUT_MS)),
    ):
        by_script = partial(_rate, search)
        yield Replay(script, driver, throughput, per_trial, by_script, _headline("frames/s"), rate_bounds)
    yield Replay(
        "frame-loss.sh-scan", driver,
        Import(conf, "frame-loss-rate", f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2",
               {"procedure": {"name": "frame-loss-rate", "maximum_rate": MAXIMUM, "step_percent": 10}}),
        per_trial, _loss_of_script, _loss_of_plan,
        {_lost_at(rate): (_share(FRAMES, rate) - _STRAY, _share(FRAMES, rate) + _STRAY) for rate in LOSSY}
        | {_lost_at(rate): (0, _STRAY) for rate in LOSSLESS},
    )  # fmt: skip
    patient = {"timeout_ms": 2000}
    yield Replay(
        "latency.sh", driver, Import(conf_of_delays, "latency", f"84 {RATE} 2 2000 2 2 1 {RATE}", {"rate": RATE}),
        shaper(SHAPED, sizes), _latency_of_script, _delays_of_plan("TL", "WCL"),
        _of_both({"TL": 1.5, "WCL": 2.0}), patient,
    )  # fmt: skip
    yield Replay(
        "pdv.sh", driver, Import(conf_of_delays, "pdv", f"84 {RATE} 2 2000 2 2 0", {"rate": RATE}),
        shaper(SHAPED, sizes), _variation_of_script, _delays_of_plan("PDV"), _of_both({"PDV": 2.0}), patient,
    )  # fmt: skip


def of_nat(
    driver: str, conf: str, sizes: Mapping[str, int], clear: Sequence[str], *, masquerades: bool
) -> Iterator[Replay]:
    """Yields the scripts for gateways with state, whose own table `clear` empties."""
    searching = {"search": {"kind": "binary", "max_rate": MAXIMUM, "error": ERROR}}
    size_rate = f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2"
    yield Replay(
        "binary-rate-alg.sh-sf", driver, Import(conf, "throughput", f"{size_rate} {_words(OVER)}", searching),
        budget(FRAMES, sizes).clearing(*clear),
        partial(_rate, partial(scripts.binary_rate_stateful, phase1=OVER)), _headline("frames/s"),
        {"frames/s": (FRAMES - ERROR, FRAMES)}, masquerades=masquerades,
    )  # fmt: skip
    searching = {"search": {"kind": "binary", "max_rate": MADE.rate_fps, "error": ERROR}}
    late = MADE_FPS * PATIENCE_MS // 1000
    least, most = (bucket_fps(MADE.frames, MADE_FPS, MADE_BURST + each) for each in (-late, late))
    yield Replay(
        "binary-rate-alg.sh-R", driver,
        Import(conf, "connection-rate", f"84 1 1 {TIMEOUT_MS} 2 2 {_words(MADE)}", searching),
        bucket(MADE_FPS, MADE_BURST).clearing(*clear),
        lambda bed: {"connections/s": scripts.binary_connection_rate(bed, MADE.rate_fps, ERROR, MADE).best},
        _headline("connections/s"), {"connections/s": (least - ERROR, most)}, masquerades=masquerades,
    )  # fmt: skip
    smallest = Phase1(SMALLEST_TABLE, TABLE_FPS)
    searching = {"search": {"kind": "binary", "max_rate": TABLE_FPS, "error": TABLE_FPS_ERROR}}
    capacity = {
        "name": "table-capacity", "initial_connections": SMALLEST_TABLE, "max_connections": LARGEST_TABLE,
        "error": TABLE_ERROR,
    }  # fmt: skip
    yield Replay(
        "cttc.sh", driver,
        Import(conf, "table-capacity", f"84 1 1 {TIMEOUT_MS} 2 2 {_words(smallest)}",
               searching | {"procedure": capacity, "alpha": 0.5}),
        table(TABLE).clearing(*clear), _capacity_of_script, _headline("connections"),
        {"connections": (TABLE - TABLE_ERROR, TABLE)}, masquerades=masquerades,
    )  # fmt: skip


def _words(phase1: Phase1) -> str:
    return " ".join(map(str, phase1.words()))


def _rate(search: Callable[..., scripts.Search], bed: Bed) -> Figures:
    return {"frames/s": search(bed, MAXIMUM, ERROR).best}


def _headline(name: str) -> Callable[[RepetitionRecord], Figures]:
    def found(repetition: RepetitionRecord) -> Figures:
        assert repetition.value is not None, repetition.reason
        return {name: repetition.value}

    return found


def _lost_at(rate_fps: int) -> str:
    return f"% lost at {rate_fps}/s"


def _share(received: float, sent: float) -> float:
    return 100 * (1 - received / sent)


def _loss_of_script(bed: Bed) -> Figures:
    received = scripts.frame_loss(bed, [*LOSSY, *LOSSLESS])
    return {_lost_at(rate): _share(frames, len(bed.directions) * rate) for rate, frames in received.items()}


def _loss_of_plan(repetition: RepetitionRecord) -> Figures:
    curves = [dict(curve.points) for curve in repetition.curves]
    return {
        _lost_at(round(MAXIMUM * percent / 100)): sum(curve[percent] for curve in curves) / len(curves)
        for percent in curves[0]
    }


def _latency_of_script(bed: Bed) -> Figures:
    found = scripts.latency(bed, RATE, 2, 1, RATE)
    return {f"{name}, ms": value for name, value in found.items()}


def _variation_of_script(bed: Bed) -> Figures:
    return {f"{name} PDV, ms": value for name, value in scripts.variation(bed, RATE, 2).items()}


def _delays_of_plan(*names: str) -> Callable[[RepetitionRecord], Figures]:
    def found(repetition: RepetitionRecord) -> Figures:
        return {
            f"{way} {name}, ms": (repetition.figures[f"{name.lower()}_{way.lower()}"] or 0) / 1e6
            for way in ("Forward", "Reverse")
            for name in names
        }

    return found


def _of_both(after_s: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Returns the bounds of delays, in both directions, of frames that are sent so long after the first."""
    bounds: dict[str, tuple[float, float]] = {}
    for name, seconds in after_s.items():
        delay_ms = 1000 * shaped_delay_s(SHAPED, RATE, seconds)
        for way in Bed.directions:
            bounds[f"{way} {name}, ms"] = delay_ms - _DELAY_SLACK_MS, delay_ms + _DELAY_SLACK_MS
    return bounds


def _capacity_of_script(bed: Bed) -> Figures:
    found = scripts.table_capacity(
        bed, initial=SMALLEST_TABLE, maximum=TABLE_FPS, error=TABLE_FPS_ERROR, last=TABLE_ERROR, clear=lambda: None
    )
    return {"connections": found.capacity}


_IPV4: Final = dict.fromkeys(INTERFACES, 64)
_IPV6_ON_THE_LEFT: Final = {INTERFACES[0]: 84, INTERFACES[1]: 64}

REPLAYS: Final = [
    *of_router("linux-forward", ROUTER, ONE_HOST, _IPV4),
    *of_nat("nftables", NAT44, _IPV4, ("conntrack", "-F"), masquerades=True),
    *of_router("tayga", SIIT, SIIT, _IPV6_ON_THE_LEFT),
]
