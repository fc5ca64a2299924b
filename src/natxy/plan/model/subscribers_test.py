# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.model.subscribers import Subscribers, as_prefix


def test_each_has_an_address_or_a_part_of_its_ports() -> None:
    own = Subscribers.model_validate({"ipv4": "10.0.128.0/24"})
    assert (own.count, own.share_addresses) == (256, False)
    assert str(own.subscriber(7).ipv4) == "10.0.128.7"
    shared = Subscribers.model_validate({"ipv4": "10.0.128.0/24", "ea_length": 12})
    assert (shared.count, shared.share_addresses) == (4096, True)
    assert (str(shared.subscriber(0x7B).ipv4), shared.subscriber(0x7B).ports.psid) == ("10.0.128.7", 0xB)


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"ea_length": 7}, "7 EA bits give each subscriber a prefix"),
        ({"ea_length": 17}, "make prefixes of 65 bits; expected at most 64"),
        ({"ipv6": "fd00:2::/40", "ea_length": 19}, "at most 16 bits together, got 6 and 11"),
    ],
)
def test_a_rule_that_cannot_be_played_is_refused(own: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Subscribers.model_validate({"ipv4": "10.0.128.0/24"} | own)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (256, r"got 256; a prefix tells how many: write \{ipv4: 198.18.128.0/24\}$"),
        (300, r"write \{ipv4: 198.18.128.0/23\}, which has 512: a prefix has a power of two"),
        (1, r"write \{ipv4: 198.18.128.0/32\}$"),
        (0, r"expected a mapping such as \{ipv4: 198.18.128.0/24\}"),
        (1_000_000, r"expected a mapping such as \{ipv4: 198.18.128.0/24\}"),
    ],
)
def test_a_number_of_subscribers_is_told_as_a_prefix(given: int, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        as_prefix(given)
    assert as_prefix({"ipv4": "198.18.128.0/24"}) == {"ipv4": "198.18.128.0/24"}
