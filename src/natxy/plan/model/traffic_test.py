# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pydantic import ValidationError

from natxy.plan.frames.sizes import line_rate_fps
from natxy.plan.model.traffic import PortRange


def test_line_rate_of_64_byte_frames_is_the_known_one() -> None:
    assert line_rate_fps(10e9, 64) == pytest.approx(14_880_952.38)


@pytest.mark.parametrize(
    ("written", "low", "high"),
    [("1024-65535", 1024, 65535), (" 1 – 2 ", 1, 2), (0, 0, 0), ("7-7", 7, 7), ({"min": 5, "max": 9}, 5, 9)],
)
def test_a_range_of_ports_is_text_a_port_or_a_mapping(written: object, low: int, high: int) -> None:
    ports = PortRange.model_validate(written)
    assert (ports.min, ports.max, ports.size) == (low, high, high - low + 1)


@pytest.mark.parametrize("written", ["2-1", "1-65536", "-1", "7", 65536, -1, True, "a-b", {"min": 2, "max": 1}])
def test_what_is_no_range_of_ports_is_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        PortRange.model_validate(written)
