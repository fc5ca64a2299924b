# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from natxy.cli import app
from natxy.cli.output.file import output_file
from tests.support.sample_runs import quickstart


def natxy(arguments: Sequence[str | Path]) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return quickstart(tmp_path / "run")


@pytest.mark.parametrize(
    "verb", ["export RUN --format csv --output", "history RUN --output", "judge RUN --junit", "judge RUN --json"]
)
@pytest.mark.parametrize(
    "name", ["results.sqlite", "results.sqlite-wal", "plan.yaml", "foreign.pcap", "engine.log", "events.jsonl"]
)
def test_no_output_replaces_a_file_of_a_run(folder: Path, verb: str, name: str) -> None:
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = natxy([folder if word == "RUN" else word for word in verb.split()] + [folder / name])
    assert (done.exit_code, f"{name} belongs to a run" in done.output) == (2, True), done.output
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_no_output_replaces_a_database_of_another_name(folder: Path) -> None:
    renamed = (folder / "results.sqlite").rename(folder / "monday.sqlite")
    before = renamed.read_bytes()
    done = natxy(["export", renamed, "--format", "json", "--output", renamed])
    assert (done.exit_code, renamed.read_bytes()) == (2, before)


def test_a_summary_is_added_to_and_not_to_what_a_link_leads_to(tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        with output_file(tmp_path / "summary.md", append=True) as out:
            out.write(text)
    assert (tmp_path / "summary.md").read_bytes() == b"onetwo"
    (tmp_path / "link").symlink_to(tmp_path / "summary.md")
    done = natxy(["judge", quickstart(tmp_path / "run"), "--markdown", tmp_path / "link"])
    assert (done.exit_code, (tmp_path / "summary.md").read_bytes()) == (2, b"onetwo")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with output_file(pipe) as out:
        out.write(b"one")
    reader.join()
    assert (read, pipe.is_fifo()) == ([b"one"], True)


def test_a_device_is_written_to(folder: Path) -> None:
    assert natxy(["export", folder, "--format", "csv", "--output", "/dev/null"]).exit_code == 0
    assert not Path("/dev/null").is_file()


LINKS = {
    "report RUN": "report.html",
    "report RUN --charts svg": "charts/01-forward-search.svg",
    "export RUN --output RUN/trials.csv": "trials.csv",
    "judge RUN --junit RUN/junit.xml": "junit.xml",
    "judge RUN --json RUN/judged.json": "judged.json",
    "history RUN": "history.html",
}


@pytest.mark.parametrize("verb", LINKS)
@pytest.mark.parametrize("ending", ["", ".partial"])
def test_links_in_a_run_s_folder_lead_nowhere(tmp_path: Path, folder: Path, verb: str, ending: str) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    link = folder / (LINKS[verb] + ending)
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(precious)
    natxy(verb.replace("RUN", str(folder)).split())
    assert precious.read_bytes() == b"precious"
    assert (folder / LINKS[verb]).is_file()
    assert not (folder / LINKS[verb]).is_symlink()


def test_a_folder_of_charts_that_is_a_link_is_refused(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (folder / "charts").symlink_to(tmp_path / "elsewhere")
    done = natxy(["report", folder, "--charts", "json"])
    assert (done.exit_code, [*(tmp_path / "elsewhere").iterdir()]) == (2, []), done.output
