# SPDX-License-Identifier: Apache-2.0
"""Why a file is no YAML, in the words of who writes it: the likely mistake, and the line that has it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

# What the parser says, and what mistake it is for whom the parser's words are none.
_LIKELY: Final = (
    (r"found character '\\t'", "a tab; use spaces"),
    (r"found character '(.)'", "a value cannot begin with {0}; put it in quotes"),
    (r'found duplicate key "(.*?)" with', "{0!r} stands here twice; remove one"),
    (r"could not find expected ':'", "a colon and a space are missing behind this name"),
    (r"found unexpected end of stream", "this quote is never closed"),
    (r"expected ',' or '([]}])'", "no {0} closes this, or a comma is missing in it"),
    (r"expected <block end>, but found '([]}])'", "this {0} closes nothing; remove it"),
    (r"expected <block end>, but found '<block", "this line is not in line with those above; indent it as they are"),
    (r"expected <block end>", "text behind a value's end; put all of the value in quotes"),
    (r"found undefined alias", "a * refers to an anchor, and there is none of this name; put the value in quotes"),
    (r"found another document", "a plan is one document; remove what is from here on"),
    (r"expected the node content, but found '(.+)'", "a value is missing before this {0}"),
    (r"found unknown escape character", "no such escape in double quotes; use single quotes"),
)
# Where the parser notices these is far behind the mistake; it began at the context's mark.
_NOTICED_LATE: Final = ("could not find", "found unexpected end", "expected ','")
_WIDEST: Final = 100


def why_no_yaml(path: Path, text: str, error: YAMLError) -> str:
    """`plan.yaml:3:1: not valid YAML: a tab; use spaces`, and below it that line with a mark."""
    if isinstance(error, ReaderError):
        before = text[: error.position]
        line, column = before.count("\n"), error.position - before.rfind("\n") - 1
        return _told(path, text, line, column, f"an unprintable character, {ord(text[error.position]):#04x}; remove it")
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    if problem.startswith(_NOTICED_LATE) and isinstance(error, MarkedYAMLError):
        mark = error.context_mark or mark
    if mark is None:
        return f"{path}: not valid YAML: {problem}"
    lines = text.splitlines()
    if problem.startswith("mapping values are not allowed"):
        likely = _of_colon(lines[: mark.line + 1], mark.column)
    else:
        found = ((re.search(pattern, problem), said) for pattern, said in _LIKELY)
        likely = next((said.format(*match.groups()) for match, said in found if match), problem)
    return _told(path, text, mark.line, mark.column, likely)


def _of_colon(lines: Sequence[str], column: int) -> str:
    """`lines`: down to that of a colon which the parser can't take, at `column`."""
    line = lines[-1][:column]
    above = next((each for each in reversed(lines[:-1]) if each.strip()), "")
    if re.search(r":\s", line):
        return "a second colon in one value; put the value in quotes"
    if re.fullmatch(r"[\s-]*[\w-]+:\S+", above.rstrip()):
        return f"the line above lacks a space behind its colon: {above.strip()!r}"
    if ":" not in above:
        return f"the line above lacks a colon: {above.strip()!r}"
    return "this line is indented more than the one above, as if it went on with its value; align the two"


def _told(path: Path, text: str, line: int, column: int, likely: str) -> str:
    said = f"{path}:{line + 1}:{column + 1}: not valid YAML: {likely}"
    lines = text.splitlines()
    if line >= len(lines) or column >= _WIDEST:
        return said
    shown = "".join(character if character.isprintable() else " " for character in lines[line])
    return f"{said}\n  {shown[:_WIDEST]}\n  {' ' * column}^"
