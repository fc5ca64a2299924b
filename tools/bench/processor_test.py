# SPDX-License-Identifier: Apache-2.0
from tools.bench.processor import best_isa, flags

V2 = ["cx16", "lahf_lm", "popcnt", "sse4_1", "sse4_2", "ssse3"]
V3 = [*V2, "abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"]
V4 = [*V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"]


def test_a_processor_reaches_the_level_whose_flags_it_has() -> None:
    assert [best_isa(has) for has in (["fpu"], V2, V3, V4)] == ["x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"]


def test_a_processor_that_lacks_a_lower_level_does_not_reach_a_higher_one() -> None:
    assert best_isa([flag for flag in V4 if flag != "movbe"]) == "x86-64-v2"


def test_this_machine_has_a_level() -> None:
    # The engine's own builds start at x86-64-v2, and a machine without it can't run DPDK.
    assert best_isa(flags()) in ("x86-64-v2", "x86-64-v3", "x86-64-v4")
