# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import gc
import json
import subprocess
import sys
import weakref
from dataclasses import asdict
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.cli.bodies import export as body
from natxy.results.planned import settings_of
from natxy.results.reader import RunReader
from natxy.results.records import RunRecord
from tests.support.command import HANG_S
from tests.support.sample_runs import HOSTILE, hostile, quickstart
from tests.support.sample_sweeps import sweeps


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return quickstart(tmp_path / "run")


@pytest.fixture
def run(folder: Path) -> RunRecord:
    return RunReader(folder).run


def export(folder: Path, form: str, *more: str | Path) -> Result:
    return CliRunner().invoke(app, ["export", str(folder), "--format", form, *map(str, more)])


def test_csv_has_a_row_a_trial(folder: Path, run: RunRecord) -> None:
    rows = list(csv.DictReader(export(folder, "csv").output.splitlines()))
    trials = [*run.all_trials]
    assert len(rows) == len(trials)
    for row, (experiment, repetition, trial) in zip(rows, trials, strict=True):
        assert (row["experiment"], int(row["repetition"])) == (experiment.name, repetition.number)
        assert (int(row["step"]), int(row["attempt"])) == (trial.number, trial.attempt)
        assert (row["kind"], row["verdict"], row["reason"]) == (trial.kind, trial.verdict, trial.reason)
        assert (float(row["stream_rate_fps"]), int(row["lost_frames"])) == (trial.rate_fps, trial.lost)
        assert int(row["seed"]) == run.seed
    two_ways = next(row for row in rows if row["experiment"] == "forward")
    assert int(two_ways["forward_sent_frames"]) + int(two_ways["reverse_sent_frames"]) == int(two_ways["sent_frames"])
    one_way = next(row for row in rows if row["experiment"] == "nat44-rate")
    assert one_way["reverse_sent_frames"] == ""


