# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.plan.model.problems import field_path, shortened


def test_a_field_is_named_by_its_path() -> None:
    assert field_path(("experiments", 1, "search", "max_rate")) == "experiments[1].search.max_rate"
    assert field_path(()) == ""


def test_only_a_very_long_text_is_shortened() -> None:
    assert shortened("x" * 500) == "x" * 500
    assert shortened("x" * 501) == "x" * 500 + "…"
