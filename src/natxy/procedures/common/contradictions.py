# SPDX-License-Identifier: Apache-2.0
"""Decides whether a contradiction between trials is overcome, and says what contradicts what."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.units import Unit, format_quantity
from natxy.procedures.common.repetition import Repetition
from natxy.search.contradictions import Contradicted
from natxy.search.outcome import Contradiction, SearchResult, Tried

_EVERYTHING: Final = 0.999


def overcome(repetition: Repetition, found: SearchResult) -> str:
    """Returns a remark on the contradiction that a search has overcome; nothing without one.

    Contradicted if connections of earlier trials may be why a rate passes that had lost most of its frames: where
    nothing counts them, or where fewer are counted than have just been made.
    """
    if found.overcome is None:
        return ""
    experiment = repetition.experiment
    if experiment.uses_connections and experiment.gateway.keeps_connections is not False:
        with repetition.gateway() as gateway:
            counted = gateway.count()
        made = (experiment.connections or 0) * experiment.pair_count
        if counted is None:
            why = "nothing counts the gateway's connections, so that those of earlier trials may be why"
            raise Contradicted(found.overcome, f"; {why}: give it a `count`")
        if counted < made:
            why = f"and then the gateway's table is said to hold {counted:,} of {made:,} connections"
            raise Contradicted(found.overcome, f", {why}: check its `count` and its `clear`")
    return sentence(found.overcome, experiment.procedure.step_unit) + ", and passed once more at the end"


def sentence(contradiction: Contradiction, unit: Unit) -> str:
    """Returns what contradicts what, in the order in which it was measured."""
    first, last = sorted((contradiction.worse, contradiction.better), key=lambda tried: tried.number)
    later = "when it was tried again" if first.rate == last.rate else f"{rate_text(last.rate, unit)}, tried later,"
    return f"{rate_text(first.rate, unit)} {_fate(first)}, and {later} {_fate(last)}"


def why_no_result(contradicted: Contradicted, unit: Unit) -> str:
    """Returns the reason of a repetition that has no result."""
    found = contradicted.contradiction
    stopped = found.worse.number > found.better.number and found.worse.lost >= _EVERYTHING
    return (
        f"trials contradict each other: {sentence(found, unit)}{contradicted.note}; the gateway did not stay as it "
        f"was, so that there is no result: look whether it {'hangs, ' if stopped else ''}was restarted, was still "
        "learning, or keeps something of earlier trials"
    )


def rate_text(rate: float, unit: Unit) -> str:
    return format_quantity(rate, unit) + (" per direction" if unit == Unit.FPS else "")


def _fate(tried: Tried) -> str:
    return "passed" if tried.passed else f"lost {100 * tried.lost:.3g} %"
