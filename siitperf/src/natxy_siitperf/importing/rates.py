# SPDX-License-Identifier: Apache-2.0
"""Writes the procedure, the rates and the times of a plan from the arguments of siitperf's programs."""

from __future__ import annotations

from math import ceil
from typing import Final

from natxy.api.plans import DEFAULTS
from natxy_siitperf.arguments import LARGEST_RATE_FPS, ArgumentError, Arguments, Phase1, flow_space
from natxy_siitperf.importing.gateway import LIFETIME_S
from natxy_siitperf.importing.source import MOST_CONNECTIONS, VALIDATING, Source
from natxy_siitperf.importing.text import Field, mapping

# Without arguments: a rate that most gateways reach, and siitperf's limit for a search.
_USUAL_RATE_FPS: Final = 50_000
# The lowest rate of a search, if it is not natxy's own.
_LEAST_RATE_FPS: Final = 1000
# More than the drains of a trial take.
_DRAINS_S: Final = 10


def timing_fields(source: Source) -> list[Field]:
    """Returns `timing`, if it is not that of RFC 2544, which is also siitperf's usual one."""
    arguments = source.arguments
    if arguments is None:
        return []
    timing: dict[str, object] = {}
    names = []
    phase1 = arguments.phase1
    if source.phase2 and source.procedure != "latency" and arguments.duration_s != DEFAULTS.timing.trial:
        timing["trial"] = f"{arguments.duration_s} s"
        names.append("dur")
    of_phase1 = phase1 is not None and not source.phase2
    drain_ms = phase1.timeout_ms if phase1 and of_phase1 else arguments.timeout_ms
    if drain_ms != 1000 * DEFAULTS.timing.drain:
        timing["drain"] = f"{drain_ms} ms"
        names.append("T" if of_phase1 else "gto")
    if phase1 and source.phase2 and (pause_ms := _pause_ms(phase1)) != 1000 * DEFAULTS.timing.learning_pause:
        timing["learning_pause"] = f"{pause_ms} ms"
        names.append("D − 1000·N/R − T")
    if phase1 and (source.phase2 or source.procedure in VALIDATING) and phase1.timeout_ms != arguments.timeout_ms:
        source.differences.append(
            f"T is {phase1.timeout_ms} ms and gto {arguments.timeout_ms} ms; the plan's `drain`, "
            f"{'T' if of_phase1 else 'gto'}, follows both phases."
        )
    of = "argument" if len(names) == 1 and names[0].isalpha() else "arguments"
    return [Field("timing", mapping(timing), f"{of} {', '.join(names)}")] if timing else []


def _pause_ms(phase1: Phase1) -> int:
    return phase1.start_of_phase2_ms - 1000 * phase1.frames // phase1.rate_fps - phase1.timeout_ms


def procedure_field(source: Source) -> Field:
    """Returns the procedure with the fields that are from arguments."""
    name, arguments = source.procedure, source.arguments
    settings: dict[str, object] = {}
    names = ""
    if name == "throughput" and arguments and arguments.frame_timeout_ms:
        settings["frame_timeout"], names = f"{arguments.frame_timeout_ms} ms", "argument frame_timeout"
    elif name == "frame-loss-rate":
        settings["maximum_rate"] = arguments.rate_fps if arguments else LARGEST_RATE_FPS
        names = source.argument("rate")
    elif name == "table-capacity":
        largest = flow_space(source.conf, source.first)
        settings["initial_connections"] = source.connections
        settings["max_connections"] = largest if largest < MOST_CONNECTIONS else None
        names = source.argument("N")
    elif name == "latency" and arguments:
        settings, names = _tagging(arguments), "arguments dur, delay, timestamps"
    if not settings:
        return Field("procedure", name)
    return Field("procedure", mapping({"name": name, **settings}), names)


def _tagging(arguments: Arguments) -> dict[str, object]:
    tagging_s = arguments.duration_s - arguments.delay_s
    fields = {
        "tagged_frames": (arguments.timestamps, DEFAULTS.tagged_frames),
        "warm_up": (f"{arguments.delay_s} s", f"{DEFAULTS.timing.trial:g} s"),
        "tagging": (f"{tagging_s} s", f"{DEFAULTS.timing.trial:g} s"),
    }
    return {name: value for name, (value, default) in fields.items() if value != default}


