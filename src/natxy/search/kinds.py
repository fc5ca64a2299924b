# SPDX-License-Identifier: Apache-2.0
"""The kinds of searches, by their names in a plan's `search: {kind: ...}`."""

from __future__ import annotations

from typing import Final

SEARCHES: Final[dict[str, str]] = {
    "binary": "halves the bracket until it is as narrow as `error` (RFC 2544 §26.1)",
    "mlrsearch": "uses the loss of trials to choose rates, optionally with short trials first (RFC 9971)",
}
