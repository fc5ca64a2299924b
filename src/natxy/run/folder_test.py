# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import stat
from contextlib import ExitStack
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.run.folder import make_folder, remove_folder, sole_owner


def test_what_is_made_can_be_removed(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "b" / "run"
    made = make_folder(folder)
    assert made == [folder, folder.parent, folder.parent.parent]
    assert stat.S_IMODE(folder.stat().st_mode) == 0o750
    (folder / "plan.yaml").write_text("name: x")
    (tmp_path / "a" / "of another run").mkdir()
    remove_folder(folder, made)
    assert [path.name for path in tmp_path.rglob("*")] == ["a", "of another run"]


def test_an_empty_folder_is_used_and_stays(tmp_path: Path) -> None:
    made = make_folder(tmp_path)
    assert made == []
    (tmp_path / "plan.yaml").write_text("name: x")
    remove_folder(tmp_path, made)
    assert [*tmp_path.iterdir()] == []


def test_no_result_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for taken in (tmp_path, tmp_path / "file"):
        with pytest.raises(PlanError, match="exists already; choose another --output"):
            make_folder(taken)
    with pytest.raises(PlanError, match="cannot be made: "):
        make_folder(tmp_path / "file" / "run")


def test_one_waits_for_the_owner_as_long_as_it_wants_to(tmp_path: Path) -> None:
    answers = [False, True, True]
    with (
        sole_owner(tmp_path),
        pytest.raises(PlanError, match="another natxy is measuring into"),
        sole_owner(tmp_path, wait=answers.pop),
    ):
        pass
    assert answers == []
    with ExitStack() as owner:
        owner.enter_context(sole_owner(tmp_path))

        def release() -> bool:
            owner.close()
            return True

        with sole_owner(tmp_path, wait=release):
            pass


@pytest.mark.parametrize("made_anew", [False, True])
def test_a_folder_that_its_owner_removes_has_no_other_one(tmp_path: Path, made_anew: bool) -> None:
    folder = tmp_path / "run"
    made = make_folder(folder)
    with ExitStack() as owner:
        owner.enter_context(sole_owner(folder))

        def remove() -> bool:
            remove_folder(folder, made)
            if made_anew:
                folder.mkdir()
            owner.close()
            return True

        with pytest.raises(PlanError, match="was removed by another natxy"), sole_owner(folder, wait=remove):
            pass
    assert folder.exists() == made_anew


def test_a_folder_that_is_gone_is_removed(tmp_path: Path) -> None:
    remove_folder(tmp_path / "run", [tmp_path / "run"])
    assert [*tmp_path.iterdir()] == []


def test_a_folder_has_one_owner(tmp_path: Path) -> None:
    with sole_owner(tmp_path), pytest.raises(PlanError, match="another natxy is measuring into"), sole_owner(tmp_path):
        pass
    with sole_owner(tmp_path):
        pass
    with pytest.raises(PlanError, match="is not a run folder: No such file or directory"), sole_owner(tmp_path / "x"):
        pass
