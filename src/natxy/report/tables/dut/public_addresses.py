# SPDX-License-Identifier: Apache-2.0
"""The table of the public addresses that gateways really used, as the tester saw them in phase 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from natxy.engine.messages.common import IPNetwork
from natxy.engine.messages.results import SourceSpread
from natxy.report.tables.table import Column, Table
from natxy.results.analysis.source_spreads import ends_of, spreads_of
from natxy.results.records import ExperimentRecord, RunRecord

TITLE: Final = "Public addresses in use"
_NOTE: Final = (
    "Used are the source addresses with which the connections of phase 1 arrived on the right; From has the lowest and "
    "the highest. The fewest and the most are connections of one address. Fewer ports than connections mean that the "
    "gateway uses a port again for another destination. All are those of the trials that passed or, if none did, of "
    "the others."
)


def public_addresses(run: RunRecord) -> Table | None:
    """Returns a row for each experiment whose gateway hides the left side; None where nothing is known of any."""
    rows = [row for experiment in run.experiments if (row := _row(experiment))]
    titles = ("Pool", "Addresses", "Used", "From", "Fewest connections", "Most connections", "Ports", "Trials")
    columns = (Column("Experiment"), *(Column(title, numeric=title not in ("Pool", "From")) for title in titles))
    return Table(TITLE, columns, tuple(rows), note=_NOTE) if rows else None


def _row(experiment: ExperimentRecord) -> tuple[str, ...] | None:
    pool, spreads = experiment.pool, spreads_of(experiment)
    hides = pool is not None or experiment.planned.gateway.hides_left
    if not hides or not spreads:
        return None
    return (
        experiment.title,
        str(pool) if pool else "none",
        f"{pool.num_addresses:,}" if pool else "unknown",
        _ends(spreads, "addresses"),
        _range(spreads, pool),
        *(_ends(spreads, name) for name in ("fewest", "most", "endpoints")),
        f"{len(spreads):,}",
    )


def _range(spreads: Iterable[SourceSpread], pool: IPNetwork | None) -> str:
    """Returns the lowest and the highest address, and whether one of them is outside of the pool."""
    ends = ends_of(spreads)
    outside = pool is not None and any(end not in pool for end in ends)
    return (" to ".join(map(str, ends)) or "unknown") + (", not of the pool" if outside else "")


def _ends(spreads: Iterable[SourceSpread], name: str) -> str:
    """Returns the least and the highest of a count, or the one that all trials have."""
    counts = sorted({count for spread in spreads if (count := getattr(spread, name)) is not None})
    if not counts:
        return "unknown"
    return " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
