# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.plan.testbeds.vm import VmConfig
from natxy.testbeds.guest import recipe
from natxy.testbeds.vm.image import find_image, image_folder


def test_natxys_own_is_booted_directly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = image_folder()
    with pytest.raises(PlanError, match=f"{folder}, the virtual machine, is missing: run `make vm`"):
        find_image(VmConfig(kind="vm"))
    folder.mkdir(parents=True)
    recipe = Path(__file__).parents[4] / "guest" / "vm.sh"
    (folder / "stamp").write_text(hashlib.sha256(recipe.read_bytes()).hexdigest() + "\n")
    image = find_image(VmConfig(kind="vm"))
    assert (image.disk, image.kernel, image.key) == (folder / "disk.img", folder / "kernel", folder / "key")


def test_natxys_own_is_refused_if_another_recipe_built_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = image_folder()
    folder.mkdir(parents=True)
    (folder / "stamp").write_text("0" * 64 + "\n")
    with pytest.raises(PlanError, match=r"vm-bookworm, the virtual machine, was built by another .*`make vm`"):
        find_image(VmConfig(kind="vm"))
    # Without a source tree there is nothing to compare with.
    monkeypatch.setattr(recipe, "_SOURCES", tmp_path / "guest")
    assert find_image(VmConfig(kind="vm")).disk == folder / "disk.img"


@pytest.mark.parametrize(("begins", "expected"), [(b"QFI\xfb\0\0\0\3", "qcow2"), (b"\xeb\x63", "raw"), (b"", "raw")])
def test_the_first_bytes_tell_the_format_of_an_own_one(tmp_path: Path, begins: bytes, expected: str) -> None:
    (tmp_path / "disk").write_bytes(begins)
    (tmp_path / "key").write_text("")
    image = find_image(VmConfig(kind="vm", image=tmp_path / "disk", key=tmp_path / "key"))
    assert image.disk_format == expected
    # Its own boot loader chooses the kernel.
    assert image.kernel is None
    assert image.known_hosts is None


@pytest.mark.parametrize("missing", ["image", "key", "known_hosts"])
def test_a_missing_file_is_named_with_its_field(tmp_path: Path, missing: str) -> None:
    files = {name: tmp_path / name for name in ("image", "key", "known_hosts")}
    for name, file in files.items():
        if name != missing:
            file.write_text("")
    with pytest.raises(PlanError, match=rf"testbed\.{missing}: {files[missing]} is no file"):
        find_image(VmConfig.model_validate({"kind": "vm"} | files))


def test_paths_are_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("disk", "key"):
        (tmp_path / name).write_text("")
    image = find_image(VmConfig(kind="vm", image=Path("disk"), key=Path("key")))
    assert (image.disk, image.key) == (tmp_path / "disk", tmp_path / "key")
