# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.rps import cpu_mask


@pytest.mark.parametrize(("cores", "mask"), [([], "0"), ([0], "1"), ([1, 3], "a"), ([32, 1], "1,00000002")])
def test_mask_in_the_kernels_words(cores: list[int], mask: str) -> None:
    assert cpu_mask(cores) == mask


@given(st.sets(st.integers(0, 200)))
def test_mask_holds_exactly_its_cores(cores: set[int]) -> None:
    number = int(cpu_mask(cores).replace(",", ""), 16)
    assert {core for core in range(256) if number >> core & 1} == cores
