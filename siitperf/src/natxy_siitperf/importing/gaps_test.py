# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy_siitperf.importing.gaps import GAPS
from natxy_siitperf.keys import KEYS


def test_the_gaps_are_of_keys_and_errors_come_first() -> None:
    assert {gap.key for gap in GAPS} <= {*KEYS}
    assert [gap.is_error for gap in GAPS] == sorted((gap.is_error for gap in GAPS), reverse=True)