def test_parquet_has_the_same_rows_with_types(folder: Path, run: RunRecord, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    assert export(folder, "parquet", "--output", tmp_path / "trials.parquet").exit_code == 0
    rows = parquet.read_table(tmp_path / "trials.parquet").to_pylist()
    written = csv.DictReader(export(folder, "csv").output.splitlines())
    assert [{name: "" if v is None else str(v) for name, v in row.items()} for row in rows] == list(written)
    assert rows[0]["seed"] == run.seed
    assert isinstance(rows[0]["lost_frames"], int)
    assert isinstance(rows[0]["duration_s"], float)


def test_json_has_everything(folder: Path, run: RunRecord, tmp_path: Path) -> None:
    assert export(folder, "json", "--output", tmp_path / "run.json").exit_code == 0
    document = json.loads((tmp_path / "run.json").read_text())
    assert (document["seed"], document["machine"], document["caveats"]) == (
        run.seed,
        run.machine,
        [asdict(caveat) for caveat in run.caveats],
    )
    for written, experiment in zip(document["experiments"], run.experiments, strict=True):
        assert (written["name"], written["settings"]) == (experiment.name, settings_of(experiment.planned))
        assert [repetition["value"] for repetition in written["repetitions"]] == [
            repetition.value for repetition in experiment.repetitions
        ]
        trials = [trial for repetition in written["repetitions"] for trial in repetition["trials"]]
        results = [trial.result.model_dump(mode="json") for r in experiment.repetitions for trial in r.trials]
        assert [trial["result"] for trial in trials] == results
        median = experiment.statistics.median if experiment.statistics else None
        assert written["statistics"].get("rate", {}).get("median") == median
    assert document["experiments"][3]["baseline_name"] == "forward"
    assert document["experiments"][3]["computed"]["throughput_ratio_percent"] == pytest.approx(65.8, abs=0.1)


def test_sweeps_carry_their_coordinates_and_what_is_computed_from_them(tmp_path: Path) -> None:
    folder = sweeps(tmp_path / "run")
    rows = {row["experiment"]: row for row in csv.DictReader(export(folder, "csv").output.splitlines())}
    four = rows["rate/cores=4"]
    assert (four["sweep"], four["cell_cores"]) == ("rate", "4")
    assert float(four["relative_scale_up"]) == pytest.approx(0.804, abs=0.001)
    assert (four["degradation_percent"], four["cell_alpha"]) == ("", "")
    assert float(rows["many/connections=3200000"]["connections_per_table_entry"]) == pytest.approx(0.746, abs=0.001)
    document = json.loads(export(folder, "json").output)
    many = next(each for each in document["experiments"] if each["name"] == "many/connections=3200000")
    assert many["computed"]["degradation_percent"] == pytest.approx(42.1, abs=0.1)


def test_hostile_texts_are_exported_as_they_are(tmp_path: Path) -> None:
    folder = hostile(tmp_path / "run")
    rows = list(csv.DictReader(export(folder, "csv").output.splitlines()))
    assert {row["title"] for row in rows} == {HOSTILE}
    assert json.loads(export(folder, "json").output)["name"] == HOSTILE


def test_what_cannot_be_done_is_exit_2(folder: Path, tmp_path: Path) -> None:
    assert export(tmp_path / "nowhere", "csv").exit_code == 2
    assert export(folder, "xml").exit_code == 2
    assert export(folder, "csv", "--output", tmp_path / "no" / "such").exit_code == 2


def many(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, ["export", *map(str, arguments)])


def test_runs_are_exported_into_one_file_with_the_columns_of_all(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    folders = quickstart(tmp_path / "runs" / "a"), sweeps(tmp_path / "runs" / "b")
    table, text = tmp_path / "trials.parquet", tmp_path / "trials.csv"
    assert many(*folders, "--output", table).exit_code == 0
    assert many(tmp_path / "runs", "--output", text).exit_code == 0
    rows = parquet.read_table(table).to_pylist()
    written = list(csv.DictReader(text.read_text(encoding="utf-8").splitlines()))
    assert [{name: "" if v is None else str(v) for name, v in row.items()} for row in rows] == written
    runs = [RunReader(folder).run for folder in folders]
    counts = [sum(1 for _ in run.all_trials) for run in runs]
    assert [row["run_folder"] for row in rows] == [str(folders[0])] * counts[0] + [str(folders[1])] * counts[1]
    assert {(row["run_folder"], row["run"], row["run_started_at"], row["natxy_version"]) for row in rows} == {
        (str(folder), run.name, run.started_at, run.natxy_version) for folder, run in zip(folders, runs, strict=True)
    }
    assert {row["cell_cores"] for row in rows[: counts[0]]} == {None}
    assert {row["cell_cores"] for row in rows[counts[0] :]} > {None}


def test_several_runs_are_a_list_of_documents(tmp_path: Path) -> None:
    for number in "abc":
        quickstart(tmp_path / "runs" / number)
    documents = json.loads(many(tmp_path / "runs", "--format", "json").output)
    assert documents == [json.loads(export(tmp_path / "runs" / each, "json").output) for each in "abc"]


def test_one_run_at_a_time_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        quickstart(tmp_path / "runs" / str(number))
    most = 0

    class Counting(RunReader):
        def __init__(self, path: Path) -> None:
            nonlocal most
            super().__init__(path)
            gc.collect()
            alive.append(weakref.ref(self.run))
            most = max(most, sum(ref() is not None for ref in alive))

    alive: list[weakref.ref[RunRecord]] = []
    monkeypatch.setattr(body, "RunReader", Counting)
    assert many(tmp_path / "runs", "--output", tmp_path / "trials.csv").exit_code == 0
    assert most <= 2


def test_what_cannot_be_read_in_a_folder_is_left_out_with_a_warning(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "results.sqlite").write_text("x" * 1000)
    done = many(tmp_path, "--format", "csv")
    assert done.exit_code == 0
    assert "left out" in done.stderr
    assert len(list(csv.DictReader(done.stdout.splitlines()))) == len([*RunReader(folder).run.all_trials])
    assert many(tmp_path / "damaged", "--format", "csv").exit_code == 2
    (tmp_path / "none").mkdir()
    assert "holds none" in many(tmp_path / "none", "--format", "csv").output
    assert "expected --format" in many(folder, "--output", tmp_path / "trials").output


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_a_full_disk_leaves_no_file(folder: Path, tmp_path: Path, form: str) -> None:
    # Of 512 bytes each; the disk of a quota is full alike.
    script = f"ulimit -f 2; {sys.executable} -m natxy export {folder} --format {form} --output {tmp_path}/out"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=HANG_S, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == f"natxy: {tmp_path}/out cannot be written: File too large"
    assert [*tmp_path.iterdir()] == [folder]


@pytest.mark.parametrize("verb", ["export RUN --format csv", "report RUN --format csv", "report RUN", "list gateways"])
def test_a_closed_pipe_is_no_error(folder: Path, verb: str) -> None:
    command = [sys.executable, "-m", "natxy", *(str(folder) if word == "RUN" else word for word in verb.split())]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)
