# SPDX-License-Identifier: Apache-2.0
"""Counts what each receive queue of the tester got: a card that sends all flows to one leaves the other cores idle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from natxy.engine.messages.common import Side
from natxy.results.records import ExperimentRecord

UNEVEN: Final = 2 / 3
"""Above this share of the frames, the fullest queue has more than chance gives it."""
# Of 100 flows over two queues, chance gives one of them more than 67 in less than one of a thousand runs.
_MANY_FLOWS: Final = 100


@dataclass(frozen=True)
class ReceiveQueues:
    """Holds what the queues of one port received in all trials of an experiment, frames of any kind.

    `flows`: how many flows arrived there at most.
    """

    side: Side
    pair: int
    frames: tuple[int, ...]
    flows: int

    @property
    def total(self) -> int:
        return sum(self.frames)

    @property
    def fullest(self) -> int:
        """The number of the queue that received the most."""
        return self.frames.index(max(self.frames))

    @property
    def uneven(self) -> bool:
        """True when one queue received most of the frames, although they were of many flows."""
        return min(self.flows, self.total) >= _MANY_FLOWS and max(self.frames) > UNEVEN * self.total


def receive_queues(experiment: ExperimentRecord) -> Iterator[ReceiveQueues]:
    """Yields the ports that have several queues and received something."""
    counts: dict[tuple[Side, int], Counter[int]] = {}
    for _, _, trial in experiment.all_trials:
        for port in trial.result.ports:
            counts.setdefault((port.side, port.pair), Counter()).update(dict(enumerate(port.received_by_queue)))
    for (side, pair), by_queue in sorted(counts.items()):
        frames = tuple(by_queue[queue] for queue in range(len(by_queue)))
        if len(frames) > 1 and any(frames):
            yield ReceiveQueues(side, pair, frames, _flows_to(side, experiment))


def _flows_to(side: Side, experiment: ExperimentRecord) -> int:
    planned = experiment.planned
    space = planned.flow_space_size if side == Side.RIGHT else planned.reverse_flow_space_size
    return planned.connections or planned.flows or space
