# SPDX-License-Identifier: Apache-2.0
"""Writes man pages from what `natxy VERB --help` prints: natxy(1), and one page for each verb.

`python -m tools.package.manual FOLDER` writes them into the folder. SOURCE_DATE_EPOCH gives the date on them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from typer.main import get_command

from natxy import __version__
from natxy.cli import app
from natxy.explain.entries import entries

_PROGRAM: Final = "natxy"
# What begins the paragraph of a verb's exit codes.
_STATUSES: Final = "\b\nExit codes:\n"


def pages() -> dict[str, str]:
    """Returns the text of each page by the name of its file, such as `natxy-run.1`."""
    return {f"{path.replace(' ', '-')}.1": _page(context) for path, context in _commands(get_command(app), _PROGRAM)}


def _commands(command: Any, name: str, above: Any = None) -> Iterator[tuple[str, Any]]:
    """Yields the path of the command, such as `natxy lab up`, with its context, and those of all commands below it."""
    context = command.context_class(command, info_name=name, parent=above)
    yield context.command_path, context
    for below, each in getattr(command, "commands", {}).items():
        yield from _commands(each, below, context)


def _page(context: Any) -> str:
    command, path, above = context.command, context.command_path, context.parent
    title = path.replace(" ", "-")
    date = time.strftime("%Y-%m-%d", time.gmtime(int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))
    summary, *paragraphs = command.help.split("\n\n")
    statuses = [each.removeprefix(_STATUSES) for each in paragraphs if each.startswith(_STATUSES)]
    paragraphs = [each for each in paragraphs if not each.startswith(_STATUSES)]
    lines = [
        f'.TH {title.upper()} 1 "{date}" "{_PROGRAM} {__version__}" "{_PROGRAM}"',
        ".SH NAME",
        f"{_escaped(title)} \\- {_escaped(' '.join(summary.split()).rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_escaped(path)}",
        _escaped(" ".join(command.collect_usage_pieces(context))),
        *([".SH DESCRIPTION", *(line for each in paragraphs for line in _paragraph(each))] if paragraphs else []),
    ]
    records = [
        (parameter.param_type_name, parameter.get_help_record(context)) for parameter in command.get_params(context)
    ]
    for kind, heading in (("argument", "ARGUMENTS"), ("option", "OPTIONS")):
        lines += _list(heading, [record for each, record in records if each == kind and record])
    below = [each for _, each in _commands(command, context.info_name, above)][1:]
    lines += _list("COMMANDS", [(each.command_path, each.command.help.split("\n\n")[0]) for each in below])
    lines += [line for each in statuses for line in (".SH EXIT STATUS", *_lines_kept(each))]
    if above is None:
        codes = [entry for entry in entries() if (entry.page, entry.section) == ("reference/cli.md", "Exit codes")]
        lines += _list("EXIT STATUS", [(each.title.removeprefix("exit code "), " ".join(each.facts)) for each in codes])
    related = [each.command_path for each in below] or [_PROGRAM]
    lines += [".SH SEE ALSO", ", ".join(f"{_escaped(each.replace(' ', '-'))}(1)" for each in related)]
    return "\n".join(lines) + "\n"


def _paragraph(text: str) -> list[str]:
    if not text.startswith("\b"):
        return [".PP", _escaped(" ".join(text.split()))]
    return [".PP", *_lines_kept(text.removeprefix("\b"))]


def _lines_kept(text: str) -> list[str]:
    return [".nf", *(_escaped(line) for line in text.strip("\n").split("\n")), ".fi"]


def _list(heading: str, items: Sequence[tuple[str, str]]) -> list[str]:
    """Returns a section of terms, each with its explanation, or nothing if there are none."""
    lines = [line for term, text in items for line in (".TP", f".B {_escaped(term)}", _escaped(" ".join(text.split())))]
    return [f".SH {heading}", *lines] if items else []


def _escaped(text: str) -> str:
    """Returns a line of text of which roff interprets nothing."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga").replace("'", "\\(aq")
    return "\\&" + escaped if escaped.startswith(".") else escaped


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
