# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPTS = Path(__file__).parent
_GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")


def _commit(folder: Path) -> None:
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "-m", "first"]):
        subprocess.run([*_GIT, *command], cwd=folder, check=True, capture_output=True)


def _release(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    script = folder / "tools" / "package" / "release.sh"
    found = {"PATH": "/usr/bin:/bin", **environment}
    return subprocess.run([script, sys.executable], env=found, capture_output=True, text=True)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Makes a repository whose release is one file, which tells in which folder it was made."""
    files = {
        ".gitignore": "/build/\n",
        "src/natxy/__init__.py": '__version__ = "1.2.0"\n',
        "engine/meson.build": "project(\n  'natxy-engine',\n  version: '1.2.0',\n)\n",
        "tools/package/release_files.sh": "#!/bin/sh\nmkdir -p build/release && pwd > build/release/folder\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tools/package/release_files.sh").chmod(0o755)
    for name in ("release.sh", "version.sh"):
        shutil.copy(_SCRIPTS / name, tmp_path / "tools" / "package")
    _commit(tmp_path)
    return tmp_path


def test_a_commit_without_the_tag_of_its_version_is_no_release(repository: Path) -> None:
    refused = _release(repository)
    assert refused.returncode == 2
    assert "has no tag v1.2.0: give it the tag, or try a release with `make release SNAPSHOT=1`" in refused.stderr


def test_what_is_in_no_commit_is_in_no_release(repository: Path) -> None:
    (repository / "new.txt").touch()
    refused = _release(repository, SNAPSHOT="1")
    assert refused.returncode == 2
    assert "commit these changes, or take them away:\n?? new.txt" in refused.stderr


def test_files_that_depend_on_the_folder_are_no_release(repository: Path) -> None:
    failed = _release(repository, SNAPSHOT="1")
    assert failed.returncode == 1
    assert "a clean clone made other files:\nFiles build/release/folder and" in failed.stderr
