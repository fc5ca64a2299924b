# SPDX-License-Identifier: Apache-2.0
"""The tables of chains beside each of their boxes alone (RFC 8219 §4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from natxy.report.tables.table import Column, Table
from natxy.report.words import headlines, wording
from natxy.report.words.boxes import SHARED, sentence
from natxy.results.analysis.boxes import Boxes, boxes_alone
from natxy.results.analysis.dut_cost import cost
from natxy.results.records import ExperimentRecord, RunRecord

TITLE: Final = "Chains, and each box alone"
_COST_NOTE: Final = "CPU time is that of the gateway's cores per forwarded frame, at the highest rate that passed."


def boxes_tables(run: RunRecord) -> list[Table]:
    """Returns a table for each kind of headline; none without a box that was measured alone."""
    kinds: dict[str, list[Boxes]] = {}
    for each in boxes_alone(run):
        kinds.setdefault(headlines.kind(each.whole), []).append(each)
    return [_both(kind, chains) for kind, chains in kinds.items()]


def boxes_sentences(run: RunRecord) -> list[str]:
    """Returns for each chain which box limits it."""
    return [sentence(each) for each in boxes_alone(run)]


def _both(kind: str, chains: Sequence[Boxes]) -> Table:
    return replace(_table(kind, chains), narrower=_table(kind, chains, gap=""))


def _table(kind: str, chains: Sequence[Boxes], gap: str = " ") -> Table:
    """Returns the table; without `gap`, its ratios have no intervals and the gateways no column."""
    rows = [(boxes, row) for boxes in chains for row in boxes.rows]
    compared = any(row.baseline for _, row in rows)
    costed = any(cost(row) for _, row in rows)
    head = [Column("Experiment"), *([Column("Gateways")] if gap else []), Column("Median", numeric=True)]
    head += [Column("95 %", numeric=True)] if gap else []
    head.append(Column("Of the whole" if gap else "whole", numeric=True))
    head += [Column("Of the baseline" if gap else "base", numeric=True)] if compared else []
    head += [Column("CPU time, ns" if gap else "CPU ns", numeric=True)] if costed else []
    cells = tuple(
        (
            row.title,
            *([row.gateway] if gap else []),
            _median(row) + headlines.short_mark(row),
            *([_interval(row)] if gap else []),
            wording.ratio(row.ratio_to(boxes.whole), gap),
            *([headlines.baseline_ratio(row, gap) or wording.ABSENT] if compared else []),
            *([_cost(row)] if costed else []),
        )
        for boxes, row in rows
    )
    wholes = frozenset(boxes.whole.title for boxes in chains)
    table = Table(f"{TITLE}: {kind}", tuple(head), cells, wholes, SHARED).with_note(_COST_NOTE if costed else "")
    ratios = [row.ratio_to(boxes.whole) for boxes, row in rows if row is not boxes.whole]
    return table.with_note(wording.ratios_note([*ratios, *(row.baseline_ratio for _, row in rows)]))


def _median(row: ExperimentRecord) -> str:
    return wording.bounded(row.statistics.bounded_median, row.unit) if row.statistics else wording.ABSENT


def _interval(row: ExperimentRecord) -> str:
    return wording.interval(row.statistics.shown_interval, row.unit) if row.statistics else wording.ABSENT


def _cost(row: ExperimentRecord) -> str:
    found = cost(row)
    if found is None:
        return wording.ABSENT
    return wording.number(found.median) + wording.ends(found.shown_interval, wording.number)
