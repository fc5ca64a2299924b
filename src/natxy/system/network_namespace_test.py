# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from natxy.system.network_namespace import OWN, Process, cookie_of, find_namespace, own_cookie, processes_in

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or subprocess.run(["unshare", "--net", "true"], check=False, capture_output=True).returncode != 0,
    reason="needs to make network namespaces",
)


@pytest.fixture
def other() -> Iterator[Path]:
    """Yields a file that stands for a namespace without a name, which ends with its process."""
    command = ["unshare", "--net", "sh", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield Path(f"/proc/{process.pid}/ns/net")
        process.kill()


def test_ones_own_is_found_first() -> None:
    assert cookie_of(OWN) == own_cookie()
    assert find_namespace(own_cookie()) == OWN


def test_one_without_a_name_is_found_by_its_process(other: Path) -> None:
    before = own_cookie()
    cookie = cookie_of(other)
    assert cookie is not None
    assert cookie != before
    assert own_cookie() == before
    assert find_namespace(cookie) == other


def test_one_that_is_gone_is_not_found(other: Path) -> None:
    cookie = cookie_of(other)
    assert cookie is not None
    os.kill(int(other.parts[2]), 9)
    os.waitid(os.P_PID, int(other.parts[2]), os.WEXITED | os.WNOWAIT)
    assert find_namespace(cookie) is None
    assert cookie_of(other) is None


def test_what_is_no_namespace_has_no_cookie(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert cookie_of(tmp_path / "file") is None
    assert cookie_of(tmp_path / "nothing") is None


def test_the_processes_inside_are_listed_until_they_end(other: Path) -> None:
    pid = int(other.parts[2])
    # The shell may not have become `sleep` yet.
    [process] = processes_in(other)
    assert process in {Process(pid, os.getpid(), name) for name in ("sh", "sleep")}
    own = next(process for process in processes_in(OWN) if process.pid == os.getpid())
    assert own.parent == os.getppid()
    # The file of a process that has ended stands for no namespace.
    os.kill(pid, 9)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    assert processes_in(other) == []
