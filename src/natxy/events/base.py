# SPDX-License-Identifier: Apache-2.0
"""Defines what all events share: when they happened."""

from __future__ import annotations

from time import monotonic
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from natxy.results.store import timestamp
from natxy.untrusted.values import Moment, Real

VERSION: Final = 2
"""The version of the events. It changes when a field changes its meaning or goes; new fields and events may come."""

READ_VERSIONS: Final = (1, VERSION)
"""The versions that are read. In 1, `testbed_built` told its caveats without their kinds, and they are left out."""


class Event(BaseModel):
    """One thing that happened. Every event is a subclass with a field `event: Literal["NAME"] = "NAME"`."""

    # A later natxy may tell more.
    model_config = ConfigDict(extra="ignore", frozen=True)

    event: str
    time: Moment = Field(default_factory=timestamp, description="when it happened")
    clock_s: Real = Field(
        default_factory=monotonic,
        description="the same in seconds of a clock that nobody sets",
    )
