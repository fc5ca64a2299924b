# SPDX-License-Identifier: Apache-2.0
"""Names the formats that charts are written in."""

from __future__ import annotations

from enum import StrEnum


class ChartFormat(StrEnum):
    SVG = "svg"
    PDF = "pdf"
    JSON = "json"
