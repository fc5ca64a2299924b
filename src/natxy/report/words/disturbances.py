# SPDX-License-Identifier: Apache-2.0
"""States in sentences what disturbed the trials of a run, and what to do about it."""

from __future__ import annotations

from typing import Final

from natxy.report.words.wording import percent
from natxy.results.analysis.core_speed import CoreSpeed
from natxy.results.analysis.disturbances import Absences, Disturbances, disturbances
from natxy.results.records import RunRecord

NOTICED_SHARE: Final = 0.05
"""The share of undecided trials, and of time for which a core was away, from which on a run has a warning."""


def validity(run: RunRecord) -> str:
    """Counts the trials that decided nothing; empty without trials."""
    found = disturbances(run)
    if not found.trials:
        return ""
    counted = []
    if found.invalid:
        counted.append(f"{_of(found.invalid, found)} invalid: the tester, not the gateway, fell short")
    if found.disturbed:
        counted.append(f"{_of(found.disturbed, found)} disturbed: something else ran on the gateway's core")
    if not counted:
        text = f"All {found.trials:,} trials were valid: the tester kept its schedule and lost no frame itself."
    else:
        text = f"Of {found.trials:,} trials {'; '.join(counted)}. They decided nothing and were repeated."
    return f"{text} {_marked(found)}".rstrip()


def busy(run: RunRecord) -> str:
    """Warns that other work disturbed or slowed the trials; empty if it hardly did, and when no real tester sent."""
    found = disturbances(run)
    away = {"tester's": found.tester, "gateway's": found.gateway}
    noticed = [
        f"the {whose} core was taken away for {percent(100 * absences.share)} of the time"
        for whose, absences in away.items()
        if absences and absences.share >= NOTICED_SHARE
    ]
    if found.undecided_share >= NOTICED_SHARE:
        undecided = f"of {found.trials:,} trials {found.invalid:,} were invalid and {found.disturbed:,} disturbed"
        noticed.insert(0, undecided)
    if run.tester is None:
        return ""
    sentences = [f"The machine was busy with other things: {', and '.join(noticed)}."] if noticed else []
    if marked := _marked(found):
        sentences.append(marked)
    if sentences:
        sentences.append(_remedy(found.gateway))
    if found.gateway_speed and found.gateway_speed.slowed:
        sentences.append(slowed(found.gateway_speed))
    return " ".join(sentences)


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
