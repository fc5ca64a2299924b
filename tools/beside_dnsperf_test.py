# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.beside_dnsperf import Found, table

WHOLE = Found(1.0, 0.5, 2.0)


@pytest.mark.parametrize(
    ("natxy", "dnsperf", "good"),
    [
        (WHOLE, WHOLE, True),
        (WHOLE, Found(0.991, 0.4, 2.01), True),
        (WHOLE, Found(0.98, 0.4, 2.0), False),
        (WHOLE, Found(1.0, 0.4, 1.0), False),
        (Found(1.0, 0.5, 3.0), WHOLE, False),
    ],
)
def test_shares_of_answers_and_the_authoritys_queries_are_compared(natxy: Found, dnsperf: Found, good: bool) -> None:
    assert table([(WHOLE, WHOLE), (natxy, dnsperf)], 1.0)[1] is good


def test_a_row_has_both() -> None:
    lines, _ = table([(WHOLE, Found(0.991, 0.4, 2.01))], 1.0)
    assert lines[-1] == "| 1 | 100.00 % | 0.50 ms | 2.000 | 99.10 % | 0.40 ms | 2.010 |"