def rate_fields(source: Source) -> list[Field]:
    """Returns `connections`, `phase1_rate`, `rate`, `search` and `alpha`, as far as the procedure takes them."""
    name, arguments = source.procedure, source.arguments
    phase1 = arguments.phase1 if arguments else None
    fields = []
    if source.stateful and name != "table-capacity":
        fields.append(Field("connections", str(source.connections), source.argument("N")))
        if source.draws:
            fields.append(Field("phase1_selection", "random", source.of("Enumerate-ports", "Enumerate-ips")))
        fields += _active(source)
    if source.stateful and (source.phase2 or name == "tear-down-rate"):
        rate, whence = _phase1_rate(source, phase1) if phase1 else (_USUAL_RATE_FPS, source.argument("R"))
        fields.append(Field("phase1_rate", str(rate), whence))
    if name in {"latency", "pdv"}:
        fields.append(Field("rate", str(arguments.rate_fps if arguments else _USUAL_RATE_FPS), source.argument("rate")))
    if name in {"throughput", "connection-rate", "validated-connection-rate", "table-capacity"}:
        of_traffic = name == "throughput"
        highest, whence = LARGEST_RATE_FPS, source.argument("rate" if of_traffic else "R")
        if arguments and of_traffic:
            highest = arguments.rate_fps
        elif phase1:
            highest, whence = _phase1_rate(source, phase1)
        lowest = _lowest_fps(source, highest)
        if arguments and lowest > highest:
            text = f"with {source.most_connections:,} connections a trial takes more than a week"
            of_ports = " by ranges of fewer ports and addresses" if name == "table-capacity" else ""
            raise ArgumentError(
                f"R is {highest} and rate {arguments.rate_fps}: {text}; raise them, or make fewer connections{of_ports}"
            )
        search = {"min_rate": None if lowest == _LEAST_RATE_FPS else lowest, "max_rate": highest}
        fields.append(Field("search", mapping(search), whence))
    if arguments and phase1 and not source.phase2:
        fields += _validation(source, arguments, phase1)
    return fields


def _lowest_fps(source: Source, highest_fps: int) -> int:
    """Returns the lowest rate of a search: natxy's own, or what is below `highest_fps` and outlasted by entries."""
    lowest = 1 if highest_fps <= _LEAST_RATE_FPS else _LEAST_RATE_FPS
    if source.phase2:
        return lowest
    most = source.most_connections
    frames = most * (1 + 1 / _alpha(source)) if source.procedure in VALIDATING else most
    return max(lowest, ceil(frames / (LIFETIME_S - _DRAINS_S)))


def _reaches_all(source: Source) -> bool:
    """Returns whether phase 2 may use each connection."""
    return source.arguments is None or source.arguments.foreground >= source.connections


def _alpha(source: Source) -> float:
    """Returns the rate of the validation as a share of R: natxy's own, if the arguments have none."""
    arguments = source.arguments
    if arguments is None or arguments.phase1 is None or not _reaches_all(source):
        return DEFAULTS.alpha
    return min(1, arguments.rate_fps / arguments.phase1.rate_fps)


def _validation(source: Source, arguments: Arguments, phase1: Phase1) -> list[Field]:
    """Returns `alpha`, if the procedure has it, and states what else siitperf's phase 2 has."""
    said = source.differences
    if source.procedure not in VALIDATING:
        said.append(f"rate, dur, gto, M and D are of siitperf's phase 2, which {source.procedure} does not have.")
        return []
    said.append(
        f"dur is {arguments.duration_s} s: siitperf sends rate·dur, {arguments.frames}, frames in each active "
        "direction after phase 1, and the plan one reply over each connection."
    )
    if phase1.table < source.connections:
        said.append(
            f"M is {phase1.table}: siitperf replies over the {phase1.table} connections that arrived last, and the "
            "plan over all of them."
        )
    if pause_ms := _pause_ms(phase1):
        said.append(f"D leaves a pause of {pause_ms} ms after T, and the plan validates at once.")
    if not _reaches_all(source):
        said.append(
            f"rate is {arguments.rate_fps}: rate·dur frames do not reach each connection, so that `alpha` is natxy's "
            f"{DEFAULTS.alpha:g}."
        )
        return []
    if arguments.rate_fps > phase1.rate_fps:
        said.append(f"rate is {arguments.rate_fps}, and R {phase1.rate_fps}; the plan replies no faster than R.")
    return [Field("alpha", f"{_alpha(source):.12f}".rstrip("0").rstrip("."), "arguments rate, R: rate/R")]


def _phase1_rate(source: Source, phase1: Phase1) -> tuple[int, str]:
    """Returns the connections per second of phase 1, and where they are from: R also counts background frames."""
    if source.connections == phase1.frames:
        return phase1.rate_fps, "argument R"
    return max(1, round(phase1.rate_fps * source.connections / phase1.frames)), "arguments R, n, m: its foreground"


def _active(source: Source) -> list[Field]:
    """Returns `active_connections`, if not all of them have replies."""
    if not source.phase2:
        return []
    phase1 = source.arguments.phase1 if source.arguments else None
    if phase1 and phase1.table < source.connections and not (source.replies and source.conf.number("Responder-tuples")):
        why = "the replies are of one connection" if source.replies else "there are no replies"
        source.differences.append(f"M is {phase1.table}, and the plan does not have it: {why}.")
    if not source.replies:
        return []
    if not source.conf.number("Responder-tuples"):
        active, whence = 1, source.of("Responder-tuples")
    elif phase1 and phase1.table < source.connections:
        active, whence = phase1.table, "argument M"
        source.differences.append(
            f"M is {active}: siitperf's responder uses the {active} connections that arrived last, and the plan's the "
            "first of phase 1."
        )
    else:
        return []
    return [Field("active_connections", mapping({"reverse": active}), whence)]
