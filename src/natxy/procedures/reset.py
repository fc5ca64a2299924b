# SPDX-License-Identifier: Apache-2.0
"""Reset (RFC 6201): how long a reset of the DUT interrupts steady traffic, for each direction.

By lost frames, the time is their number divided by the offered rate. By time stamps, it is the longest time between
two frames that arrived. The trial fails if the reset loses frames. Neither method gives a time for a gateway that does
not recover, or that loses its connections.

What the reset runs on the gateway's core cannot be told from a disturbance. So absences of that core are recorded, and
none makes the trial a disturbed one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final

from natxy.dut.base import Gateway
from natxy.dut.transport.base import Transport
from natxy.dut.transport.boot import boot_id, has_booted_since
from natxy.dut.transport.secrets import Secrets
from natxy.dut.transport.ssh import UnreachableError
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, StreamResult, TrialResult
from natxy.plan.caveats import Caveat, departure
from natxy.plan.experiment import Experiment
from natxy.plan.frames.mix import sizes_text
from natxy.plan.model.units import format_duration
from natxy.plan.procedures.reset import ResetConfig
from natxy.procedures.common.around import to_the_end
from natxy.procedures.common.base import Procedure, ProcedureResult, no_result
from natxy.procedures.common.in_traffic import InTraffic
from natxy.procedures.common.rates import off_throughput
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.steps import valid_step
from natxy.procedures.common.streams import traffic_request
from natxy.procedures.common.traffic import by_direction, highest, of_each_direction
from natxy.search.outcome import Attempt

# The two methods differ by one frame time, and changing delays add a few.
NEARLY_SAME_FRAMES: Final = 5

_NO_LOSS: Final = "no frame was lost: the reset did not interrupt forwarding"


class Reset(Procedure[ResetConfig]):
    def measure(self, repetition: Repetition) -> ProcedureResult:
        assert repetition.rate is not None
        watch = repetition.watch.that_only_records() if repetition.watch else None
        recording = replace(repetition, watch=watch, asks_alive=False)
        resets: list[_Reset] = []

        def step(attempt: Attempt) -> TrialResult | None:
            resets.append(_Reset(recording, self.config, attempt.rate))
            return resets[-1].step(attempt)

        result = valid_step(recording, 1, repetition.rate, step)
        # Background frames may be too few for an accurate time.
        lost = of_each_direction(result.streams, lambda stream: stream.lost / stream.intended_rate_fps)
        stamped = of_each_direction(result.streams, _silence_s)
        if not_back := _not_back(result.streams):
            return no_result(self.config, not_back)
        remark = _apart(result.streams) if any(stream.lost for stream in result.streams) else _NO_LOSS
        return ProcedureResult(
            figures={"loss": highest(lost), "timestamps": highest(stamped)}
            | by_direction("loss", lost)
            | by_direction("timestamps", stamped),
            remark="; ".join(filter(None, (resets[-1].remark(), remark))),
        )

    def caveats(self, experiment: Experiment) -> list[Caveat]:
        found = off_throughput(experiment, "Reset is measured at", "RFC 6201")
        smallest = experiment.smallest_frame
        if experiment.frame_size > smallest:
            sizes = sizes_text(experiment.frame_sizes)
            text = f"Reset is measured with frames of {sizes}; RFC 6201 asks for the smallest"
            found.append(departure(f"{text}, here {smallest} bytes."))
        return found


@dataclass
class _Reset(InTraffic[ResetConfig]):
    """Resets the DUT once, during its traffic.

    `back_after_s`: how long after the reset a DUT that it booted was set up again; None without a boot.
    """

    back_after_s: float | None = None

    what: ClassVar[str] = "reset"

    def remark(self) -> str:
        if self.back_after_s is None:
            return ""
        took = format_duration(self.back_after_s)
        return (
            f"the DUT booted, and natxy set its gateway up again {took} after the reset: the times have that part too"
        )

    def request(self, seed: int) -> TrialRequest:
        request = traffic_request(self.repetition.experiment, self.rate_fps, seed)
        # The links of a machine that is reset go down with it.
        limits = request.limits.model_copy(update={"link_may_fall": True})
        return request.model_copy(update={"limits": limits})

    def act(self, gateway: Gateway[Any], progress: Progress) -> None:
        own = gateway if self.config.gateway_number is None else gateway.hops[self.config.gateway_number - 1]
        if self.config.command is None:
            own.restart()
        elif self.config.kind.may_boot and self.repetition.set_up_again:
            self._boot(own.transport, self.repetition.set_up_again)
        else:
            self._run_command(own.transport)

    def _boot(self, transport: Transport, set_up_again: Callable[[], None]) -> None:
        """Resets a machine. If it boots while there is traffic, its gateway is set up again."""
        before, begun = boot_id(transport), time.monotonic()
        # The connection may end before the command does.
        with suppress(UnreachableError):
            self._run_command(transport)
        if has_booted_since(before, lambda: boot_id(transport), self.ends_at - time.monotonic()):
            set_up_again()
            self.back_after_s = time.monotonic() - begun

    def _run_command(self, transport: Transport) -> None:
        assert self.config.command
        Secrets().run(transport, self.config.command, timeout_s=self.config.command_timeout)


def _not_back(streams: Iterable[StreamResult]) -> str:
    """Returns why the reset has no measurable duration, or an empty text."""
    if misrouted := sum(stream.misrouted for stream in streams):
        text = f"{misrouted:,} frames came through with other four-tuples than before"
        return f"{text}: the gateway came back without its connections"
    losing = [stream for stream in streams if stream.lost]
    if to_the_end := [stream.name for stream in losing if _loses_to_the_end(stream)]:
        text = f"frames are lost to the end, {', '.join(to_the_end)}: raise `recovery`"
        return f"{text}, unless the gateway came back without its connections"
    return ""


def _loses_to_the_end(stream: StreamResult) -> bool:
    return stream.last_lost is not None and to_the_end(stream, stream.last_lost.sequence)


def _apart(streams: Iterable[StreamResult]) -> str:
    """Returns a remark on the streams for which the two methods give different times, or an empty text."""
    apart = []
    for stream in streams:
        lost_s, stamped_s = stream.lost / stream.intended_rate_fps, _silence_s(stream) or 0.0
        if abs(lost_s - stamped_s) * stream.intended_rate_fps > NEARLY_SAME_FRAMES:
            times = f"{format_duration(lost_s)} by lost frames, {format_duration(stamped_s)} by time stamps"
            apart.append(f"{stream.name}: {times}")
    return f"the methods differ, {'; '.join(apart)}: not all was lost, or kept, in one outage" if apart else ""


def _silence_s(stream: StreamResult) -> float | None:
    """Returns the longest time between two frames that arrived; None if unknown."""
    if not stream.lost:
        return 0.0
    return stream.longest_silence.duration_s if stream.longest_silence else None
