# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Final

import pytest
import typer
from typer.testing import CliRunner

from natxy import installation
from natxy.cli import added, app
from natxy.cli.added import DISTRIBUTIONS, VERBS, Program
from natxy.cli.completion import verbs_and_words
from natxy.cli.guide.help import show_help
from natxy.shipped import DOCS
from tests.support.command import HANG_S
from tests.support.pages import anchors

_SOURCE: Final = '''\
import typer

def greet(name: str, *, loudly: bool = False) -> None:
    """Greet somebody.

    This is what a distribution adds.
    """
    print(f"Hello, {name}{'!' if loudly else '.'}")
'''


def distribution(folder: Path, **verbs: str) -> None:
    """Makes a distribution in a folder that is on Python's path, with the module `greeting` and these verbs."""
    (folder / "greeting.py").write_text(_SOURCE, encoding="utf-8")
    metadata = folder / "natxy_greeting-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: natxy-greeting\nVersion: 1.0\n", encoding="utf-8")
    points = "".join(f"{name} = {value}\n" for name, value in verbs.items())
    (metadata / "entry_points.txt").write_text(f"[{VERBS}]\n{points}", encoding="utf-8")


def natxy(*words: str, path: Path) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(path), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-m", "natxy", *words]
    environment = os.environ | {"PYTHONPATH": paths}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HANG_S, check=False)


def program() -> typer.Typer:
    """Returns a program with a verb of its own, and those that are added to it."""
    fresh = typer.Typer(cls=Program, add_completion=False, rich_markup_mode=None)
    fresh.command("run")(lambda: print("natxy's own"))
    fresh.command("help")(show_help)
    return fresh


def entries(monkeypatch: pytest.MonkeyPatch, **verbs: str) -> None:
    """Lets the entry points of the group be these."""
    points = [EntryPoint(name, value, VERBS) for name, value in verbs.items()]
    monkeypatch.setattr(added, "entry_points", lambda group: points if group == VERBS else [])


def test_the_verbs_of_a_distribution_are_natxys(tmp_path: Path) -> None:
    distribution(tmp_path, greet="greeting:greet", list="greeting:greet")
    done = natxy("greet", "world", "--loudly", path=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Hello, world!\n", "")
    listed = natxy("--help", path=tmp_path).stdout
    assert "  greet " in listed
    assert "Greet somebody." in listed
    assert "This is what a distribution adds." in natxy("help", "greet", path=tmp_path).stdout
    # No verb of natxy's is replaced.
    assert "throughput" in natxy("list", "procedures", path=tmp_path).stdout


def test_bad_usage_of_an_added_verb_is_told_as_of_natxys_own(tmp_path: Path) -> None:
    distribution(tmp_path, greet="greeting:greet")
    done = natxy("greet", path=tmp_path)
    assert done.returncode == 2
    assert "Missing argument 'name'" in done.stderr
    assert "docs/reference/cli.md" in done.stderr


def test_natxys_own_verbs_do_not_look_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def looked_for(group: str) -> None:
        raise AssertionError(group)

    monkeypatch.setattr(added, "entry_points", looked_for)
    done = CliRunner().invoke(program(), ["run"])
    assert (done.exit_code, done.stdout) == (0, "natxy's own\n")


@pytest.mark.parametrize("value", ["nowhere.at:all", "natxy.cli.added:missing", "natxy.cli.added:VERBS"])
def test_a_verb_that_cannot_be_loaded_says_so_when_it_is_called(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch, greet=value)
    fresh = program()
    assert "greet" not in CliRunner().invoke(fresh, ["--help"]).stdout
    assert CliRunner().invoke(fresh, ["run"]).exit_code == 0
    done = CliRunner().invoke(fresh, ["greet", "world", "--loudly"])
    assert done.exit_code == 2
    assert f"`natxy greet` of {value} could not be loaded (" in done.stderr
    assert f"): install {value} again" in done.stderr


@pytest.mark.parametrize("verb", DISTRIBUTIONS)
def test_without_its_distribution_a_verb_says_what_to_install(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch)
    fresh = program()
    assert f"  {verb} " not in CliRunner().invoke(fresh, ["--help"]).stdout
    for words in ([], ["siitperf.conf", "--arguments", "84 1 1 1 2 2"]):
        done = CliRunner().invoke(fresh, [verb, *words])
        assert done.exit_code == 2
        wanted = (
            f"natxy: `natxy {verb}` needs the distribution natxy-siitperf, which is not installed: run `make setup`"
        )
        assert done.stderr.splitlines()[0] == wanted
        assert done.stderr.splitlines()[1].endswith("docs/how-to/install.md#for-users-of-siitperf")
    assert "Needs natxy-siitperf, which is not installed." in CliRunner().invoke(fresh, ["help", verb]).stdout


def test_outside_a_clone_a_page_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(installation, "_MAKEFILE", tmp_path / "Makefile")
    entries(monkeypatch)
    done = CliRunner().invoke(program(), ["import"])
    said = done.stderr.splitlines()[0]
    assert "which is not installed: install it, as " in said
    assert said.endswith("docs/how-to/install.md#for-users-of-siitperf says")
    assert "for-users-of-siitperf" in anchors(DOCS / "how-to/install.md")


def test_shells_do_not_complete_verbs_that_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    entries(monkeypatch)
    command = typer.main.get_command(program())
    context = command.make_context("natxy", ["run"])
    completed = verbs_and_words(typer.Context(command, parent=context))
    assert "run" in completed
    assert not DISTRIBUTIONS.keys() & {*completed}


def test_all_verbs_that_the_documentation_names_are_there() -> None:
    assert DISTRIBUTIONS.keys() <= getattr(typer.main.get_command(app), "commands", {}).keys()
