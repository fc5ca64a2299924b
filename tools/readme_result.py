# SPDX-License-Identifier: Apache-2.0
"""Writes the README's table of results from a run of plans/quickstart.yaml: `python -m tools.readme_result RUN`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from natxy.engine.messages.results import Verdict
from natxy.plan.model.units import format_duration
from natxy.report.words import headlines, wording
from natxy.results.reader import RunReader
from natxy.results.records import ExperimentRecord, RunRecord
from tools.bench.speed_tables import put

PAGE: Final = Path("README.md")
_TRAFFIC: Final = {"": "", "-addresses": ", many addresses"}


def result_rows(run: RunRecord) -> Iterator[str]:
    found = {experiment.name: experiment for experiment in run.experiments}
    yield "| | throughput, frames/s per direction | of forwarding | new connections/s | validated, α = 0.5 |"
    yield "|---|---|---|---|---|"
    for suffix, words in _TRAFFIC.items():
        nat = found[f"nat-throughput{suffix}"]
        rates = (_shown(found[f"{name}{suffix}"]) for name in ("nat-rate", "nat-validated-rate"))
        yield f"| Linux forwarding{words} | {_shown(found[f'forwarding{suffix}'])} | | | |"
        cells = (_shown(nat), wording.ratio(nat.baseline_ratio), *rates)
        yield f"| nftables NAT44{words} | " + " | ".join(cells) + " |"
    if note := headlines.ratios_note(run.experiments):
        yield ""
        yield note
    verdicts = [placed.trial.verdict for placed in run.all_trials]
    count = verdicts.count(Verdict.DISTURBED)
    disturbed = f", {count} disturbed" if count else ""
    yield ""
    yield (
        f"Measuring took {format_duration(run.active_s)}. Of {len(verdicts)} trials {verdicts.count(Verdict.INVALID)} "
        f"were invalid{disturbed} and repeated."
    )


def _shown(experiment: ExperimentRecord) -> str:
    summary = experiment.statistics
    if summary is None:
        return wording.ABSENT
    lowest, highest = (summary.bounded(value).text(_thousands) for value in (summary.minimum, summary.maximum))
    return f"{summary.bounded_median.text(_thousands)} ({lowest} – {highest})"


def _thousands(rate: float) -> str:
    return f"{rate / 1e3:.0f} k"


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(put(page, "result", result_rows(RunReader(Path(sys.argv[1])).run)), encoding="utf-8")
