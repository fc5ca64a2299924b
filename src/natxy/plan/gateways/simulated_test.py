# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pydantic import ValidationError

from natxy.plan.gateways.simulated import Stalls


def test_stalls_are_some_time_apart() -> None:
    with pytest.raises(ValidationError, match="expected a time above 0 s; a gateway without stalls has no `stalls`"):
        Stalls.model_validate({"every": 0, "duration": "1ms"})
    assert Stalls.model_validate({"every": "1ms", "duration": 0}).every == 0.001
