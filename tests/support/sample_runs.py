# SPDX-License-Identifier: Apache-2.0
"""Makes run folders without measuring: every state that a report shows, and texts that try to inject HTML into it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from natxy.engine.messages.common import Side, StreamRole
from natxy.engine.messages.results import Cause, Pacing, PortResult, StreamResult, TrialResult, Verdict
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.model.terms import CellValue
from natxy.plan.model.timing import LAB_TIMING
from natxy.plan.model.traffic import Orders
from natxy.plan.model.units import Unit
from natxy.plan.procedures import DECLARATIONS
from natxy.results import RESULTS_FILE
from natxy.results.curves import Axis, Curve
from natxy.results.dut_load import CoreLoad, DutLoad, InterfaceLoad
from natxy.results.planned import planned_experiment, settings_of
from natxy.results.records import ExperimentRecord, RunState, State
from natxy.results.store import RunStore, timestamp
from natxy.results.trials import Purpose, TrialKind, TrialRecord

TRIAL_S = 4.5
HOSTILE = "<script>alert('natxy')</script> & \"quoted\" [bold]x[/bold]"


@dataclass(frozen=True)
class Sought:
    """Holds a gateway's limit in the experiment's unit, None without one. The steps in `invalid` are invalid once."""

    truth: float | None
    invalid: frozenset[int] = frozenset()


def settings(**overrides: Any) -> dict[str, Any]:
    """Returns a resolved experiment as a run stores it."""
    host_left, host_right = "198.18.0.2", "198.19.0.2"
    resolved: dict[str, Any] = {
        "name": "x",
        "title": "x",
        "procedure": "throughput",
        "family": "ipv4",
        "gateway": {"driver": "linux-forward"},
        "frame_size": 64,
        "size_convention": "paired",
        "ttl": 64,
        "dont_fragment": False,
        "directions": "bidirectional",
        "addresses": {
            "preset": "single",
            "left": _link(18),
            "right": _link(19),
            "left_hosts": {"first": host_left, "last": host_left, "low_bit": 0},
            "right_hosts": {"first": host_right, "last": host_right, "low_bit": 0},
        },
        "ports": {"source": {"min": 1024, "max": 65535}, "destination": {"min": 1, "max": 49151}},
        "orders": Orders().model_dump(mode="json", exclude_none=True),
        "connections": None,
        "phase1_rate": None,
        "alpha": None,
        "search": {"kind": "binary", "min_rate": 10e3, "max_rate": 400e3, "error": "2%"},
        "baseline": None,
        "repeat": 3,
        "max_invalid": 3,
        "timing": LAB_TIMING.model_dump(mode="json") | {"trial": TRIAL_S},
    }
    given = resolved | overrides
    procedure = given["procedure"]
    if "directions" not in DECLARATIONS[procedure if isinstance(procedure, str) else procedure["name"]].takes:
        del given["directions"]
    return {field: given[field] for field in Experiment.model_fields if given.get(field) is not None}


def replanned(experiment: ExperimentRecord, **settings: Any) -> ExperimentRecord:
    """Returns the record as if these settings had been planned."""
    return replace(experiment, planned=planned_experiment(settings_of(experiment.planned) | settings))


def _link(network: int) -> dict[str, Any]:
    base = f"198.{network}.0"
    return {"dut": f"{base}.1/24", "tester": f"{base}.2/24", "behind": [f"{base}.0/16"]}


def result(rate: float, verdict: Verdict, *, directions: int = 1, reason: str = "", corrupt: int = 0) -> TrialResult:
    """Returns the result of a trial; `corrupt` of the lost frames are corrupt in each direction."""
    frames = int(rate * TRIAL_S)
    seconds = [int(rate)] * int(TRIAL_S)
    lost = 37 if verdict is Verdict.FAIL else 0
    pacing = Pacing(
        median_ns=400, p99_ns=9_000, p999_ns=20_000, max_ns=90_000, overrun_ns=500, max_pause_ns=70_000, refused=0
    )
    streams = [
        StreamResult(
            name=side.direction, source=side, role=StreamRole.FOREGROUND,
            planned=frames, sent=frames, unsent=0, received=frames - lost, lost=lost, duplicate=0,
            reordered=0, corrupt=corrupt, misrouted=0, beyond_window=0, intended_rate_fps=rate, offered_rate_fps=rate,
            pacing=pacing, delay=None, sent_per_second=seconds, received_per_second=seconds,
        )
        for side in [*Side][:directions]
    ]  # fmt: skip
    ports = [
        PortResult(side=side, missed=0, no_buffer=0, kernel_drops=0, foreign={**foreign, "corrupt_test": corrupt})
        for side, foreign in ((Side.LEFT, {"arp": 2}), (Side.RIGHT, {"icmpv6_other": 1, "lldp": 0}))
    ]
    cause = {Verdict.PASS: Cause.LOSSLESS, Verdict.FAIL: Cause.LOSS, Verdict.INVALID: Cause.LATE}[verdict]
    told = {
        Verdict.PASS: "every frame arrived",
        Verdict.FAIL: f"{lost * directions} of {frames * directions} frames were lost",
        Verdict.INVALID: "the last frame left 1.3 ms late, 1 ms is allowed",
    }[verdict]
    return TrialResult(
        run_id=7, verdict=verdict, cause=cause, reason=reason or told, duration_s=TRIAL_S, streams=streams, ports=ports,
        stale=0,
    )  # fmt: skip


def trial(of: TrialResult, *, rate_fps: float = 1e5, **fields: Any) -> TrialRecord:
    """Returns the record of a result: the first attempt at step 1 of a search, by traffic, unless `fields` say
    otherwise."""
    usual: dict[str, Any] = {
        "number": 1, "attempt": 1, "kind": TrialKind.TRAFFIC, "purpose": Purpose.MEASURE, "step_rate": rate_fps,
        "started_at": timestamp(),
    }  # fmt: skip
    return TrialRecord.of(of, rate_fps=rate_fps, **usual | fields)


def dut_load(frames_per_s: float) -> DutLoad:
    """Returns the load of a DUT with two cores, one of which takes 2 µs for each frame."""
    busy_s = min(1.0, frames_per_s * 2e-6) * TRIAL_S
    frames = int(frames_per_s * TRIAL_S)
    idle = CoreLoad(core=0, busy_s=0.01, user_s=0.01, system_s=0, softirq_s=0, irq_s=0, steal_s=0, idle_s=TRIAL_S)
    working = CoreLoad(
        core=1, busy_s=busy_s, user_s=0, system_s=0.1 * busy_s, softirq_s=0.8 * busy_s, irq_s=0.1 * busy_s, steal_s=0,
        idle_s=TRIAL_S - busy_s, frames=frames, dropped=7 if busy_s == TRIAL_S else 0, squeezed=1,
    )  # fmt: skip
    lost = {"rx_missed_errors": 3} if busy_s == TRIAL_S else {}
    return DutLoad(
        elapsed_s=TRIAL_S, cores=(idle, working), interrupts=frames // 60, memory_used_bytes=10**9,
        memory_bytes=4 * 10**9, interfaces=(InterfaceLoad(name="dut-left", received=frames, sent=0, lost=lost),),
    )  # fmt: skip


class SampleRun:
    """Writes a run folder step by step, like a real run. With `loads`, every trial of a search has the DUT's load."""

    def __init__(
        self, folder: Path, *, name: str = "quickstart", caveats: list[Caveat] | None = None, in_blocks: bool = False,
        loads: bool = False,
    ) -> None:  # fmt: skip
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.loads = loads
        self.store = RunStore(folder / RESULTS_FILE)
        self.store.start_run(
            name=name,
            plan_yaml=f"name: {name}\nseed: 18446744073709551615\norder: {'blocks' if in_blocks else 'experiments'}\n",
            seed=2**64 - 1,
            natxy_version="0.1.0",
            machine={"kernel": "6.1.0-18-amd64", "processor": "Virtual CPU @ 2.60GHz", "cores": "2"},
        )
        self.store.describe_tester(
            engine={"name": "natxy-engine", "version": "0.1.0", "dpdk": "DPDK 22.11.11", "worker_cores": [0]},
            testbed={"kind": "lab", "tester core": "0", "gateway core": "1", "I/O driver": "net_af_xdp"},
            caveats=[departure("The traffic of a trial lasts 4.5 s; RFC 2544 §24 asks for at least 60 s.")]
            if caveats is None
            else caveats,
        )

    def experiment(
        self, name: str, sought: Sought, *, title: str, gateway: str = "linux-forward", repeat: int = 3,
        table_size: int = 262144, cell: Mapping[str, CellValue] | None = None,
        variant: Mapping[str, Any] | None = None, **over: Any,
    ) -> int:  # fmt: skip
        """Adds a finished experiment of `repeat` binary searches. `variant` holds settings of the gateway."""
        user_mode = (variant or {}).get("kernel") == "user-mode"
        number = self.declare(name, title=title, gateway=gateway, repeat=repeat, cell=cell, variant=variant, **over)
        self.store.set_experiment_state(number, State.RUNNING)
        self.store.set_duts(
            number,
            [
                {
                    "name": gateway,
                    "version": "nftables v1.0.6, Linux 6.1.0-18-amd64",
                    "settings": {
                        "kernel": "user-mode Linux 6.1.119, one virtual CPU" if user_mode else "Linux 6.1.0-18-amd64",
                        "net.netfilter.nf_conntrack_max": str(table_size),
                        "net.netfilter.nf_conntrack_buckets": str(table_size),
                    },
                    "configuration": f"table ip natxy {{\n  # {gateway}\n}}\n",
                }
            ],
        )
        for repetition in range(1, repeat + 1):
            self._search(number, repetition, sought, over)
        self.store.set_experiment_state(number, State.DONE)
        return number

    def declare(
        self, name: str, *, title: str, gateway: str = "linux-forward", repeat: int = 3,
        cell: Mapping[str, CellValue] | None = None, variant: Mapping[str, Any] | None = None, **over: Any,
    ) -> int:  # fmt: skip
        stored = settings(name=name, title=title, repeat=repeat, gateway={"driver": gateway, **(variant or {})}, **over)
        swept = {"sweep": name.partition("/")[0], "cell": cell} if cell else {}
        return self.store.add_experiment(planned_experiment(stored | swept))

    def give_up(self, experiment: int, rate: float, reason: str) -> None:
        """Adds an experiment that reached the tester's limit in its first step."""
        row = self.store.start_repetition(experiment, 1)
        for attempt in (1, 2, 3):
            self._trial(row, 1, attempt, TrialKind.TRAFFIC, rate, rate, Verdict.INVALID, 2)
        self.store.finish_repetition(row, State.TESTER_LIMIT, reason=reason)
        self.store.set_experiment_state(experiment, State.TESTER_LIMIT, reason)

    def end(self, state: RunState = RunState.DONE) -> Path:
        self.store.finish_run(state)
        self.store.close()
        return self.folder

    def _search(self, experiment: int, repetition: int, sought: Sought, over: dict[str, Any]) -> None:
        stored = settings(**over)
        throughput = stored["procedure"] == "throughput"
        row = self.store.start_repetition(experiment, repetition)
        low, high, tried = 0.0, None, stored["search"]["max_rate"]
        truth = None if sought.truth is None else sought.truth * (1 + 0.01 * (repetition - 2))
        for step in range(1, 9):
            verdict = Verdict.PASS if truth is None or tried <= truth else Verdict.FAIL
            if "phase1_rate" in stored:
                self._trial(row, step, 1, TrialKind.PHASE1, tried, stored["phase1_rate"]["rate"], Verdict.PASS)
            kind = TrialKind.TRAFFIC if throughput else TrialKind.PHASE1
            directions = 2 if throughput else 1
            attempt = 1
            if step in sought.invalid:
                self._trial(row, step, 1, kind, tried, tried, Verdict.INVALID, directions)
                attempt = 2
            self._trial(row, step, attempt, kind, tried, tried, verdict, directions)
            if verdict is Verdict.PASS:
                low = tried
            else:
                high = tried
            if high is None:
                break
            tried = (low + high) / 2
        # A search without a passing rate ends at its lowest rate.
        upper = high if low else 10e3
        self.store.finish_repetition(row, State.DONE, value=low, lower_bound=low or None, upper_bound=upper)

    def _trial(
        self, row: int, step: int, attempt: int, kind: TrialKind, step_rate: float, rate: float, verdict: Verdict,
        directions: int = 1,
    ) -> None:  # fmt: skip
        told = result(rate, verdict, directions=directions)
        load = dut_load(rate * directions) if self.loads else None
        place = {"number": step, "attempt": attempt, "kind": kind, "step_rate": step_rate}
        self.store.add_trial(row, trial(told, rate_fps=rate, dut_load=load, **place))


