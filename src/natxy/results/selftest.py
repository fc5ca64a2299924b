# SPDX-License-Identifier: Apache-2.0
"""What a tester found out about itself, and where that is kept: a JSON file for each tester, in XDG's state folder."""

from __future__ import annotations

import os
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.terms import Family
from natxy.results.tester import Tester
from natxy.system.whole_file import whole_file


class Variant(StrEnum):
    """What differs from frame to frame: nothing, the ports (RFC 4814), or addresses and ports."""

    FIXED = "fixed"
    PORTS = "ports"
    ADDRESSES = "addresses"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Ceiling(_Model):
    """`rate_fps`: per direction, what passed without loss and in time in every one of `repeats`. `open`: the highest
    rate tried passed, so that the ceiling may be higher."""

    family: Family
    frame_size: int
    variant: Variant
    both_ways: bool
    rate_fps: float
    open: bool
    repeats: int


class PacingError(_Model):
    """Of every frame's actual minus due time. `histogram`: (upper bound in ns, frames); none of an older natxy."""

    rate_fps: float
    median_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    histogram: list[tuple[int, int]] = []


class SelfTest(_Model):
    """`receive_fps`: the most frames per second that came in at one port; `receive_limited`: and the port lost some
    then, so that it takes no more. `least_delay_ns`: from sending to reception, with nothing in between."""

    tester: Tester
    measured_at: str
    natxy_version: str
    kernel: str
    ceilings: list[Ceiling]
    receive_fps: float
    receive_limited: bool
    least_delay_ns: int | None
    pacing: list[PacingError]


def state_folder() -> Path:
    """XDG's, for natxy's self-tests."""
    given = os.environ.get("XDG_STATE_HOME", "")
    # Relative paths are to be ignored (XDG Base Directory Specification).
    base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    return base / "natxy" / "selftest"


def save(found: SelfTest) -> Path:
    """OSError where the state folder cannot be written."""
    file = state_folder() / found.tester.file_name
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(file) as out:
        out.write((found.model_dump_json(indent=2) + "\n").encode())
    return file


def stored(tester: Tester) -> SelfTest | None:
    """Of this very tester; None where none was made, or by a natxy that wrote it another way."""
    try:
        found = SelfTest.model_validate_json((state_folder() / tester.file_name).read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return None
    return found if found.tester == tester else None


def variant_of(settings: dict[str, Any]) -> Variant:
    """Of a resolved experiment's traffic."""
    sides = (settings["addresses"][side] for side in ("left_hosts", "right_hosts"))
    if any(AddressRanges.model_validate(hosts).size > 1 for hosts in sides):
        return Variant.ADDRESSES
    if any(ports["min"] != ports["max"] for ports in settings["ports"].values()):
        return Variant.PORTS
    return Variant.FIXED
