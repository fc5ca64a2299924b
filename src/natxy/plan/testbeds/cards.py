# SPDX-License-Identifier: Apache-2.0
"""Describes how the cards of a DUT are to be set while it is measured."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from natxy.plan.model.base import Pattern, PlanModel

OffloadName = Annotated[
    str,
    Pattern(r"[a-z][a-z0-9-]{0,60}", "an offload as `ethtool -k` prints it, such as generic-receive-offload"),
]


def _as_word(given: object) -> object:
    """Returns `on` and `off` for the truth values that some writers of YAML make of them."""
    return {True: "on", False: "off"}[given] if isinstance(given, bool) else given


class CardSettings(PlanModel):
    """Settings of both of the DUT's interfaces, which get their own back afterwards; ethtool makes them."""

    rss_fields: Literal["sd", "sdfn"] | None = None
    """Fields by which UDP is spread over queues: `sd`, addresses, or `sdfn`, addresses and ports."""
    offloads: dict[OffloadName, Annotated[Literal["on", "off"], BeforeValidator(_as_word)]] = Field(default={})
    """Offloads as `ethtool -k` names them, each `on` or `off`; default: none."""
