# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
import re

import pytest
from rich.text import Text

from natxy.report.tables.table import Column, Table, to_rich
from natxy.terminal.console import Console, LastingConsole, echo

HOSTILE = "n[v1] b[/x] [bold]x :smile: \x1b]0;title\x07 \x9b2J \u202eabc"
SHOWN = "n[v1] b[/x] [bold]x :smile: \\x1b]0;title \\x9b2J \\u202eabc"


@pytest.mark.parametrize("kind", [Console, LastingConsole])
@pytest.mark.parametrize("colours", [False, True])
def test_texts_are_no_markup_and_control_no_terminal(kind: type[Console], colours: bool) -> None:
    out = io.StringIO()
    console = kind(file=out, force_terminal=colours, width=200)
    console.print(HOSTILE)
    console.print(Text(HOSTILE, "bold"), style="red")
    console.print(to_rich(Table(HOSTILE, (Column(HOSTILE), Column("x")), ((HOSTILE, ""),), note=HOSTILE)))
    # Colours are rich's own.
    shown = re.sub(r"\x1b\[[\d;]*m", "", out.getvalue())
    # Cells are broken into lines.
    assert "".join(shown.split()).count("[bold]x:smile:") == 6
    assert shown.count(SHOWN) == 4
    assert "\x1b" not in shown
    assert "\x9b" not in shown


def test_what_is_echoed_is_plain(capsys: pytest.CaptureFixture[str]) -> None:
    echo("a\x1b[2Jb\n")
    assert capsys.readouterr().out == "a\\x1b[2Jb\n"


SENTENCE = "plan.yaml:2:1: title: unknown field; did you mean 'name' or 'description'?"


def said(width: int, *, is_terminal: bool) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, force_terminal=is_terminal, color_system=None, width=width)
    console.say(f"the plan has errors:\n{SENTENCE}\n   one  line", opening="natxy: ", style="red")
    return out.getvalue().splitlines()


def test_a_terminal_gets_lines_broken_between_words() -> None:
    assert said(40, is_terminal=True) == [
        "natxy: the plan has errors:",
        "plan.yaml:2:1: title: unknown field; did",
        "  you mean 'name' or 'description'?",
        "   one  line",
    ]


def test_lines_stay_whole_elsewhere() -> None:
    assert said(40, is_terminal=False) == ["natxy: the plan has errors:", SENTENCE, "   one  line"]
