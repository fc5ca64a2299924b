# SPDX-License-Identifier: Apache-2.0
"""Every search by the word a plan's `search: {kind: ...}` names it with."""

from __future__ import annotations

from typing import Final

SEARCHES: Final[dict[str, str]] = {
    "binary": "halves the bracket until it is as narrow as `error` (RFC 2544 §26.1)",
    "mlrsearch": "goes by the loss of trials, short ones before long ones where wanted (RFC 9971)",
}
