# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.model.traffic import line_rate_fps


def test_line_rate_of_64_byte_frames_is_the_known_one() -> None:
    assert line_rate_fps(10e9, 64) == pytest.approx(14_880_952.38)
