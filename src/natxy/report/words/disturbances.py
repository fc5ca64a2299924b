# SPDX-License-Identifier: Apache-2.0
"""States in sentences what disturbed the trials of a run, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from natxy.plan.model.units import counted, enumerated
from natxy.report.words.wording import percent
from natxy.results.analysis.core_speed import CoreSpeed
from natxy.results.analysis.disturbances import Absences, Counts, Disturbances, disturbances
from natxy.results.records import RunRecord

NOTICED_SHARE: Final = 0.05
"""The share of undecided trials, and of time for which a core was away, from which on a run has a warning."""

UNDECIDED: Final = {"invalid": "invalid", "disturbed": "disturbed"}
"""The kinds of trials that decided nothing because of the machine."""
TOUCHED: Final = UNDECIDED | {
    "marked": "counted as failed because no attempt was left",
    "paused": "counted although a core was away for a moment",
}
"""All kinds of trials that the machine disturbed."""


def validity(run: RunRecord) -> str:
    """Counts the trials that decided nothing; empty without trials."""
    found = disturbances(run)
    if not found.trials:
        return ""
    undecided = []
    if found.invalid:
        undecided.append(f"{_of(found.invalid, found)} invalid: the tester, not the gateway, fell short")
    if found.disturbed:
        undecided.append(f"{_of(found.disturbed, found)} disturbed: something else ran on the gateway's core")
    if not undecided:
        which = "The one trial was" if found.trials == 1 else f"All {found.trials:,} trials were"
        text = f"{which} valid: the tester kept its schedule and lost no frame itself."
    else:
        repeated = "" if run.is_of_scripts else " and were repeated"
        text = f"Of {counted(found.trials, 'trial')} {'; '.join(undecided)}. They decided nothing{repeated}."
    return f"{text} {_marked(found)}".rstrip()


def busy(run: RunRecord) -> str:
    """Warns that other work disturbed or slowed the trials; empty if it hardly did, and when no real tester sent."""
    if run.tester is None:
        return ""
    found = disturbances(run)
    noticed = [kinds(found, UNDECIDED)] if found.undecided_share >= NOTICED_SHARE else []
    if away := enumerated([*_away(found)]):
        noticed.append(away)
    sentences = [f"The machine was busy with other things: {'; '.join(noticed)}."] if noticed else []
    if marked := _marked(found):
        sentences.append(marked)
    if sentences:
        sentences.append(_remedy(found.gateway))
    if found.gateway_speed and found.gateway_speed.slowed:
        sentences.append(slowed(found.gateway_speed))
    return " ".join(sentences)


def _away(found: Disturbances) -> Iterator[str]:
    """Yields for how long each core was taken away, if that is worth a warning."""
    text = "the {} core was taken away for {} of the time"
    for whose, absences in (("tester's", found.tester), ("gateway's", found.gateway)):
        if absences and absences.share >= NOTICED_SHARE:
            # What is watched begins before a trial and ends after it.
            yield text.format(whose, percent(min(100, 100 * absences.share)))
            text = "the {} for {}"


def kinds(found: Counts, words: Mapping[str, str]) -> str:
    """Counts the trials of the kinds in `words`, such as `of 200 trials, 5 were invalid and 8 were disturbed`."""
    counts = [(getattr(found, kind), kind_words) for kind, kind_words in words.items()]
    listed = [f"{count:,} {'was' if count == 1 else 'were'} {kind_words}" for count, kind_words in counts if count]
    return f"of {counted(found.trials, 'trial')}, {enumerated(listed)}"


def slowed(speed: CoreSpeed) -> str:
    """States how slow the gateway's core was, why that may be, and what to do."""
    return (
        f"The gateway's core was slow: on average it worked at {percent(100 * speed.mean, 0)} of its highest speed, "
        f"at {percent(100 * speed.least, 0)} in the slowest trial. Its clock changes, or another virtual machine or "
        "program uses the other hardware thread of the same physical core, which Linux does not count. Measure on a "
        "machine of your own, or repeat more often."
    )


def _of(count: int, found: Disturbances) -> str:
    was = "was" if count == 1 else "were"
    return f"{count:,} ({percent(100 * count / found.trials)}) {was}"


def _marked(found: Disturbances) -> str:
    if not found.marked:
        return ""
    failures = "1 failure" if found.marked == 1 else f"{found.marked:,} failures"
    return f"{failures} counted although something else ran on the gateway's core, because no attempt was left."


def _remedy(gateway: Absences | None) -> str:
    if gateway and (gateway.stolen_s or 0.0) > (gateway.delayed_s or 0.0):
        return "The virtual machine's host took the time: measure when it is idle. See `natxy doctor`."
    return "Stop other work, or give tester, gateway and natxy a core each. See `natxy doctor`."