def measured_rates(
    run: SampleRun, name: str, rates: Sequence[float], bracket: float = 0.0, **over: Any
) -> None:  # fmt: skip
    """Adds a throughput experiment with a repetition for each rate, whose search ended with a bracket of this width."""
    number = run.declare(name, title=name, repeat=len(rates), **over)
    run.store.set_experiment_state(number, State.RUNNING)
    for repetition, rate in enumerate(rates, 1):
        row = run.store.start_repetition(number, repetition)
        run.store.finish_repetition(
            row, State.DONE, value=rate, lower_bound=rate, upper_bound=rate + bracket, figures={"rate": rate}
        )
    run.store.set_experiment_state(number, State.DONE)


def measured_latency(
    run: SampleRun, name: str, typical_ns: float, *, title: str, lost: Sequence[int] = (0, 0, 0), **over: Any
) -> None:
    """Adds a latency experiment: figures and a curve for each direction, in three repetitions.

    `lost` has the tagged frames that were lost forward, for each repetition.
    """
    procedure = {"name": "latency", "tagged_frames": 500}
    number = run.declare(name, title=title, procedure=procedure, rate={"rate": 100e3}, search=None, **over)
    run.store.set_experiment_state(number, State.RUNNING)
    for repetition in (1, 2, 3):
        row = run.store.start_repetition(number, repetition)
        tl = typical_ns + 200.0 * repetition
        points = tuple((float(x), tl * 0.8 + 0.4 * tl * (x / 100) ** 3) for x in range(101))
        axes = Axis("percentile", Unit.PERCENT), Axis("delay", Unit.NS)
        figures = {
            "tl": tl, "wcl": 1.2 * tl, "tl_forward": tl, "tl_reverse": tl - 900, "wcl_forward": 1.2 * tl,
            "wcl_reverse": 1.1 * tl, "lost_tagged_forward": lost[repetition - 1], "lost_tagged_reverse": 0,
        }  # fmt: skip
        run.store.finish_repetition(
            row, State.DONE, value=tl, figures=figures,
            curves=tuple(Curve(f"delay_{way}", f"Delay, {way}", *axes, points) for way in ("forward", "reverse")),
        )  # fmt: skip
    run.store.set_experiment_state(number, State.DONE)


