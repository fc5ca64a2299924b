# SPDX-License-Identifier: Apache-2.0
"""Tests the counts of a virtual machine's instructions, from files as the plugin writes them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import pytest

from natxy.dut.transport.base import CompletedCommand
from natxy.errors import DutError
from natxy.testbeds.vm.instructions import _MAGIC, OTHERS, PROGRAMS, GuestInstructions, find_plugin

FORWARD, CHAIN = 0xFFFFFFFF81000100, 0xFFFFFFFFC0001000
KALLSYMS = f"{FORWARD:x} t ip_forward\n{CHAIN:x} t nft_do_chain\t[nf_tables]\n"


class Guest:
    """Answers as a guest with modules; it counts how often its functions were asked for."""

    def __init__(self, kallsyms: str = KALLSYMS) -> None:
        self.modules = "nf_tables 290816 14 - Live 0xffffffffc0001000\n"
        self.kallsyms = kallsyms
        self.asked = 0

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        del input, timeout_s, check
        if argv[-1] == "/proc/modules":
            return CompletedCommand(tuple(argv), 0, self.modules, "")
        self.asked += 1
        if not self.kallsyms:
            raise DutError("no such file")
        return CompletedCommand(tuple(argv), 0, self.kallsyms, "")


def write(file: Path, *places: tuple[int, int], magic: int = _MAGIC) -> None:
    words = [magic, len(places), *(word for place in places for word in place)]
    # The plugin's file is as long as it may ever get.
    file.write_bytes(struct.pack(f"={len(words)}Q", *words).ljust(4096, b"\0"))


def test_what_is_counted_is_told_by_module_and_function(tmp_path: Path) -> None:
    counts = GuestInstructions(tmp_path / "counts")
    guest = Guest()
    counts.look_up(guest)  # type: ignore[arg-type]
    write(tmp_path / "counts", (0, 1000), (FORWARD, 50))
    counts.begin()
    # Another place is new.
    write(tmp_path / "counts", (0, 1007), (FORWARD, 80), (CHAIN, 9), (CHAIN + 4, 3))
    counts.end()
    spent = counts.spent()
    assert spent
    assert spent.count == 49
    assert spent.modules == {"kernel": 30, "[nf_tables]": 12, PROGRAMS: 7}
    assert spent.functions == {"ip_forward": 30, "nft_do_chain [nf_tables]": 12, PROGRAMS: 7}


def test_the_plugin_of_the_package_goes_before_one_that_was_built(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.prefix", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert find_plugin() is None
    packaged = tmp_path / "lib" / "natxy" / "instructions.so"
    packaged.parent.mkdir(parents=True)
    packaged.touch()
    assert find_plugin() == packaged


def test_small_functions_are_told_as_one(tmp_path: Path) -> None:
    counts = GuestInstructions(tmp_path / "counts")
    counts.look_up(Guest())  # type: ignore[arg-type]
    write(tmp_path / "counts", (0, 0), (FORWARD, 0), (CHAIN, 0))
    counts.begin()
    write(tmp_path / "counts", (0, 0), (FORWARD, 10**6), (CHAIN, 9))
    counts.end()
    spent = counts.spent()
    assert spent
    assert spent.functions == {"ip_forward": 10**6, OTHERS: 9}


def test_functions_are_asked_for_again_when_modules_have_changed(tmp_path: Path) -> None:
    counts, guest = GuestInstructions(tmp_path / "counts"), Guest()
    for _ in range(2):
        counts.look_up(guest)  # type: ignore[arg-type]
    assert guest.asked == 1
    # Only the number of its users.
    guest.modules = guest.modules.replace(" 14 ", " 15 ")
    counts.look_up(guest)  # type: ignore[arg-type]
    assert guest.asked == 1
    guest.modules += "jool 1 0 - Live 0xffffffffc0009000\n"
    counts.look_up(guest)  # type: ignore[arg-type]
    assert guest.asked == 2


def test_a_guest_that_is_not_linux_has_one_kernel(tmp_path: Path) -> None:
    counts = GuestInstructions(tmp_path / "counts")
    counts.look_up(Guest(""))  # type: ignore[arg-type]
    write(tmp_path / "counts", (0, 0), (FORWARD, 0), (CHAIN, 0))
    counts.begin()
    write(tmp_path / "counts", (0, 0), (FORWARD, 4), (CHAIN, 5))
    counts.end()
    spent = counts.spent()
    assert spent
    assert (spent.modules, spent.functions) == ({"kernel": 9}, {})


def test_nothing_is_known_without_the_plugins_file(tmp_path: Path) -> None:
    counts = GuestInstructions(tmp_path / "counts")
    assert counts.spent() is None
    counts.begin()
    counts.end()
    assert counts.spent() is None
    write(tmp_path / "counts", (0, 1), magic=1)
    counts.begin()
    counts.end()
    assert counts.spent() is None
    (tmp_path / "counts").write_bytes(b"")
    counts.begin()
    counts.end()
    assert counts.spent() is None
