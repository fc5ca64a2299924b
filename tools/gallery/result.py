# SPDX-License-Identifier: Apache-2.0
"""Makes the README's table of results from a run of plans/quickstart.yaml; `make gallery` writes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import format_duration
from natxy.report.words import headlines, wording
from natxy.results.records import ExperimentRecord, RunRecord

_TRAFFIC: Final = {"": "", "-addresses": ", many addresses"}


def result_rows(run: RunRecord) -> Iterator[str]:
    found = {experiment.name: experiment for experiment in run.experiments}
    yield "| frames/s per direction, in an overload | receive rate | of forwarding |"
    yield "|---|---|---|"
    for suffix, words in _TRAFFIC.items():
        nat = found[f"nat{suffix}"]
        yield f"| Linux forwarding{words} | {_shown(found[f'forwarding{suffix}'])} | |"
        yield f"| nftables NAT44{words} | {_shown(nat)} | {wording.ratio(nat.baseline_ratio)} |"
    mark = found["nat-throughput"].planned.non_rfc
    rates = ("forwarding-throughput", "nat-throughput", "nat-rate", "nat-validated-rate")
    yield ""
    yield f"| searched{mark} | forwarding, frames/s | NAT44, frames/s | new connections/s | validated, α = 0.5 |"
    yield "|---|---|---|---|---|"
    yield "| without a loss | " + " | ".join(_shown(found[name]) for name in rates) + " |"
    if note := headlines.ratios_note(run.experiments):
        yield ""
        yield note
    verdicts = [placed.trial.verdict for placed in run.all_trials]
    count = verdicts.count(Verdict.DISTURBED)
    disturbed = f" and {count} disturbed," if count else ""
    yield ""
    yield f"Measuring took {format_duration(run.active_s)} on {machine_words(run)}."
    yield f"Of {len(verdicts)} trials {verdicts.count(Verdict.INVALID)} were invalid{disturbed} and repeated."


def machine_words(run: RunRecord) -> str:
    """Returns processor, cores, kernel and DPDK of the machine that measured."""
    here = run.machine
    return f"{here['processor']}, {here['cores']} cores, Linux {here['kernel'].partition('-')[0]}, {run.engine['dpdk']}"


def _shown(experiment: ExperimentRecord) -> str:
    summary = experiment.statistics
    if summary is None:
        return wording.ABSENT
    lowest, highest = (summary.bounded(value).text(_thousands) for value in (summary.minimum, summary.maximum))
    return f"{summary.bounded_median.text(_thousands)} ({lowest} – {highest})"


def _thousands(rate: float) -> str:
    return f"{rate / 1e3:.0f} k"
