# SPDX-License-Identifier: Apache-2.0
"""Orders the experiments of a block: one repetition of every experiment.

A block takes seconds or minutes, so that a machine that becomes slower or faster meanwhile meets all experiments alike.
The order is drawn anew for each block, so that none of them is always the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from natxy.plan.experiment import Experiment
from natxy.run.setup import setup_key


def block_order(experiments: Sequence[Experiment], seed: int, number: int) -> list[Experiment]:
    """Returns the experiments in the order of block `number`, which only depends on the arguments.

    Experiments that are measured on the same set-up follow each other, because a change may take about a second. The
    order of the set-ups is drawn, and the order of the experiments on each. But a set-up whose experiments are compared
    with those of the last one comes next, since the machine changes less within a short time. An experiment comes after
    those whose results it takes rates from, even if that changes the set-up once more.
    """

    def drawn(experiment: Experiment) -> bytes:
        return blake2b(f"{seed}/block {number}/{experiment.name}".encode(), digest_size=8).digest()

    # Settings of a gateway may be lists, so that a key has no hash.
    setup_of = {experiment.name: repr(setup_key(experiment)) for experiment in experiments}
    compared = {
        frozenset((setup_of[each.name], setup_of[each.baseline])) for each in experiments if each.baseline in setup_of
    }
    left = sorted(experiments, key=drawn)
    ordered: list[Experiment] = []
    while left:
        waiting = {experiment.name for experiment in left}
        ready = [each for each in left if not any(rate.experiment in waiting for rate in each.known_rates.values())]
        last = setup_of[ordered[-1].name] if ordered else None
        same = [each for each in ready if setup_of[each.name] == last]
        related = [each for each in ready if frozenset((setup_of[each.name], last)) in compared]
        chosen = (same or related or ready)[0]
        left.remove(chosen)
        ordered.append(chosen)
    return ordered
