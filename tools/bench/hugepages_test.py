# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tools.bench.hugepages import reserved


@pytest.mark.parametrize(("before", "during"), [(0, 512), (100, 512), (4096, 4096)])
def test_they_are_as_before_when_the_work_is_done(tmp_path: Path, before: int, during: int) -> None:
    pages = tmp_path / "nr_hugepages"
    pages.write_text(f"{before}\n")
    with reserved(pages):
        assert int(pages.read_text()) == during
    assert int(pages.read_text()) == before


def test_they_are_as_before_when_the_work_was_stopped(tmp_path: Path) -> None:
    pages = tmp_path / "nr_hugepages"
    pages.write_text("7\n")
    with pytest.raises(KeyboardInterrupt), reserved(pages):
        raise KeyboardInterrupt
    assert int(pages.read_text()) == 7


def test_the_work_is_done_where_there_can_be_none(tmp_path: Path) -> None:
    with reserved(tmp_path / "missing"):
        pass
    assert not (tmp_path / "missing").exists()