def quickstart(folder: Path) -> Path:
    """Makes the run of the quickstart plan, with one experiment that reached the tester's limit."""
    run = SampleRun(folder)
    nat: dict[str, Any] = {
        "gateway": "nftables",
        "connections": 50_000,
        "ports": {"source": {"min": 10_000, "max": 34_999}, "destination": {"min": 1000, "max": 1001}},
    }
    run.experiment("forward", Sought(231e3, frozenset({4})), title="Linux IPv4 forwarding")
    run.experiment("nat44-rate", Sought(118e3), title="NAT44 connection rate", procedure="connection-rate", **nat)
    run.experiment(
        "nat44-validated", Sought(104e3), title="NAT44 validated connection rate",
        procedure="validated-connection-rate", alpha=0.5, **nat,
    )  # fmt: skip
    run.experiment(
        "nat44", Sought(152e3), title="NAT44 throughput", baseline="forward", phase1_rate={"rate": 50e3}, **nat
    )
    run.experiment("fast", Sought(None), title="A gateway faster than the search")
    limited = run.declare("limited", title="NAT44, many addresses", baseline="forward", **nat)
    run.give_up(limited, 205e3, "3 invalid trials at 205 kfps; lower max_rate")
    return run.end()


def hostile(folder: Path) -> Path:
    """Makes a run whose every free text tries to inject HTML."""
    run = SampleRun(folder, name=HOSTILE, caveats=[departure(HOSTILE)])
    number = run.experiment("hostile", Sought(200e3), title=HOSTILE, gateway=HOSTILE)
    row = run.store.start_repetition(number, 4)
    run.store.add_trial(row, trial(result(1e5, Verdict.INVALID, reason=HOSTILE)))
    run.store.finish_repetition(row, State.FAILED, reason=HOSTILE)
    run.store.set_experiment_state(number, State.FAILED, HOSTILE + "!")
    return run.end(RunState.FAILED)
