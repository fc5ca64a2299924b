# SPDX-License-Identifier: Apache-2.0
"""Collects remarks on results that are as planned."""

from __future__ import annotations

from typing import Final

from natxy.plan.model.units import enumerated
from natxy.report.words import corruption, lost_delays
from natxy.report.words.headlines import with_interval
from natxy.report.words.states import precision
from natxy.report.words.tester import uneven_queues
from natxy.results.analysis.contradictions import contradictions
from natxy.results.analysis.source_spreads import ends_of, spreads_of
from natxy.results.records import RunRecord, State

_MERGING: Final = frozenset({"generic-receive-offload", "large-receive-offload", "rx-gro-hw", "rx-gro-list"})
_OFFLOADS: Final = " offloads"


def sentences(run: RunRecord) -> list[str]:
    """Returns the remarks on a run's results, each with the titles of its experiments."""
    kinds = (
        contradicted,
        corruption.sentences,
        lost_delays.sentences,
        uneven_queues,
        strange_sources,
        merged_segments,
    )
    return [*_of_procedures(run), *(sentence for sentences in kinds for sentence in sentences(run))]


def _of_procedures(run: RunRecord) -> list[str]:
    """Returns the remarks of procedures, and why the repetitions ended."""
    titles_by_remark: dict[str, list[str]] = {}
    for experiment in run.experiments:
        if experiment.state is State.DONE:
            for remark in filter(None, (experiment.reason, precision(experiment))):
                titles_by_remark.setdefault(remark, []).append(experiment.title)
    return [f"{'; '.join(titles)}: {remark}" for remark, titles in titles_by_remark.items()]


def contradicted(run: RunRecord) -> list[str]:
    """Returns a sentence for each pair of results that cannot both be true, and what to do."""
    return [
        f"{each.experiment.title}: {with_interval(each.experiment)} is above {each.contained.title}, "
        f"{with_interval(each.contained)}, although each of its trials has to pass one of that experiment first. "
        "Something changed between the two: repeat both more often, on a machine that does nothing else."
        for each in contradictions(run)
    ]


def strange_sources(run: RunRecord) -> list[str]:
    """Returns a sentence for each experiment whose connections came from an address that is not of its pool."""
    return [
        f"{experiment.title}: connections came from {enumerated([*map(str, ends)])}, and `pool` is {pool}: compare the "
        "gateway's rules with the plan"
        for experiment in run.experiments
        if (pool := experiment.pool) and (ends := [end for end in ends_of(spreads_of(experiment)) if end not in pool])
    ]


def merged_segments(run: RunRecord) -> list[str]:
    """Returns a sentence for TCP between hosts through interfaces whose offloads merge segments before the gateway."""
    titles_by_offloads: dict[str, list[str]] = {}
    for experiment in run.experiments:
        facts = [fact for dut in experiment.duts for fact in dut.hardware.items() if fact[0].endswith(_OFFLOADS)]
        merging = {what: [name for name in on.split(", ") if name in _MERGING] for what, on in facts}
        shown = [f"{what.removesuffix(_OFFLOADS)}: {', '.join(names)}" for what, names in merging.items() if names]
        if shown and experiment.declaration.between_hosts:
            titles_by_offloads.setdefault("; ".join(shown), []).append(experiment.title)
    return [
        f"{'; '.join(titles)}: the gateway's interfaces merge TCP segments ({shown}), so the gateway forwards fewer "
        "and longer packets than the links carry; `ethtool -K INTERFACE gro off lro off` on the DUT measures it without"
        for shown, titles in titles_by_offloads.items()
    ]
