# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import errno
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from natxy.cli import app
from natxy.cli.guide.usage import PAGES
from natxy.dut.transport.ssh import UnreachableError
from natxy.errors import NatxyError, PlanFileError
from natxy.shipped import DOCS, page
from natxy.terminal.errors import reported_errors
from tests.support.command import HANG_S
from tests.support.pages import anchors

VERBS = sorted(getattr(typer.main.get_command(app), "commands", {}))


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (sqlite3.OperationalError("database or disk is full"), "the results could not be written: database or disk is"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "out/x"), "out/x could not be written: No space left"),
        (OSError(errno.EMFILE, os.strerror(errno.EMFILE), "/proc/stat"), "Too many open files: allow more, by `ulimit"),
        (MemoryError(), "the memory is not enough for this"),
    ],
)
def test_what_a_machine_lacks_is_told_in_a_line(error: Exception, said: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(typer.Exit) as ended, reported_errors():
        raise error
    assert ended.value.exit_code == 2
    assert said in capfd.readouterr().err


def kinds(kind: type[NatxyError]) -> Iterator[type[NatxyError]]:
    yield kind
    for each in kind.__subclasses__():
        yield from kinds(each)


def test_every_error_names_a_page_that_exists(capfd: pytest.CaptureFixture[str]) -> None:
    found = [*kinds(NatxyError)]
    assert {PlanFileError, UnreachableError} < {*found}
    for kind in found:
        file, _, section = kind.page.partition("#")
        assert (DOCS / file).is_file(), kind
        assert not section or section in anchors(DOCS / file), kind
        with pytest.raises(typer.Exit) as ended, reported_errors():
            raise kind.__new__(kind, "said")
        assert ended.value.exit_code == kind.exit_code
        assert capfd.readouterr().err.endswith(f"  → {page(kind.page)}\n")


def test_an_error_of_natxys_own_is_none_of_the_disk() -> None:
    with pytest.raises(FileNotFoundError), reported_errors():
        raise FileNotFoundError(errno.ENOENT, "gone")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("list foo", "'KIND': expected one of 'procedures', 'searches', 'gateways', 'plans', got 'foo'\n"),
        ("list gateway", "'plans', got 'gateway'; did you mean 'gateways'?\n"),
        ("run plan.yaml --repeat 0", "'--repeat': expected at least 1, got '0'\n"),
        ("run plan.yaml --repeat many", "'--repeat': expected a whole number, got 'many'\n"),
        ("report run --format pdf", "'csv-tables', 'csv', got 'pdf'\n"),
    ],
)
def test_a_bad_argument_is_told_in_words_of_natxy(arguments: str, said: str) -> None:
    done = CliRunner().invoke(app, arguments.split())
    assert done.exit_code == 2
    verb = arguments.partition(" ")[0]
    assert done.stderr.endswith(f"{said}  → {page(PAGES[verb])}\n")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_page_that_its_errors_name(verb: str) -> None:
    file, _, section = PAGES[verb].partition("#")
    assert (DOCS / file).is_file()
    assert not section or section in anchors(DOCS / file)
    done = CliRunner().invoke(app, [verb, "--no-such-option"])
    assert done.exit_code == 2
    assert done.stderr.endswith(f"  → {page(PAGES[verb])}\n")


def test_a_wrong_verb_is_told_where_the_verbs_are() -> None:
    for words in (["reprot", "runs/x"], ["--versoin"]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 2
        assert done.stderr.endswith(f"  → {page('reference/cli.md')}\n")
    done = CliRunner().invoke(app, ["lab", "upp"])
    assert done.stderr.endswith(f"  → {page('how-to/lab.md')}\n")


@pytest.mark.parametrize("words", [[], ["lab"]])
def test_no_verb_is_no_error(words: list[str]) -> None:
    done = CliRunner().invoke(app, words)
    assert "Commands:" in done.output
    assert "→" not in done.output


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("run none.yaml", "reference/plan.md"),
        ("report none", "reference/report.md"),
        ("resume none", "reference/cli.md#the-folder-of-a-run"),
        ("init wrong.yml", "how-to/first-plan.md"),
        ("explain qqqq", "reference/glossary.md"),
        ("campaign none.yaml", "how-to/campaign.md"),
    ],
)
def test_an_error_names_the_page_about_its_verb(words: str, named: str) -> None:
    done = CliRunner().invoke(app, words.split())
    assert done.exit_code == 2
    assert done.stderr.endswith(f"  → {page(named)}\n")


def natxy(redirected: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", "-c", f"{sys.executable} -m natxy list procedures {redirected}"]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, timeout=HANG_S, check=False, env=os.environ | environment
    )


def test_an_interrupt_of_code_that_was_text_ends_with_the_exit_code(tmp_path: Path) -> None:
    """Python would end by SIGINT."""
    (tmp_path / "verb.py").write_text(
        "import typer\n"
        "from natxy.terminal.errors import reported_errors\n"
        "def verb():\n"
        "    with reported_errors():\n"
        "        exec('raise KeyboardInterrupt')\n"
        "typer.run(verb)\n"
    )
    command = [sys.executable, "-m", "verb"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=HANG_S)
    assert (ended.stderr, ended.returncode) == ("natxy: interrupted\n", 130)


def test_an_output_that_takes_nothing_is_told_in_a_line(tmp_path: Path) -> None:
    done = natxy(">/dev/full", tmp_path)
    assert done.returncode == 2
    error, more = done.stderr.splitlines()
    assert error == "natxy: the output could not be written: No space left on device; make room, then try again"
    assert more.endswith("docs/reference/cli.md")


def test_an_error_keeps_its_exit_code_when_nobody_reads_it(tmp_path: Path) -> None:
    script = f"({sys.executable} -m natxy check none.yaml 2>&1; echo $? > code) | true"
    subprocess.run(["sh", "-c", script], cwd=tmp_path, timeout=HANG_S, check=True)
    assert (tmp_path / "code").read_text() == "2\n"


def test_a_closed_output_is_no_error(tmp_path: Path) -> None:
    done = natxy(">&-", tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_locale_without_a_character_gets_the_others(tmp_path: Path) -> None:
    text = "name: a\ndescription: µ – 5\nexperiments: []\nproblem•: 1\n"
    (tmp_path / "plan.yaml").write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "natxy", "check", "plan.yaml"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=HANG_S,
        check=False,
        env=os.environ | {"PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 2
    assert "problem?: unknown field" in done.stderr
