# SPDX-License-Identifier: Apache-2.0
"""Writes runs for other programs: their trials as CSV or Parquet, or all that is stored as JSON.

One run at a time is in memory. The rows wait in a temporary file until the columns of all runs are known.
"""

from __future__ import annotations

import csv
import io
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO, Final

from natxy.export import ExportFormat
from natxy.export.document import document
from natxy.export.rows import Row, trial_rows
from natxy.installation import ExtraMissingError
from natxy.results.records import RunRecord
from natxy.untrusted.texts import csv_cell, json_text, plain_within

Sources = Iterable[tuple[str, RunRecord]]
"""Runs, each with the name of its folder."""


# An enumeration's value is text, and a truth value is a number to Python.
_KINDS: Final = (str, bool, int, float)


def write(runs: Sources, form: ExportFormat, out: BinaryIO, waiting: BinaryIO) -> None:
    """Writes runs to `out`. `waiting` is an empty temporary file."""
    match form:
        case ExportFormat.JSON:
            _write_json(runs, out)
        case ExportFormat.CSV:
            kinds = _collect(runs, waiting)
            _write_csv(list(kinds), _collected(waiting), out)
        case ExportFormat.PARQUET:
            pyarrow = _imported_pyarrow()
            kinds = _collect(runs, waiting)
            _write_parquet(pyarrow, kinds, _collected(waiting), out)


def _collect(runs: Sources, waiting: BinaryIO) -> dict[str, set[type]]:
    """Puts the rows of each run into the file; returns the types of the values in each column."""
    kinds: dict[str, set[type]] = {}
    for folder, run in runs:
        rows = [plain_within({"run_folder": folder, **row}) for row in trial_rows(run)]
        for row in rows:
            for column, value in row.items():
                own = kinds.setdefault(column, set())
                if value is not None:
                    own.add(next(kind for kind in _KINDS if isinstance(value, kind)))
        pickle.dump(rows, waiting, pickle.HIGHEST_PROTOCOL)
    return kinds


def _collected(waiting: BinaryIO) -> Iterator[Sequence[Row]]:
    """Yields the rows of each run."""
    waiting.seek(0)
    while True:
        try:
            yield pickle.load(waiting)
        except EOFError:
            return


def _write_csv(columns: Sequence[str], runs: Iterable[Sequence[Row]], out: BinaryIO) -> None:
    text = io.StringIO()
    writer = csv.writer(text)
    # Without any trial the file still has the line that ends its empty header.
    writer.writerow(map(csv_cell, columns))
    out.write(text.getvalue().encode())
    for rows in runs:
        text.seek(0)
        text.truncate()
        writer.writerows([csv_cell(row.get(column)) for column in columns] for row in rows)
        out.write(text.getvalue().encode())


def _write_json(runs: Sources, out: BinaryIO) -> None:
    """Writes the document of a single run, or a list of the documents of several."""
    documents = (json_text(document(run)).encode() for _, run in runs)
    first = next(documents, b"[]")
    second = next(documents, None)
    if second is None:
        out.write(first + b"\n")
        return
    out.write(b"[\n" + first + b",\n" + second)
    for other in documents:
        out.write(b",\n" + other)
    out.write(b"\n]\n")


def _imported_pyarrow() -> Any:
    """Returns pyarrow, which an installation has only as an extra. ExtraMissingError when it has not."""
    # The import takes longer than all others, and only this needs it.
    try:
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ExtraMissingError("Parquet", "parquet", ", or choose csv or json") from error
    return pyarrow


def _write_parquet(pyarrow: Any, kinds: dict[str, set[type]], runs: Iterable[Sequence[Row]], out: BinaryIO) -> None:
    types = {str: pyarrow.string(), int: pyarrow.int64(), float: pyarrow.float64(), bool: pyarrow.bool_()}
    kept = {column: _one_kind(own) for column, own in kinds.items()}
    # A seed may be above 2^63.
    schema = pyarrow.schema(
        [
            (column, pyarrow.uint64() if column == "seed" else pyarrow.null() if kind is None else types[kind])
            for column, kind in kept.items()
        ]
    )
    with pyarrow.parquet.ParquetWriter(out, schema) as writer:
        for rows in runs:
            columns = {column: [_as(kind, row.get(column)) for row in rows] for column, kind in kept.items()}
            writer.write_table(pyarrow.table(columns, schema=schema))


def _one_kind(kinds: set[type]) -> type | None:
    """Returns the type of a column; it is text in a sweep over different types, such as a number and a name."""
    if len(kinds) > 1:
        return float if kinds == {int, float} else str
    return next(iter(kinds), None)


def _as(kind: type | None, value: Any) -> Any:
    return value if kind is None or value is None else kind(value)
