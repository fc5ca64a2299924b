# SPDX-License-Identifier: Apache-2.0
"""Names what a self-test measures by default."""

from __future__ import annotations

from typing import Final

FRAME_SIZES: Final = (512, 1518)
"""Measured besides the smallest frame of each family."""
TRIAL_S: Final = 0.1
REPEAT: Final = 2
