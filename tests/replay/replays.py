# SPDX-License-Identifier: Apache-2.0
"""Lists siitperf's scripts by gateway, each with the plan that does the same, and with the result that is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any, Final

from natxy.results.records import RepetitionRecord
from tests.replay.lab import PATIENCE_MS, Import, TwoWays, standing
from tests.replay.limits import (
    DROP,
    INTERFACES,
    REST_S,
    SPOIL,
    Limit,
    bucket,
    bucket_fps,
    budget,
    shaped_delay_s,
    shaped_fps,
    shaper,
    table,
)
from tests.support import siitperf_scripts as scripts
from tests.support.siitperf_confs import conf_text
from tests.support.siitperf_scripts import Bed, Phase1

Figures = Mapping[str, float]
"""The values that a way found, by their names with units."""

ROUTER: Final = partial(conf_text, "router-many", IP_L_min="2", IP_L_max="50", IP_R_min="2", IP_R_max="50")
SIIT: Final = partial(conf_text, "siit", IPv6_R_Virt="2001:2:0:1000::198.19.0.2")
_PORTS: Final = {"Fwd_sport_min": "10000", "Fwd_sport_max": "10199", "Fwd_dport_min": "80", "Fwd_dport_max": "179"}
# siitperf's initiator draws four-tuples also in phase 2: only if phase 1 had all, 400, are there no others.
_EVERY_TUPLE: Final = {"Fwd_sport_max": "10019", "Fwd_dport_max": "99"}
# The requests by which a router finds each of many hosts would be held back too, and the frames behind them.
_ONE_HOST: Final = {"IP_L_var": "0", "IP_R_var": "0"}
NAT44: Final = partial(conf_text, "nat44", **_PORTS)
NAT64: Final = partial(conf_text, "nat64", **_PORTS)
# Tayga 0.9.2 refuses the well-known prefix with addresses of the benchmark block.
_OWN_PREFIX: Final = partial(NAT64, IPv6_R_Virt="2001:2:0:6464::198.19.0.2")

# So many show how the values of a figure scatter.
ROUNDS: Final = 3
# So many median absolute deviations apart, of both ways together, the medians of a few equal rounds rarely are.
SCATTER: Final = 4

# A rate that no search tries.
FRAMES: Final = 3977
MAXIMUM, ERROR = 6000, 20
# The plan ends at two rates without loss.
SCANNED: Final = (6000, 5400, 4800, 4200, 3600, 3000)
# Percent: two or three frames of a trial, which a busy machine may lose.
_STRAY: Final = 0.05

RATE, SHAPED = 500, 400
FRAME_TIMEOUT_MS, GTO_MS = 500, 2000
# The 600 frames that a second at this rate leaves behind are gone before the next trial.
MAXIMUM_IN_TIME: Final = 1000
# A sender that pauses shifts all delays that follow.
_DELAY_SLACK_MS: Final = 2 * PATIENCE_MS

TIMEOUT_MS: Final = 500
# The plan rests for T between the phases, and the scripts for twice as long.
_T_MS: Final = round(1000 * REST_S)
# What follows a phase 1 that is measured itself.
_ONE_FRAME: Final = f"84 1 1 {TIMEOUT_MS} 2 2"
OVER: Final = Phase1(400, 2000, _T_MS)
# The shaper holds none of them back.
SLOWLY: Final = Phase1(400, 350, _T_MS)
MADE, MADE_FPS, MADE_BURST = Phase1(2000, 4000), 1000, 1000

TABLE: Final = 1733
SMALLEST_TABLE, LARGEST_TABLE, TABLE_ERROR = 500, 8000, 50
# The script searches up to the last rate each time: a large error would leave nothing to try after some steps.
TABLE_FPS, TABLE_FPS_ERROR = 4000, 250


@dataclass(frozen=True)
class Replay:
    """A script and a plan for one gateway.

    `known` has the bounds of each figure, between which a correct way finds it. `tolerance` is how far apart two ways
    may be that are right, in the unit of the figures.
    """

    script: str
    driver: str
    asked: Import
    limit: Limit
    by_script: Callable[[Bed], Figures]
    by_plan: Callable[[RepetitionRecord], Figures]
    known: Mapping[str, tuple[float, float]]
    tolerance: float
    bed: Mapping[str, Any] = field(default_factory=dict)
    masquerades: bool = False

    @contextmanager
    def standing(self, folder: Path, ledger: Path | None) -> Iterator[TwoWays]:
        """Keeps the gateway standing, as an entry of the ledger in that folder, or of this machine's."""
        stateful = bool(self.limit.clear)
        with standing(
            folder, ledger, self.asked, self.driver, self.limit, stateful=stateful, masquerades=self.masquerades
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
        return self.compared([each for each, _ in found], [each for _, each in found])

    def compared(self, by_script: Sequence[Figures], by_plan: Sequence[Figures]) -> Compared:
        return Compared(self.known, self.tolerance, by_script, by_plan)


def median_deviation(values: Sequence[float]) -> float:
    """Returns the median of the distances from the median, which a single wild value does not change."""
    middle = median(values)
    return median(abs(each - middle) for each in values)


class Verdict(Enum):
    AGREE = ""
    DIFFER = "differs"
    TOO_FEW_ROUNDS = "too few rounds"
    ONE_ROUND = "one round"


@dataclass(frozen=True)
class Compared:
    known: Mapping[str, tuple[float, float]]
    tolerance: float
    by_script: Sequence[Figures]
    by_plan: Sequence[Figures]

    def with_rounds(self, others: Compared) -> Compared:
        by_script, by_plan = [*self.by_script, *others.by_script], [*self.by_plan, *others.by_plan]
        return replace(self, by_script=by_script, by_plan=by_plan)

    def values(self, name: str) -> tuple[list[float], list[float]]:
        """Returns what each way found. A scan by plan that ended too early has no value of the rates below."""
        script, plan = ([each[name] for each in way if name in each] for way in (self.by_script, self.by_plan))
        return script, plan

    def verdict(self, name: str) -> Verdict:
        """Judges a figure by the medians of the ways.

        They must be within the known bounds, and no farther apart than the tolerance and what the rounds of both ways
        scatter together. Without bounds only this tells what a machine does to a figure: that takes some rounds. One
        round has no spread: it can show that the ways differ, but not that they agree.
        """
        both, (low, high) = self.values(name), self.known[name]
        if not all(both):
            return Verdict.DIFFER
        if math.isinf(high) and min(map(len, both)) < ROUNDS:
            return Verdict.TOO_FEW_ROUNDS
        medians = [median(each) for each in both]
        allowed = self.tolerance + SCATTER * sum(map(median_deviation, both))
        if abs(medians[0] - medians[1]) > allowed or not all(low <= each <= high for each in medians):
            return Verdict.DIFFER
        return Verdict.AGREE if min(map(len, both)) > 1 else Verdict.ONE_ROUND

    def differences(self) -> list[str]:
        """Returns the figures in which the ways differ from each other or from what is known."""
        found = []
        for name, (low, high) in self.known.items():
            if self.verdict(name) is Verdict.DIFFER:
                script, plan = self.values(name)
                known = f"known {low:.4g} to {high:.4g}, tolerance {self.tolerance:g}"
                found.append(f"{name}: by script {script}, by plan {plan}, {known}")
        return found


@dataclass(frozen=True)
class GatewayUnderTest:
    """A gateway with the configuration that fits it.

    `conf` takes changed keys. `sizes`: the smallest frames that leave it, in bytes with FCS, by interface. `lose` is
    how its limits lose frames; `shaped` is False if they cannot delay them. `directions` are those of traffic.
    """

    driver: str
    conf: Callable[..., str]
    sizes: Mapping[str, int]
    lose: str = DROP
    shaped: bool = True
    directions: Sequence[str] = ("Forward", "Reverse")
    clear: Sequence[str] = ()
    masquerades: bool = False

    def conf_of_traffic(self, **changed: str) -> str:
        active = {way: str(int(way in self.directions)) for way in ("Forward", "Reverse")}
        return self.conf(**active, **changed)


def of_router(gateway: GatewayUnderTest) -> Iterator[Replay]:
    """Yields the scripts for a gateway without state."""
    arguments = f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2"
    searched: dict[str, Any] = {
        "driver": gateway.driver, "limit": budget(FRAMES, gateway.sizes, gateway.lose),
        "asked": Import(gateway.conf_of_traffic(), "throughput", arguments, _search(ERROR)),
        "bed": {"directions": gateway.directions},
    } | _RATE  # fmt: skip
    yield Replay("binary-rate-alg.sh", by_script=partial(_rate, scripts.binary_rate), **searched)
    if gateway.shaped:
        yield of_frames_in_time(gateway, ERROR)
    else:
        # Nothing holds a guest's frames back, so that none of them is late.
        yield Replay("binary-rate-alg.sh-pdv", by_script=partial(_rate, _IN_TIME), **searched)
    yield from of_traffic(gateway)


def of_frames_in_time(gateway: GatewayUnderTest, error: int) -> Replay:
    """Returns the script that searches, down to an error, for the rate at which the last frame, a second after the
    first, is held back for fto."""
    known_fps = shaped_fps(SHAPED, FRAME_TIMEOUT_MS / 1000, 1)
    slack_fps = SHAPED * _DELAY_SLACK_MS / 1000
    # Late frames arrive within gto all the same.
    arguments = f"84 {MAXIMUM_IN_TIME} 1 {GTO_MS} 2 2 {FRAME_TIMEOUT_MS}"
    return Replay(
        "binary-rate-alg.sh-pdv", gateway.driver, limit=shaper(SHAPED, gateway.sizes),
        asked=Import(gateway.conf_of_traffic(**_ONE_HOST), "pdv", arguments, _search(error)),
        by_script=partial(_rate, _IN_TIME, maximum=MAXIMUM_IN_TIME, error=error), by_plan=_headline("frames/s"),
        bed={"directions": gateway.directions, "timeout_ms": GTO_MS},
        known={"frames/s": (known_fps - slack_fps - error, known_fps + slack_fps)}, tolerance=error,
    )  # fmt: skip


def of_replies(gateway: GatewayUnderTest) -> Iterator[Replay]:
    """Yields the scripts whose variable `dir` is r, of which a lost frame changes nothing."""
    backwards = replace(gateway, directions=("Reverse",))
    yield from of_traffic(backwards, variant=", dir r")


def of_traffic(
    gateway: GatewayUnderTest, phase1: Phase1 | None = None, variant: str = "", **changed: str
) -> Iterator[Replay]:
    """Yields the scripts that measure at given rates, over the connections of a phase 1 if there is one."""
    bed: dict[str, Any] = {"directions": gateway.directions, "phase1": phase1}
    replay = partial(Replay, driver=gateway.driver, masquerades=gateway.masquerades)
    made = f" {_words(phase1)}" if phase1 else ""

    def cleared(limit: Limit) -> Limit:
        return limit.clearing(*gateway.clear) if phase1 else limit

    arguments = f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2{made}"
    scan = {"procedure": {"step_percent": 10}}
    scanned = Import(gateway.conf_of_traffic(**changed), "frame-loss-rate", arguments, scan)
    yield replay(
        f"frame-loss.sh-scan{variant}", asked=scanned,
        limit=cleared(budget(FRAMES, gateway.sizes, gateway.lose)), bed=bed,
        by_script=_loss_of_script, by_plan=_loss_of_plan, known=_loss_bounds(), tolerance=_STRAY,
    )  # fmt: skip
    conf = gateway.conf_of_traffic(**_ONE_HOST, **changed)
    delayed: dict[str, Any] = {
        "limit": cleared(shaper(SHAPED, gateway.sizes)), "bed": bed | {"timeout_ms": 2000},
        "tolerance": PATIENCE_MS if gateway.shaped else 0,
    }  # fmt: skip
    known = partial(_delays, gateway.directions, gateway.shaped)
    arguments = f"84 {RATE} 2 2000 2 2{made}"
    yield replay(
        f"latency.sh{variant}", asked=Import(conf, "latency", f"{arguments} 1 {RATE}"),
        by_script=_latency_of_script, by_plan=_delays_of_plan, known=known({"TL": 1.5, "WCL": 2.0}), **delayed,
    )  # fmt: skip
    yield replay(
        f"pdv.sh{variant}", asked=Import(conf, "pdv", f"{arguments} 0"),
        by_script=_variation_of_script, by_plan=_delays_of_plan, known=known({"PDV": 2.0}), **delayed,
    )  # fmt: skip


def of_nat(gateway: GatewayUnderTest) -> Iterator[Replay]:
    """Yields the scripts for a gateway with state, whose own table `clear` empties."""
    replay = partial(Replay, driver=gateway.driver, masquerades=gateway.masquerades)
    every_tuple = gateway.conf_of_traffic(**_EVERY_TUPLE)
    arguments = f"84 {MAXIMUM} 1 {TIMEOUT_MS} 2 2 {_words(OVER)}"
    over = Import(every_tuple, "throughput", arguments, _search(ERROR))
    yield replay(
        "binary-rate-alg.sh-sf", asked=over, limit=budget(FRAMES, gateway.sizes, gateway.lose).clearing(*gateway.clear),
        by_script=partial(_rate, partial(scripts.binary_rate_stateful, phase1=OVER)),
        bed={"directions": gateway.directions}, **_RATE,
    )  # fmt: skip
    yield of_new_connections(gateway, ERROR)
    capacity = {"max_connections": LARGEST_TABLE, "error": TABLE_ERROR}
    fields = {"procedure": capacity, "alpha": 0.5, **_search(TABLE_FPS_ERROR)}
    smallest = _words(Phase1(SMALLEST_TABLE, TABLE_FPS))
    yield replay(
        "cttc.sh", asked=Import(gateway.conf(), "table-capacity", f"{_ONE_FRAME} {smallest}", fields),
        limit=table(TABLE, gateway.lose).clearing(*gateway.clear),
        by_script=_capacity_of_script, by_plan=_headline("connections"),
        known={"connections": (TABLE - TABLE_ERROR, TABLE)}, tolerance=TABLE_ERROR,
    )  # fmt: skip
    both = replace(gateway, directions=("Forward", "Reverse"))
    yield from of_traffic(both, SLOWLY, **_EVERY_TUPLE)


def of_new_connections(gateway: GatewayUnderTest, error: int) -> Replay:
    """Returns the script that searches for the rate of new connections, down to an error."""
    late = MADE_FPS * PATIENCE_MS // 1000
    least, most = (bucket_fps(MADE.frames, MADE_FPS, MADE_BURST + each) for each in (-late, late))
    return Replay(
        "binary-rate-alg.sh-R", gateway.driver, masquerades=gateway.masquerades,
        asked=Import(gateway.conf(), "connection-rate", f"{_ONE_FRAME} {_words(MADE)}", _search(error)),
        limit=bucket(MADE_FPS, MADE_BURST, gateway.lose).clearing(*gateway.clear),
        by_script=partial(_connection_rate, error), by_plan=_headline("connections/s"),
        known={"connections/s": (least - error, most)}, tolerance=error,
    )  # fmt: skip


def _search(error: int) -> dict[str, Any]:
    return {"search": {"kind": "binary", "error": error}}


def _words(phase1: Phase1) -> str:
    return " ".join(map(str, phase1.words()))


def _rate(search: Callable[..., scripts.Search], bed: Bed, maximum: int = MAXIMUM, error: int = ERROR) -> Figures:
    return {"frames/s": search(bed, maximum, error).best}


def _headline(name: str) -> Callable[[RepetitionRecord], Figures]:
    def found(repetition: RepetitionRecord) -> Figures:
        assert repetition.value is not None, repetition.reason
        return {name: repetition.value}

    return found


def _lost_at(rate_fps: int) -> str:
    return f"% lost at {rate_fps}/s"


def _share(received: float, sent: float) -> float:
    return 100 * (1 - received / sent)


def _loss_bounds() -> dict[str, tuple[float, float]]:
    shares = {rate: max(0.0, _share(FRAMES, rate)) for rate in SCANNED}
    return {_lost_at(rate): (max(0.0, share - _STRAY), share + _STRAY) for rate, share in shares.items()}


def _loss_of_script(bed: Bed) -> Figures:
    received = scripts.frame_loss(bed, SCANNED)
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


def _delays_of_plan(repetition: RepetitionRecord) -> Figures:
    found = {}
    for key, value_ns in repetition.figures.items():
        name, _, way = key.partition("_")
        if name in {"tl", "wcl", "pdv"} and way in {"forward", "reverse"} and value_ns is not None:
            found[f"{way.capitalize()} {name.upper()}, ms"] = value_ns / 1e6
    return found


def _delays(directions: Sequence[str], shaped: bool, after_s: Mapping[str, float]) -> dict[str, tuple[float, float]]:
    """Returns the bounds of delays, in each direction, of frames that are sent so long after the first."""
    bounds: dict[str, tuple[float, float]] = {}
    for way, (name, seconds) in product(directions, after_s.items()):
        delay_ms = 1000 * shaped_delay_s(SHAPED, RATE, seconds)
        within = (delay_ms - _DELAY_SLACK_MS, delay_ms + _DELAY_SLACK_MS) if shaped else (0, math.inf)
        bounds[f"{way} {name}, ms"] = within
    return bounds


def _connection_rate(error: int, bed: Bed) -> Figures:
    return {"connections/s": scripts.binary_connection_rate(bed, MADE.rate_fps, error, MADE).best}


def _capacity_of_script(bed: Bed) -> Figures:
    found = scripts.table_capacity(
        bed, initial=SMALLEST_TABLE, maximum=TABLE_FPS, error=TABLE_FPS_ERROR, last=TABLE_ERROR, most=LARGEST_TABLE,
        clear=lambda: None,
    )  # fmt: skip
    return {"connections": found.capacity}


_IN_TIME: Final = partial(scripts.binary_rate_in_time, frame_timeout_ms=FRAME_TIMEOUT_MS)
_RATE: Final[dict[str, Any]] = {
    "by_plan": _headline("frames/s"), "known": {"frames/s": (FRAMES - ERROR, FRAMES)}, "tolerance": ERROR,
}  # fmt: skip

_IPV4: Final = dict.fromkeys(INTERFACES, 64)
_IPV6_ON_THE_LEFT: Final = {INTERFACES[0]: 84, INTERFACES[1]: 64}

# Tayga 0.9.2 and Jool 4.1.9 spoil the checksum of one in 65,536 frames from IPv4 to IPv6.
_FORWARD: Final = ("Forward",)
# A guest's frames pass no shaper, and its table cannot be emptied from here: connections that it knows count as new
# ones against the limits.
_IN_GUEST: Final[dict[str, Any]] = {"lose": SPOIL, "shaped": False, "directions": _FORWARD, "clear": ("true",)}

LINUX: Final = GatewayUnderTest("linux-forward", ROUTER, _IPV4)
NFTABLES: Final = GatewayUnderTest("nftables", NAT44, _IPV4, clear=("conntrack", "-F"), masquerades=True)
_TAYGA: Final = GatewayUnderTest("tayga", SIIT, _IPV6_ON_THE_LEFT, directions=_FORWARD)
_TAYGA_NETFILTER: Final = GatewayUnderTest(
    "tayga-netfilter", _OWN_PREFIX, _IPV6_ON_THE_LEFT, directions=_FORWARD, clear=NFTABLES.clear
)
_JOOL_SIIT: Final = GatewayUnderTest("jool-siit", SIIT, _IPV6_ON_THE_LEFT, **_IN_GUEST)

REPLAYS: Final = [
    *of_router(LINUX),
    *of_nat(NFTABLES),
    *of_router(_TAYGA),
    *of_replies(_TAYGA),
    *of_nat(_TAYGA_NETFILTER),
    *of_router(_JOOL_SIIT),
    *of_replies(_JOOL_SIIT),
    *of_nat(GatewayUnderTest("jool", NAT64, _IPV6_ON_THE_LEFT, **_IN_GUEST)),
]
