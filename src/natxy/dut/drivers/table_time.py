# SPDX-License-Identifier: Apache-2.0
"""How long a gateway may take to go through its whole table."""

from __future__ import annotations

from typing import Final

_AT_LEAST_S: Final = 30.0
# A seventh of what the slowest published gateway does (draft-lencse-v6ops-transition-scalability-03). Nothing waits
# longer than the command takes, so there is no harm in a limit that is far too long.
_ENTRIES_PER_S: Final = 50_000


def longest_s(entries: int) -> float:
    """Seconds after which a command that goes through so many entries, or buckets, is given up."""
    return _AT_LEAST_S + entries / _ENTRIES_PER_S
