# SPDX-License-Identifier: Apache-2.0
"""Charts of gateways side by side: a row for each gateway, and a chart for each procedure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from natxy.report.charts.chart import Chart, Ink
from natxy.report.charts.intervals import Entry, interval_charts
from natxy.report.tables.gateways import label, short_kernel
from natxy.report.words.tester import doubt
from natxy.results.analysis.gateways import SideBySide
from natxy.results.records import RunRecord

# A colour for each kernel, because rates on different kernels cannot be compared.
_INKS: Final = (Ink.PASS, Ink.INVALID, Ink.MUTED)


def gateways_charts(run: RunRecord, compared: SideBySide) -> Iterator[Chart]:
    for procedure in compared.procedures:
        entries = list(_entries(run, compared, procedure))
        title = entries[0].experiment.declaration.headline().title
        yield from interval_charts(f"00-gateways-{procedure}", title, entries)


def _entries(run: RunRecord, compared: SideBySide, procedure: str) -> Iterator[Entry]:
    several = len(compared.kernels) > 1
    for row in compared.rows:
        experiment = row.experiments.get(procedure)
        if experiment is None:
            continue
        kernel = [short_kernel(row)] if several and row.kernel else []
        ink = _INKS[compared.kernels.index(row.kernel) % len(_INKS)] if row.kernel else _INKS[0]
        yield Entry(", ".join((label(row), row.traffic, *kernel)), experiment, ink, doubt(run, experiment))
