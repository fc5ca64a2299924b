# SPDX-License-Identifier: Apache-2.0
"""The table of what each receive queue of the tester's ports received."""

from __future__ import annotations

from natxy.report.tables.table import Column, Table
from natxy.report.words.tester import port_name
from natxy.report.words.wording import percent
from natxy.results.analysis.receive_queues import ReceiveQueues, receive_queues
from natxy.results.records import RunRecord

_NOTE = "Frames of any kind, in all trials of the experiment. Least and most are the shares of one queue."


def receive_queues_table(run: RunRecord) -> Table | None:
    """Returns a row for each port of an experiment that has several queues; None without such ports."""
    rows = tuple(
        (experiment.title, *_cells(queues)) for experiment in run.experiments for queues in receive_queues(experiment)
    )
    titles = ("Queues", "Frames", "Least", "Most")
    columns = (Column("Experiment"), Column("Port"), *(Column(title, numeric=True) for title in titles))
    return Table("Receive queues", columns, rows, note=_NOTE) if rows else None


def _cells(queues: ReceiveQueues) -> tuple[str, ...]:
    least, most = (percent(100 * pick(queues.frames) / queues.total) for pick in (min, max))
    return port_name(queues), str(len(queues.frames)), f"{queues.total:,}", least, most
