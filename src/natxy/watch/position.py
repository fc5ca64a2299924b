# SPDX-License-Identifier: Apache-2.0
"""Numbers what a run measures, in the order of measuring, which differs from the plan's order if there are blocks."""

from __future__ import annotations

from collections.abc import Sequence

from natxy.events.run import PlannedExperiment


class Position:
    """Holds how far a run is."""

    def __init__(self, experiments: Sequence[PlannedExperiment]) -> None:
        self._numbers = {experiment.name: number for number, experiment in enumerate(experiments, start=1)}
        self._most_blocks = max((experiment.repetitions for experiment in experiments), default=0)
        self._at_most = "at most " if any(experiment.until_precise for experiment in experiments) else ""
        self._finished: set[str] = set()
        self._block = self._block_size = 0
        self._of_block: set[str] = set()

    def block_started(self, number: int, experiments: int) -> None:
        self._block, self._block_size, self._of_block = number, experiments, set()

    def repetition_begun(self, experiment: PlannedExperiment) -> None:
        """Counts a repetition of the block, also one that was measured before the run was resumed."""
        self._of_block.add(experiment.name)

    def experiment_finished(self, experiment: PlannedExperiment) -> None:
        self._finished.add(experiment.name)

    @property
    def block(self) -> str:
        """Returns `2 of 3`, or nothing when the run is not measured in blocks."""
        return f"{self._block} of {self._at_most}{self._most_blocks}" if self._block else ""

    def experiment(self, experiment: PlannedExperiment) -> str:
        """Returns `4 of 8`: in blocks the place in the block, otherwise that in the plan."""
        if self._block:
            return f"{len(self._of_block)} of {self._block_size}"
        return f"{self._numbers[experiment.name]} of {len(self._numbers)}"

    def repetition(self, experiment: PlannedExperiment, number: int) -> str:
        """Returns `2 of 20`."""
        return f"{number} of {'at most ' if experiment.until_precise else ''}{experiment.repetitions}"

    @property
    def finished(self) -> str:
        """Returns how many experiments are finished, such as `3 of 8`."""
        return f"{len(self._finished)} of {len(self._numbers)}"
