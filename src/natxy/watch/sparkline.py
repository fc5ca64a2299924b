# SPDX-License-Identifier: Apache-2.0
"""Draws a row of numbers as a line of small bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_BARS: Final = "▁▂▃▄▅▆▇█"
_ASCII_BARS: Final = "_.-=+*#@"


@dataclass(frozen=True)
class Bar:
    value: float
    style: str


@dataclass(frozen=True)
class Sparkline:
    """Shows the last bars that fit into `most` columns, and a text after them.

    The lowest value has the lowest bar and the highest value the highest; with `from_zero`, 0 has the lowest.
    """

    bars: Sequence[Bar]
    after: str
    most: int
    from_zero: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        signs = _ASCII_BARS if options.ascii_only else _BARS
        shown = self.bars[-self.most :]
        line = Text(no_wrap=True, overflow="ellipsis")
        for bar, height in zip(shown, _heights([bar.value for bar in shown], self.from_zero), strict=True):
            line.append(signs[height], style=bar.style)
        line.append(f"  {self.after}" if shown and self.after else self.after)
        yield line


def _heights(values: Sequence[float], from_zero: bool) -> Iterable[int]:
    low = 0.0 if from_zero else min(values, default=0.0)
    span = max(values, default=0.0) - low
    return (round((value - low) / span * (len(_BARS) - 1)) if span else 0 for value in values)
