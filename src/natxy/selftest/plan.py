# SPDX-License-Identifier: Apache-2.0
"""Makes the plan of a self-test: searches for the tester's highest rates with its ports joined to each other.

A flood, which offers the tester more than it can send, gives the upper end of the searches.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from natxy.engine.client import EngineClient
from natxy.errors import DutError, PlanError
from natxy.plan.frames.sizes import SMALLEST_FRAME
from natxy.plan.model.repeat import RunOrder
from natxy.plan.model.terms import Family
from natxy.plan.model.traffic import Directions
from natxy.plan.procedures.dns64_rate import TIMEOUT_S
from natxy.plan.resolve import resolve
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.testbeds import TestbedConfig
from natxy.plan.testbeds.loop import LoopConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import traffic_request
from natxy.run.setup import Setups
from natxy.selftest.defaults import FRAME_SIZES, REPEAT, TRIAL_S

PACING_RATES_FPS: Final = (10_000, 100_000, 1_000_000)
PACING_S: Final = 1.0
ERROR: Final = "5%"
MIN_RATE_FPS: Final = 1000
FEWEST_CONNECTIONS: Final = 100_000
PHASE1_PERCENT: Final = 50
"""Rate of phase 1 before traffic over connections, as a percentage of the rate that the tester can do."""
QUERIES_S: Final = 1.0
QUERY_TIMEOUT_S: Final = TIMEOUT_S / 4
"""Time within which the tester has to answer its own queries, in a trial that is longer (RFC 8219 §9.2.1)."""
# Enough frames to keep any tester busy for some milliseconds, and few enough not to take long.
FLOOD_FRAMES: Final = 500_000
FLOOD_FPS: Final = 200e6
# Upper end of a search, relative to the rate of the flood, which was a short trial.
HEADROOM: Final = 1.25
# The most that one core can send each way, relative to its rate one way.
SHARED: Final = 0.7

_VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "fixed": {"ports": {"source": 49152, "destination": 8080}},
    "ports": {},
    "addresses": {"addresses": "multiple"},
}
_TITLES: Final = {"fixed": "one four-tuple", "ports": "random ports", "addresses": "random addresses and ports"}
_WAYS: Final = {Directions.FORWARD: "one way", Directions.BIDIRECTIONAL: "both ways"}


def loop_of(testbed: TestbedConfig) -> LoopConfig:
    """Returns the same tester without its DUT; raises PlanError when the testbed has no ports on this machine.

    Further pairs of ports are left out: a self-test measures one pair.
    """
    ports = testbed.engine_ports
    if ports is None or ports.medium == "tap":
        raise PlanError(f"a testbed of kind {testbed.kind!r} has no ports to join; give a plan with a lab or hardware")
    return LoopConfig(kind="loop", **{field: value for field, value in vars(ports).items() if field != "further"})


def probe_plan(testbed: LoopConfig) -> ResolvedPlan:
    """Returns a plan with one experiment, whose traffic costs a tester the least."""
    return _plan(testbed, [_rate_search(Family.IPV4, SMALLEST_FRAME[Family.IPV4], "fixed", Directions.FORWARD, 1e9)])


def fastest_fps(probe: ResolvedPlan, engine_log: Path) -> float:
    """Returns the frames per second that arrive when the tester of `probe` is offered more than it can send.

    Raises DutError when none arrives.
    """
    experiment = probe.experiments[0]
    timing = experiment.timing.model_copy(update={"trial": FLOOD_FRAMES / FLOOD_FPS})
    with Setups(probe, engine_log) as setups:
        engine = setups.provide(experiment).tester
        assert isinstance(engine, EngineClient)
        request = traffic_request(experiment.model_copy(update={"timing": timing}), FLOOD_FPS, probe.seed)
        result = engine.run_trial(request)
    stream = result.streams[0]
    if stream.received == 0:
        raise DutError(
            f"of {stream.sent:,} frames that left the left port none arrived at the right one ({result.reason}): join "
            "the two ports by a cable, with nothing in between"
        )
    return stream.received / result.duration_s


def selftest_plan(
    testbed: LoopConfig,
    fastest_fps: float,
    *,
    families: Sequence[Family] = tuple(Family),
    frame_sizes: Sequence[int] = FRAME_SIZES,
    repeat: int = REPEAT,
    trial_s: float = TRIAL_S,
    connections: int | None = None,
) -> ResolvedPlan:
    """Returns searches with every variant of the smallest frame, and with the costliest variant of each frame size.

    Searches over `connections`, unless these are 0, have the costliest variant of the smallest frame. By default they
    are so many that making them takes as long as a trial. With IPv6, the tester also answers its own queries, as the
    authority that a DNS64 server asks. `fastest_fps`: the rate one way of a tester that was offered
    more than it can send.
    """
    if connections is None:
        connections = max(FEWEST_CONNECTIONS, round(fastest_fps * trial_s))
    one_core = testbed.engine_ports.workers == 1
    most = {
        Directions.FORWARD: fastest_fps * HEADROOM,
        Directions.BIDIRECTIONAL: fastest_fps * HEADROOM * (SHARED if one_core else 1),
    }
    experiments = list(_experiments(families, frame_sizes, most, connections))
    return _plan(testbed, experiments, repeat=repeat, trial_s=trial_s)


def _experiments(
    families: Sequence[Family], frame_sizes: Sequence[int], most: Mapping[Directions, float], connections: int
) -> Iterator[dict[str, Any]]:
    # Experiments with the same addresses follow each other, so that they share a testbed.
    for family in families:
        smallest = SMALLEST_FRAME[family]
        for variant in ("fixed", "ports"):
            yield from (_rate_search(family, smallest, variant, ways, most[ways]) for ways in _WAYS)
        if family == families[0]:
            within = (rate_fps for rate_fps in PACING_RATES_FPS if rate_fps < most[Directions.FORWARD] / HEADROOM**2)
            yield from (_pacing(family, rate_fps) for rate_fps in within)
        for size in (smallest, *(size for size in frame_sizes if size > smallest)):
            yield from (_rate_search(family, size, "addresses", ways, most[ways]) for ways in _WAYS)
        if connections:
            yield from _over_connections(family, smallest, connections, most)
        if family == Family.IPV6:
            yield _queries(most[Directions.FORWARD])


def _over_connections(
    family: Family, size: int, connections: int, most: Mapping[Directions, float]
) -> Iterator[dict[str, Any]]:
    """Yields searches for the rates of phase 1, of phase 1 with its validation, and of phase 2 in each direction."""
    title = f"{family}, {size} bytes, {connections:,} connections"
    phase1 = f"{family}-{size}-phase1"
    own = {"family": family, "frame_size": size, "connections": connections, **_VARIANTS["addresses"]}
    once = own | {"search": _search(most[Directions.FORWARD])}
    yield once | {"name": phase1, "title": f"{title}, phase 1", "procedure": "connection-rate"}
    validated = {"procedure": "validated-connection-rate", "alpha": 1}
    yield once | validated | {"name": f"{family}-{size}-validated", "title": f"{title}, validated"}
    for ways, words in (_WAYS | {Directions.REVERSE: "replies alone"}).items():
        yield own | {
            "name": f"{family}-{size}-phase2-{words.replace(' ', '-')}",
            "title": f"{title}, phase 2, {words}",
            "procedure": "throughput",
            "directions": ways,
            "search": _search(most.get(ways, most[Directions.FORWARD])),
            "phase1_rate": {"experiment": phase1, "percent": PHASE1_PERCENT},
        }


def _queries(max_qps: float) -> dict[str, Any]:
    """Returns the search for the rate at which the tester answers every query of its own, for names that all have an
    IPv6 address, because nothing else would make one of an IPv4 address."""
    return {
        "name": "queries",
        "title": "queries to the authority",
        "procedure": {"name": "dns64-rate", "aaaa_percent": 100, "frame_timeout": QUERY_TIMEOUT_S},
        "family": Family.IPV6,
        "search": _search(max_qps),
        "timing": {"trial": QUERIES_S, "drain": QUERY_TIMEOUT_S},
    }


def _rate_search(family: Family, size: int, variant: str, ways: Directions, max_fps: float) -> dict[str, Any]:
    return {
        "name": f"{family}-{size}-{variant}-{_WAYS[ways].replace(' ', '-')}",
        "title": f"{family}, {size} bytes, {_TITLES[variant]}, {_WAYS[ways]}",
        "procedure": "throughput",
        "family": family,
        "frame_size": size,
        "directions": ways,
        "search": _search(max_fps),
        **_VARIANTS[variant],
    }


def _search(max_fps: float) -> dict[str, Any]:
    return {"min_rate": MIN_RATE_FPS, "max_rate": max_fps, "error": ERROR}


def _pacing(family: Family, rate_fps: int) -> dict[str, Any]:
    return {
        "name": f"pacing-{rate_fps}",
        "title": f"pacing at {rate_fps:,} frames/s",
        "procedure": "pdv",
        "family": family,
        "directions": Directions.FORWARD,
        "rate": rate_fps,
        "timing": {"trial": PACING_S},
    }


def _plan(
    testbed: LoopConfig, experiments: list[dict[str, Any]], *, repeat: int = 1, trial_s: float = TRIAL_S
) -> ResolvedPlan:
    plan = {
        "name": "selftest",
        "description": "What the tester can do without a gateway.",
        "repeat": repeat,
        "order": RunOrder.EXPERIMENTS,
        "timing": {"preset": "lab", "trial": trial_s, "drain": 0.02, "settle": 0.005},
        "testbed": testbed,
        "experiments": [{"gateway": "wire", "max_invalid": 2, **experiment} for experiment in experiments],
    }
    return resolve(Plan.model_validate(plan))
