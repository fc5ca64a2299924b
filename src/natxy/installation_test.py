# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from natxy import __version__, installation
from natxy.installation import EXTRAS, ExtraMissingError, by_make, full_version, installed_again
from natxy.shipped import DOCS

_PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def test_the_extras_are_those_of_the_project() -> None:
    project = tomllib.loads(_PROJECT.read_text(encoding="utf-8"))["project"]
    assert {name: [*needed] for name, needed in EXTRAS.items()} == project["optional-dependencies"]
    names = {name.partition(">")[0] for needed in EXTRAS.values() for name in needed}
    assert not [name for name in project["dependencies"] if name.partition(">")[0] in names]
    page = (DOCS / "how-to/install.md").read_text(encoding="utf-8")
    installed = {name: shlex.join(needed) for name, needed in EXTRAS.items()}
    rows = [line.split("|") for line in page.splitlines() if line.startswith("| `")]
    assert installed.items() <= {row[1].strip(" `"): row[3].strip(" `") for row in rows if len(row) == 5}.items()
    # A copy of natxy, which `pip install '.[watch]'` makes, would stay as it is when the clone changes.
    for extra, guide in (("watch", "watch"), ("campaign", "campaign"), ("metrics", "watch")):
        of_extra = (DOCS / f"how-to/{guide}.md").read_text(encoding="utf-8")
        assert f"    .venv/bin/pip install {installed[extra]}    # in a clone" in of_extra


def test_an_extra_is_installed_by_the_pip_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "find_spec", lambda _: object())
    assert str(ExtraMissingError("Parquet", "parquet", ", or choose csv")) == (
        "Parquet needs natxy's extra `parquet`, which is not installed: "
        f"run `{sys.executable} -m pip install 'pyarrow>=20,<27'`, or choose csv"
    )
    monkeypatch.setattr(installation, "find_spec", lambda _: None)
    monkeypatch.setattr(sys, "executable", "/usr/lib/natxy/bin/python3")
    said = str(ExtraMissingError("`natxy watch`", "watch"))
    command = "pip --python /usr/lib/natxy/bin/python3 install 'starlette>=1,<2' 'uvicorn>=0.40,<1'"
    assert said.endswith(f": run `apt install python3-pip && {command}`")
    assert f"\n    {command}\n" in (DOCS / "how-to/install.md").read_text(encoding="utf-8")


def test_a_makefile_is_only_in_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert by_make("vm") == "run `make vm`"
    assert installed_again() == "run `make setup`"
    monkeypatch.setattr(installation, "_MAKEFILE", tmp_path / "Makefile")
    assert by_make("vm") == "run `make vm` in a clone of natxy"
    assert installed_again().startswith("install natxy again, as ")
    assert "docs/how-to/install.md" in installed_again()


def test_in_a_clone_the_version_has_the_commit_and_says_if_files_differ(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version() -> str:
        full_version.cache_clear()
        return full_version()

    monkeypatch.setattr(installation, "_MAKEFILE", tmp_path / "Makefile")
    assert version() == __version__, "an installation by pip"
    git = ["git", "-C", str(tmp_path), "-c", "user.name=natxy", "-c", "user.email=natxy@localhost"]
    (tmp_path / "Makefile").write_text("all:\n")
    for words in (["init", "-q"], ["add", "Makefile"], ["commit", "-qm", "begin"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout
    assert version() == f"{__version__}+g{head[:12]}"
    (tmp_path / "notes").write_text("git does not know it")
    assert version() == f"{__version__}+g{head[:12]}"
    (tmp_path / "Makefile").write_text("all: other\n")
    assert version() == f"{__version__}+g{head[:12]}.dirty"
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "another"))
    assert version() == f"{__version__}+g{head[:12]}.dirty", "as in a hook of another repository"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert version() == __version__, "there is no git"
    full_version.cache_clear()
