# SPDX-License-Identifier: Apache-2.0
"""Numbers what a run measures, in the order of measuring, which differs from the plan's order if there are blocks."""

from __future__ import annotations

from natxy.plan.experiment import Experiment, ResolvedPlan


class Position:
    """Holds how far a run is."""

    def __init__(self, plan: ResolvedPlan) -> None:
        self._numbers = {experiment.name: number for number, experiment in enumerate(plan.experiments, start=1)}
        self._most_blocks = max(experiment.repeat.at_most for experiment in plan.experiments)
        self._at_most = "at most " if any(experiment.repeat.until for experiment in plan.experiments) else ""
        self._finished: set[str] = set()
        self._block = self._block_size = 0
        self._of_block: set[str] = set()

    def block_started(self, number: int, experiments: int) -> None:
        self._block, self._block_size, self._of_block = number, experiments, set()

    def repetition_begun(self, experiment: Experiment) -> None:
        """Counts a repetition of the block, also one that was measured before the run was resumed."""
        self._of_block.add(experiment.name)

    def experiment_finished(self, experiment: Experiment) -> None:
        self._finished.add(experiment.name)

    @property
    def block(self) -> str:
        """Returns `2 of 3`, or nothing when the run is not measured in blocks."""
        return f"{self._block} of {self._at_most}{self._most_blocks}" if self._block else ""

    def experiment(self, experiment: Experiment) -> str:
        """Returns `4 of 8`: in blocks the place in the block, otherwise that in the plan."""
        if self._block:
            return f"{len(self._of_block)} of {self._block_size}"
        return f"{self._numbers[experiment.name]} of {len(self._numbers)}"

    def repetition(self, experiment: Experiment, number: int) -> str:
        """Returns `2 of 20`."""
        return f"{number} of {'at most ' if experiment.repeat.until else ''}{experiment.repeat.at_most}"

    @property
    def finished(self) -> str:
        """Returns how many experiments are finished, such as `3 of 8`."""
        return f"{len(self._finished)} of {len(self._numbers)}"
