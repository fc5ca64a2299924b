# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).with_name("version.sh")
_GIT = (
    "git",
    "-c",
    "user.name=a",
    "-c",
    "user.email=a@localhost",
    "-c",
    "commit.gpgsign=false",
    "-c",
    "tag.gpgsign=false",
)


def _git(folder: Path, *arguments: str) -> None:
    subprocess.run([*_GIT, *arguments], cwd=folder, check=True, capture_output=True)


def _version(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([folder / "tools" / "package" / "version.sh"], capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {
        "src/natxy/__init__.py": '__version__ = "1.2.0"\n',
        "engine/meson.build": "project(\n  'natxy-engine',\n  version: '1.2.0',\n)\n",
        "CHANGELOG.md": "## [Unreleased]\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tools" / "package").mkdir(parents=True)
    shutil.copy(_SCRIPT, tmp_path / "tools" / "package")
    _git(tmp_path, "init", "--quiet")
    _git(tmp_path, "add", "--all")
    _git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_without_a_tag_the_version_is_older_and_names_the_commit(repository: Path) -> None:
    version = _version(repository).stdout
    assert re.fullmatch(r"1\.2\.0~\d{8}\.[0-9a-f]{7,}\n", version)
    assert subprocess.run(["dpkg", "--compare-versions", version.strip(), "lt", "1.2.0"]).returncode == 0
    (repository / "CHANGELOG.md").write_text("")
    assert _version(repository).stdout == version.strip() + ".changed\n"


def test_a_tag_needs_its_section_in_the_changelog(repository: Path) -> None:
    _git(repository, "tag", "v1.2.0")
    refused = _version(repository)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "CHANGELOG.md has no section [1.2.0]" in refused.stderr
    (repository / "CHANGELOG.md").write_text("## [1.2.0]\n")
    _git(repository, "commit", "--quiet", "--all", "-m", "section")
    _git(repository, "tag", "--force", "v1.2.0")
    assert _version(repository).stdout == "1.2.0\n"


def test_the_sources_agree(repository: Path) -> None:
    (repository / "src" / "natxy" / "__init__.py").write_text('__version__ = "1.3.0"\n')
    refused = _version(repository)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "says version 1.3.0, but engine/meson.build says 1.2.0" in refused.stderr
