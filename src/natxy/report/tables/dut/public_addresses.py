# SPDX-License-Identifier: Apache-2.0
"""The table of the public addresses that gateways really used, as the tester saw them in phase 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from natxy.engine.messages.results import SourceSpread, Verdict
from natxy.report.tables.table import Column, Table
from natxy.results.records import ExperimentRecord, RunRecord

TITLE: Final = "Public addresses in use"
_NOTE: Final = (
    "Used are the source addresses with which the connections of phase 1 arrived on the right. The fewest and the most "
    "are connections of one address. They are those of the trials that passed or, if none did, of the others."
)


def public_addresses(run: RunRecord) -> Table | None:
    """Returns a row for each experiment whose gateway has a pool; None where the use of none is known."""
    rows = [row for experiment in run.experiments if (row := _row(experiment))]
    titles = ("Pool", "Addresses", "Used", "Fewest connections", "Most connections", "Trials")
    columns = (Column("Experiment"), *(Column(title, numeric=title != "Pool") for title in titles))
    return Table(TITLE, columns, tuple(rows), note=_NOTE) if rows else None


def _row(experiment: ExperimentRecord) -> tuple[str, ...] | None:
    pool = experiment.pool
    trials = [trial for _, _, trial in experiment.all_trials if trial.result.sources]
    complete = [trial for trial in trials if trial.verdict is Verdict.PASS]
    spreads = [trial.result.sources for trial in complete or trials if trial.result.sources]
    if pool is None or not spreads:
        return None
    return (
        experiment.title,
        str(pool),
        f"{pool.num_addresses:,}",
        *(_ends(spreads, name) for name in ("addresses", "fewest", "most")),
        f"{len(spreads):,}",
    )


def _ends(spreads: Iterable[SourceSpread], name: str) -> str:
    """Returns the least and the highest of a count, or the one that all trials have."""
    counts = sorted({getattr(spread, name) for spread in spreads})
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
