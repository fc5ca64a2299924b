# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.interfaces import cpu_mask, napi_in_threads
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.system.machine_sysctls import MachineSysctls


@pytest.mark.parametrize(("cores", "mask"), [([], "0"), ([0], "1"), ([1, 3], "a"), ([32, 1], "1,00000002")])
def test_mask_in_the_kernels_words(cores: list[int], mask: str) -> None:
    assert cpu_mask(cores) == mask


@given(st.sets(st.integers(0, 200)))
def test_mask_holds_exactly_its_cores(cores: set[int]) -> None:
    number = int(cpu_mask(cores).replace(",", ""), 16)
    assert {core for core in range(256) if number >> core & 1} == cores


@pytest.mark.parametrize(("states", "threaded"), [({"a": "1", "b": "0"}, ["a"]), ({"b": "1"}, ["b"]), ({}, [])])
def test_interfaces_with_threaded_napi(states: dict[str, str], threaded: list[str]) -> None:
    class Kernel(LocalTransport):
        def run(
            self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
        ) -> CompletedCommand:
            state = states.get(argv[1].split("/")[4])
            assert not check, "older kernels have no such file"
            return CompletedCommand(tuple(argv), 0 if state else 1, f"{state}\n" if state else "", "")

    assert napi_in_threads(Kernel(MachineSysctls()), DutInterfaces("a", "b")) == threaded
