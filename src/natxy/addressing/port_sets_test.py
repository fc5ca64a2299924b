# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.addressing.port_sets import PortSet, psid_of

port_sets = (
    st.tuples(st.integers(0, 16), st.integers(1, 16))
    .filter(lambda bits: sum(bits) <= 16)
    .flatmap(lambda bits: st.builds(PortSet, st.integers(0, (1 << bits[1]) - 1), st.just(bits[1]), st.just(bits[0])))
)


# RFC 7597, Appendix B: with R = 2^k and M = 2^m, port = R·M·i + M·PSID + j.
@given(port_sets)
def test_the_ports_are_those_of_the_generalised_modulus_algorithm(own: PortSet) -> None:
    ratio, contiguous = 1 << own.psid_length, 1 << (16 - own.offset - own.psid_length)
    expected = [
        ratio * contiguous * index + contiguous * own.psid + within
        for index in range(1 if own.offset else 0, 1 << own.offset)
        for within in range(contiguous)
    ]
    assert [port for each in own.ranges for port in each] == expected
    assert len(own) == len(expected)
    assert {expected[0], expected[-1]} <= {port for port in range(1 << 16) if port in own}
    assert all(psid_of(port, own.psid_length, own.offset) == own.psid for port in expected[:100])


@given(st.integers(0, 65_535), st.integers(0, 10), st.integers(1, 6))
def test_a_port_has_at_most_one_owner(port: int, offset: int, length: int) -> None:
    owners = [psid for psid in range(1 << length) if port in PortSet(psid, length, offset)]
    excluded = offset > 0 and port >> (16 - offset) == 0
    assert owners == ([] if excluded else [psid_of(port, length, offset)])


def test_the_first_and_the_last_ranges_of_published_sets() -> None:
    first = PortSet(0, 8, 6).ranges
    assert (first[0], first[1], first[-1]) == (range(1024, 1028), range(2048, 2052), range(64_512, 64_516))
    assert PortSet(0, 6, 0).ranges == [range(1024)]


def test_all_ports_belong_to_who_shares_with_nobody() -> None:
    assert PortSet(0, 0, 6).ranges == [range(65_536)]
    assert 80 in PortSet()


@pytest.mark.parametrize(("psid", "length", "offset"), [(0, 11, 6), (0, -1, 6), (0, 4, -1), (16, 4, 0), (-1, 4, 0)])
def test_what_a_port_cannot_hold_is_refused(psid: int, length: int, offset: int) -> None:
    with pytest.raises(ValueError, match="expected"):
        PortSet(psid, length, offset)
