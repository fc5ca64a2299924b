# SPDX-License-Identifier: Apache-2.0
"""Tests what the distribution declares, and that natxy finds it."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, Final

import natxy
import natxy_siitperf
from natxy.cli.added import DISTRIBUTIONS, VERBS
from natxy.shipped import DOCS
from natxy_siitperf.arguments import ArgumentError
from natxy_siitperf.conf import ConfError
from natxy_siitperf.program import Program
from tests.support.pages import anchors

_FOLDER: Final = Path(__file__).parents[2]
_PROJECT: Final[dict[str, Any]] = tomllib.loads((_FOLDER / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def resolved(value: str) -> Any:
    module, _, name = value.partition(":")
    return getattr(import_module(module), name)


def test_the_version_is_natxys() -> None:
    assert natxy_siitperf.__version__ == natxy.__version__
    needed, *others = _PROJECT["dependencies"]
    assert needed == f"natxy=={natxy.__version__}"
    # What natxy itself needs is installed with it, in the versions that natxy takes.
    of_natxy = tomllib.loads((_FOLDER.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*others} <= {*of_natxy["dependencies"]}


def test_the_licence_is_natxys() -> None:
    assert (_FOLDER / "LICENSE").read_text(encoding="utf-8") == (_FOLDER.parent / "LICENSE").read_text(encoding="utf-8")


def test_there_is_a_program_for_each_of_siitperfs() -> None:
    assert _PROJECT["scripts"].keys() == {*Program}
    assert all(callable(resolved(value)) for value in _PROJECT["scripts"].values())


def test_the_verbs_are_those_that_natxy_documents() -> None:
    verbs = _PROJECT["entry-points"][VERBS]
    assert verbs.keys() == {name for name, distribution in DISTRIBUTIONS.items() if distribution == _PROJECT["name"]}
    assert all(resolved(value).__doc__ for value in verbs.values())


def test_the_distribution_is_installed_as_it_declares() -> None:
    found = {point.name: point.value for point in entry_points(group=VERBS)}
    assert _PROJECT["entry-points"][VERBS].items() <= found.items(), "run `make setup`"


def test_a_trial_starts_without_the_command_line() -> None:
    code = "import sys, natxy_siitperf.trial.programs; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"typer", "natxy.cli", "natxy.run", "natxy.results", "natxy.plan.experiment", "natxy_siitperf.recording"}
    assert "natxy.engine.client" in loaded
    assert not heavy & {*loaded}


def test_errors_name_pages_that_exist() -> None:
    for kind in (ArgumentError, ConfError):
        file, _, section = kind.page.partition("#")
        assert section in anchors(DOCS / file)
