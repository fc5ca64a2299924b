# SPDX-License-Identifier: Apache-2.0
"""What a report states of every delay (RFC 8219 §7.2 asks which definition of latency applies)."""

from __future__ import annotations

from typing import Final

DELAY_DEFINITION: Final = {
    "Definition of delay": "RFC 1242 §3.8, store and forward: of whole frames, from handing one to a port to fetching "
    "it from the other"
}
