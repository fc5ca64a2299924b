# SPDX-License-Identifier: Apache-2.0
"""Finds out whether an end of a softwire checks that outer addresses belong to the inner ones (RFC 7596 §6.2, RFC 7597
§8.1), and the core of MAP-T that ports belong to addresses (RFC 7599 §8): the tester, as the other end, sends a few
frames with a neighbour's address."""

from __future__ import annotations

from dataclasses import dataclass

from natxy.engine.interface import Engine
from natxy.engine.messages.common import Side
from natxy.plan.caveats import Caveat, limitation
from natxy.plan.experiment import Experiment
from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.traffic import Directions
from natxy.probe.frames import FRAMES, PROBE_FPS, SEED, probe_of
from natxy.procedures.common.spoofing import passed_through, played_side, spoofed
from natxy.procedures.common.streams import establish_request, traffic_request


@dataclass(frozen=True)
class Binding:
    """Holds how many frames with a neighbour's address were sent to an end of a softwire or of MAP-T, and how many
    passed."""

    title: str
    at_core: bool
    mapped: bool
    sent: int
    passed: int

    @property
    def facts(self) -> dict[str, str]:
        """The answer for the report, whatever it is."""
        who = "another subscriber's address" if self.at_core else "another core's address"
        return {"binding": f"{self.sent - self.passed} of {self.sent} probe packets with {who} were dropped"}

    @property
    def caveats(self) -> list[Caveat]:
        """A limit of the results if the end takes packets that are not its own; nothing if it drops them."""
        if not self.passed:
            return []
        number = f"{self.passed} of {self.sent} probe packets"
        if self.mapped:
            what = (
                f"The core translates packets whose port does not belong to their address ({number}); RFC "
                "7599 §8 asks for a check of each packet"
            )
        elif self.at_core:
            what = (
                f"The core takes packets with another subscriber's address out of their softwire ({number}); RFC 7596 "
                "§6.2 and RFC 7597 §8.1 ask for a check of each packet"
            )
        else:
            what = f"The edge takes packets of another end than its core out of their softwire ({number})"
        return [limitation(f"{self.title}: {what}, so that a gateway which checks has more to do.")]


def binding_of(engine: Engine, experiment: Experiment) -> Binding | None:
    """Finds out what the end of a softwire, or the core of MAP-T, does with packets of others; None if the tester can
    send it none, and for a model, whose settings say it."""
    if not experiment.can_spoof or experiment.gateway.in_virtual_time:
        return None
    if isinstance(experiment.subscribers, HomesPlan):
        # Each of them may have the address.
        return None
    at_core = played_side(experiment) == Side.LEFT
    mapped = experiment.map_domain is not None
    return Binding(experiment.title, at_core, mapped, *send_spoofed(engine, experiment))


def send_spoofed(engine: Engine, experiment: Experiment) -> tuple[int, int]:
    """Sends frames with a neighbour's address from the end that the tester plays, which has to be one. Returns how many
    frames were sent, and how many passed."""
    # An end is asked whatever way the traffic goes.
    probe = probe_of(experiment).model_copy(update={"directions": Directions.BIDIRECTIONAL})
    side = played_side(experiment)
    if probe.connections:
        request = establish_request(probe, PROBE_FPS, SEED)
        if side == Side.RIGHT:
            # Replies are those of connections, which only a probed path has made before.
            engine.run_trial(request)
    if not probe.connections or side == Side.RIGHT:
        request = traffic_request(probe, PROBE_FPS, SEED, frames=FRAMES)
    streams = [spoofed(stream) for stream in request.streams if stream.source == side]
    result = engine.run_trial(request.model_copy(update={"streams": streams}))
    found = [*result.streams, *result.spoofed]
    return sum(stream.sent for stream in found), sum(map(passed_through, found))
