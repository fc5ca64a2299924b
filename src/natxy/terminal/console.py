# SPDX-License-Identifier: Apache-2.0
"""Prints texts of others, and output whose reader may close the pipe, on which rich would exit with code 1.

What is printed is text: no markup, no emoji codes and no control characters of its own.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import rich.console
import typer
from rich.console import ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from natxy.system.interrupts import forget
from natxy.untrusted.texts import plain


class Console(rich.console.Console):
    """Ends the verb on a broken pipe, by the exception that `reported_errors` handles."""

    def __init__(self, **options: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **options)

    def say(self, text: str, *, opening: str = "", style: str = "") -> None:
        """Prints lines of text after an `opening` in `style`.

        A terminal gets them broken between words, with the rest of a line indented. Elsewhere they stay whole.
        """
        lines = (opening + text).split("\n")
        shown = Text("\n".join(_broken(line, self.width) for line in lines) if self.is_terminal else opening + text)
        shown.stylize(style, 0, len(opening))
        self.print(shown, soft_wrap=True)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else plain(text), style, control)

    def on_broken_pipe(self) -> None:
        raise


class LastingConsole(Console):
    """Ends only the output on a broken pipe, for errors and for verbs that measure."""

    def on_broken_pipe(self) -> None:
        forget(self.file)


def _broken(line: str, width: int) -> str:
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


def beside(summaries: Mapping[str, str], width: int) -> Iterator[str]:
    """Yields lines that fit a terminal: each name, and beside it its summary, or below it where there is no room."""
    column = min(max(map(len, summaries), default=0), width // 3) + 2
    for name, summary in summaries.items():
        first, *others = textwrap.wrap(summary, width - column) or [""]
        if len(name) + 2 > column:
            yield name
            name = ""
        yield f"{name.ljust(column)}{first}".rstrip()
        yield from (" " * column + line for line in others)


def echo(text: str) -> None:
    """Prints text as it is, without wrapping its lines."""
    typer.echo(plain(text), nl=False)
