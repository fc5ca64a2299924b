# SPDX-License-Identifier: Apache-2.0
"""Words that plans and the engine share."""

from __future__ import annotations

from enum import StrEnum


class Family(StrEnum):
    IPV4 = "ipv4"
    IPV6 = "ipv6"


class Order(StrEnum):
    """How the values of a varying field follow each other (RFC 9693 §4.4)."""

    INCREASING = "increasing"
    DECREASING = "decreasing"
    PSEUDORANDOM = "pseudorandom"
