# SPDX-License-Identifier: Apache-2.0
"""Names the kinds of figures by whether more of them is better."""

from __future__ import annotations

from enum import StrEnum


class Better(StrEnum):
    """The two kinds of lists, by what such actions call them; every figure is in one of them."""

    BIGGER = "bigger-is-better"
    SMALLER = "smaller-is-better"
