# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
from pathlib import Path

import pytest

from natxy.system.whole_file import appended_file, whole_file


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


def test_a_link_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"precious")
    (tmp_path / "link").symlink_to(tmp_path / "other")
    with whole_file(tmp_path / "link") as out:
        out.write(b"one")
    assert not (tmp_path / "link").is_symlink()
    assert ((tmp_path / "link").read_bytes(), (tmp_path / "other").read_bytes()) == (b"one", b"precious")


def test_no_name_beside_the_file_is_written_to(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    os.link(precious, tmp_path / "a.html")
    (tmp_path / "a.html.partial").symlink_to(precious)
    with whole_file(tmp_path / "a.html") as out:
        out.write(b"one")
    assert ((tmp_path / "a.html").read_bytes(), precious.read_bytes()) == (b"one", b"precious")


def test_a_pipe_is_replaced_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.html")
    with whole_file(tmp_path / "a.html") as out:
        out.write(b"one")
    assert (tmp_path / "a.html").read_bytes() == b"one"


def test_an_own_folder_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "charts").symlink_to(tmp_path / "other")
    with pytest.raises(NotADirectoryError), whole_file(tmp_path / "charts" / "a.svg", own_folder=True):
        pass
    with whole_file(tmp_path / "charts" / "a.svg") as out:
        out.write(b"one")
    assert [path.name for path in (tmp_path / "other").iterdir()] == ["a.svg"]


def test_appending_keeps_what_was_there_and_follows_no_link(tmp_path: Path) -> None:
    for text in (b"one", b"two"):
        with appended_file(tmp_path / "log") as log:
            log.write(text)
    assert (tmp_path / "log").read_bytes() == b"onetwo"
    (tmp_path / "link").symlink_to(tmp_path / "log")
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        appended_file(tmp_path / "link")
