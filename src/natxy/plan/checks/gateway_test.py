# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest

from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of

NAT: dict[str, Any] = {"driver": "command", "masquerades": True}


def problems(**own: Any) -> dict[str, str]:
    experiment = {"name": "masq", "gateway": NAT, "procedure": "throughput", "search": {"max_rate": "20k"}, **own}
    return problems_of(Plan.model_validate({"name": "p", "experiments": [experiment]}))


@pytest.mark.parametrize("own", [{}, {"flows": 1000}, {"directions": "reverse"}, {"directions": "bidirectional"}])
def test_frames_to_hidden_hosts_that_no_connection_made_are_refused(own: dict[str, Any]) -> None:
    [(field, message)] = problems(**own).items()
    assert field == "experiments[0].gateway"
    assert message.startswith("command hides the left hosts, and frames that the right side sends to their own")
    assert "`stateful: true`" in message
    assert "`directions: forward`" in message


@pytest.mark.parametrize(
    "own",
    [
        {"directions": "forward"},
        {"gateway": {"driver": "command"}},
        {"gateway": NAT | {"stateful": True, "clear": [["x"]]}, "connections": 1000, "phase1_rate": "1k"},
        {"gateway": NAT, "translation": "siit"},
    ],
)
def test_frames_that_are_translated_both_ways_or_sent_one_way_are_measured(own: dict[str, Any]) -> None:
    assert problems(**own) == {}
