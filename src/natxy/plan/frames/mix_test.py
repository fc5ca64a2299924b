# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from natxy.plan.frames.mix import MOST_FRAMES, NAMED_MIXES, Mix, mean_bytes, mix_sizes, sizes_text

MIX: TypeAdapter[str] = TypeAdapter(Mix)


@pytest.mark.parametrize(("name", "mean"), [("imix", 361.8), ("imix-csit", 353.8)])
def test_the_named_mixes_have_their_shares_and_their_mean(name: str, mean: float) -> None:
    sizes = mix_sizes(name, 64)
    assert round(mean_bytes(sizes), 1) == mean
    counts = Counter(sizes)
    shares = NAMED_MIXES[name]
    assert {size: count * sum(shares.values()) / len(sizes) for size, count in counts.items()} == shares


def test_a_genome_is_the_order_itself() -> None:
    assert mix_sizes("aabgia", 64) == (64, 64, 128, 1518, 9000, 64)


def test_the_smallest_frames_become_those_that_hold_a_test_frame() -> None:
    assert mix_sizes("abg", 84) == (84, 128, 1518)
    # Other sizes are never replaced without a word.
    assert mix_sizes("1x70, 1x128", 84) == (70, 128)


def test_shares_are_written_in_one_way() -> None:
    assert MIX.validate_python(" 2 × 1518,14x64 ,8x594") == "7x64, 4x594, 1x1518"
    assert MIX.validate_python("imix") == "imix"


def test_shares_are_spread_evenly() -> None:
    assert mix_sizes("3x64, 1x1518", 64) == (64, 64, 1518, 64)
    assert mix_sizes("6 × 64, 2 × 1518", 64) == (64, 64, 1518, 64)


@given(st.dictionaries(st.integers(64, 9216), st.integers(1, 99), min_size=2, max_size=8))
def test_after_each_frame_every_size_has_had_its_share(shares: dict[int, int]) -> None:
    sizes = mix_sizes(MIX.validate_python(", ".join(f"{times}x{size}" for size, times in shares.items())), 64)
    total = sum(shares.values())
    had = dict.fromkeys(shares, 0)
    for number, size in enumerate(sizes, 1):
        had[size] += 1
        assert all(abs(had[each] - shares[each] * number / total) < 1.5 for each in shares)
    assert {each: had[each] * total for each in had} == {each: shares[each] * len(sizes) for each in shares}


@pytest.mark.parametrize(
    ("given_mix", "expected"),
    [
        ("", "expected imix, imix-csit, a genome of the letters a to i"),
        ("internet", "expected imix, imix-csit, a genome of the letters a to i"),
        ("aaz", "such as aaaaaaabbbbg, or shares such as 7x64, 4x594, 1x1518"),
        ("7x64, 4x", "or shares such as 7x64, 4x594, 1x1518"),
        ("7x64, 4x64", "expected each size once"),
        ("7x63", "expected sizes from 64 to 9216 bytes, each at least once"),
        ("1x64, 1x9217", "expected sizes from 64 to 9216 bytes"),
        ("0x64, 1x1518", "each at least once"),
        ("a" * (MOST_FRAMES + 1), f"expected at most {MOST_FRAMES} frames before the mix repeats"),
        ("1000x64, 999x128", f"expected at most {MOST_FRAMES} frames before the mix repeats"),
        ("12x64", "expected at least two sizes, got '12x64'; put shares with commas"),
        ("a", "expected at least two sizes"),
        (64, "should be a valid string"),
    ],
)
def test_what_is_no_mix_is_refused(given_mix: object, expected: str) -> None:
    with pytest.raises(ValidationError, match=expected.replace("(", r"\(")):
        MIX.validate_python(given_mix)


def test_a_mix_in_words() -> None:
    assert sizes_text(mix_sizes("imix", 64)) == "7 × 64 + 4 × 594 + 1 × 1518 bytes (mean 361.8)"
    assert sizes_text([128]) == "128 bytes"
    assert sizes_text([64, 64]) == "2 × 64 bytes (mean 64.0)"
