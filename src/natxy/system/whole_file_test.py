# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from natxy.system.whole_file import whole_file


def test_new_content_replaces_the_file(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    for text in (b"one", b"two"):
        with whole_file(file) as out:
            out.write(text)
        assert file.read_bytes() == text
    assert [*tmp_path.iterdir()] == [file]


@pytest.mark.parametrize("before", [None, b"before"])
def test_a_file_stays_as_it_was_when_the_writing_fails(tmp_path: Path, before: bytes | None) -> None:
    file = tmp_path / "a.csv"
    if before is not None:
        file.write_bytes(before)

    def fail() -> None:
        with whole_file(file) as out:
            out.write(b"half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == ([] if before is None else [before])


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "a.csv")
    with whole_file(tmp_path / "link") as out:
        out.write(b"one")
    assert ((tmp_path / "link").is_symlink(), (tmp_path / "a.csv").read_bytes()) == (True, b"one")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    with whole_file(pipe) as out:
        out.write(b"one")
    reader.join()
    assert (read, pipe.is_fifo()) == ([b"one"], True)
