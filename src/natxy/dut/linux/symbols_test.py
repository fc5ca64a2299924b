# SPDX-License-Identifier: Apache-2.0
"""Tests the names of addresses in a kernel."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.linux.symbols import KERNEL, KernelSymbols

TEXT = """\
ffffffff81000000 T _stext
ffffffff81000100 t ip_forward
ffffffff81000200 D jiffies
ffffffffc0001000 t nft_do_chain\t[nf_tables]
ffffffffc0001080 T nft_register\t[nf_tables]
"""


def test_an_address_is_in_the_function_that_begins_before_it() -> None:
    symbols = KernelSymbols(TEXT)
    assert symbols.place(0xFFFFFFFF81000100) == ("ip_forward", KERNEL)
    assert symbols.place(0xFFFFFFFF810001FF) == ("ip_forward", KERNEL)
    # What is no function has no instructions.
    assert symbols.place(0xFFFFFFFF81000210) == ("ip_forward", KERNEL)
    assert symbols.place(0xFFFFFFFFC0001001) == ("nft_do_chain [nf_tables]", "[nf_tables]")
    assert symbols.place(0xFFFFFFFF80000000) == (KERNEL, KERNEL)


def test_counts_are_summed_and_the_largest_come_first() -> None:
    modules, functions = KernelSymbols(TEXT).by_place({
        0xFFFFFFFF81000100: 1, 0xFFFFFFFF81000180: 2, 0xFFFFFFFFC0001000: 40, 0xFFFFFFFFC0001080: 5,
    })  # fmt: skip
    assert [*modules.items()] == [("[nf_tables]", 45), (KERNEL, 3)]
    assert [*functions.items()] == [
        ("nft_do_chain [nf_tables]", 40),
        ("nft_register [nf_tables]", 5),
        ("ip_forward", 3),
    ]


def test_who_may_not_see_addresses_knows_no_functions() -> None:
    hidden = KernelSymbols(
        TEXT.replace("ffffffff8", "000000000").replace("ffffffffc000", "0" * 12).replace("1000", "0000")
    )
    assert not KernelSymbols("0000000000000000 T _stext\n")
    assert not KernelSymbols()
    assert KERNEL in hidden.place(1)


@given(st.text(), st.integers(0, 2**64 - 1))
def test_any_text_is_read(text: str, address: int) -> None:
    function, module = KernelSymbols(text + TEXT).place(address)
    assert function
    assert module


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.integers(1, 2**40)))
def test_no_count_is_lost(counts: dict[int, int]) -> None:
    for found in KernelSymbols(TEXT).by_place(counts):
        assert sum(found.values()) == sum(counts.values())
