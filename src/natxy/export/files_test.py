# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from natxy.export import ExportFormat
from natxy.export.files import write
from natxy.installation import ExtraMissingError
from natxy.plan.model.terms import CellValue
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.sample_runs import SampleRun, Sought


def sample(folder: Path, *cells: Mapping[str, CellValue]) -> RunRecord:
    """Returns a run with a cell for each of `cells`, or with one experiment that is not swept."""
    run = SampleRun(folder)
    for number, cell in enumerate(cells or ({},)):
        run.experiment(f"swept/{number}", Sought(100e3), title="Swept", repeat=1, cell=cell or None)
    return RunReader(run.end()).run


def written(form: ExportFormat, *runs: RunRecord) -> bytes:
    out = io.BytesIO()
    write([(f"folder{number}", run) for number, run in enumerate(runs)], form, out, io.BytesIO())
    return out.getvalue()


def test_csv_has_the_columns_of_all_runs_and_a_row_for_each_trial(tmp_path: Path) -> None:
    plain, swept = sample(tmp_path / "plain"), sample(tmp_path / "swept", {"ttl": 1}, {"ttl": 2})
    header, *lines = csv.reader(io.StringIO(written(ExportFormat.CSV, plain, swept).decode()))
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    trials = [len([*run.all_trials]) for run in (plain, swept)]
    assert [row["run_folder"] for row in rows] == ["folder0"] * trials[0] + ["folder1"] * trials[1]
    assert [*dict.fromkeys(row["cell_ttl"] for row in rows)] == ["", "1", "2"]


def test_csv_of_no_trial_is_an_empty_header(tmp_path: Path) -> None:
    assert written(ExportFormat.CSV, RunReader(SampleRun(tmp_path).end()).run) == b"\r\n"


def test_json_is_a_document_or_a_list_of_them(tmp_path: Path) -> None:
    runs = [sample(tmp_path / name) for name in "abc"]
    one, *others = (json.loads(written(ExportFormat.JSON, run)) for run in runs)
    assert one["name"] == "quickstart"
    assert [experiment["name"] for experiment in one["experiments"]] == ["swept/0"]
    assert json.loads(written(ExportFormat.JSON, *runs)) == [one, *others]
    assert json.loads(written(ExportFormat.JSON, *runs[:2])) == [one, others[0]]
    assert json.loads(written(ExportFormat.JSON)) == []


@pytest.mark.parametrize(
    ("values", "kind", "read"),
    [
        ((1, 2), "int64", [1, 2]),
        ((1, 2.5), "double", [1.0, 2.5]),
        ((1, "any"), "string", ["1", "any"]),
        ((True, False), "bool", [True, False]),
    ],
)
def test_a_column_of_parquet_has_a_type_that_holds_all_its_values(
    tmp_path: Path, values: tuple[CellValue, CellValue], kind: str, read: list[CellValue]
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    run = sample(tmp_path / "run", *({"ttl": value} for value in values))
    table = parquet.read_table(io.BytesIO(written(ExportFormat.PARQUET, sample(tmp_path / "plain"), run)))
    assert str(table.schema.field("cell_ttl").type) == kind
    assert [*dict.fromkeys(table.column("cell_ttl").to_pylist())] == [None, *read]
    # The seed is above 2^63.
    assert (str(table.schema.field("seed").type), table.column("seed")[0].as_py()) == ("uint64", 2**64 - 1)
    assert str(table.schema.field("tester_limited").type) == "null"


def test_parquet_without_pyarrow_names_the_extra_and_reads_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(ExtraMissingError, match=r"extra `parquet`.*, or choose csv or json"):
        write(
            (pytest.fail(f"read run {number}") for number in range(1)), ExportFormat.PARQUET, io.BytesIO(), io.BytesIO()
        )
