# SPDX-License-Identifier: Apache-2.0
"""Explains YAML syntax errors to a plan's author: the likely mistake, and the line with it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from natxy.plan.model.problems import shortened

# Patterns of the parser's messages, with the mistake that most likely caused them.
_LIKELY: Final = (
    (r"found character '\\t'", "a tab; use spaces"),
    (r"found character '(.)'", "a value cannot begin with {0}; put it in quotes"),
    (r'found duplicate key "(.*?)" with', "{0!r} is here twice; remove one"),
    (r"could not find expected ':'", "a colon and a space are missing after this name"),
    (r"found unexpected end of stream", "this quote is never closed"),
    (r"expected ',' or '([]}])'", "the closing {0} is missing, or a comma"),
    (r"expected <block end>, but found '([]}])'", "this {0} closes nothing; remove it"),
    (r"expected <block end>, but found '<block", "this line is not aligned with the lines above; indent it like them"),
    (r"expected <block end>", "text after the end of a value; put the whole value in quotes"),
    (
        r"found undefined alias",
        "* refers to an anchor, and no anchor has this name; define it, or put the value in quotes",
    ),
    (r"found another document", "a plan is a single document; remove everything from here on"),
    (r"expected the node content, but found '(.+)'", "a value is missing before this {0}"),
    (r"found unknown escape character", "unknown escape in double quotes; use single quotes"),
)
# The parser notices these far after the mistake, which is at the mark of the error's context.
_NOTICED_LATE: Final = ("could not find", "found unexpected end", "expected ','")
_WIDEST: Final = 100


def why_no_yaml(path: Path, text: str, error: YAMLError) -> str:
    """Returns a message such as `plan.yaml:3:1: not valid YAML: a tab; use spaces`, followed by the marked line."""
    if isinstance(error, ReaderError):
        before = text[: error.position]
        line, column = before.count("\n"), error.position - before.rfind("\n") - 1
        return _with_line(
            path, text, line, column, f"an unprintable character, {ord(text[error.position]):#04x}; remove it"
        )
    problem = getattr(error, "problem", None) or getattr(error, "context", None) or str(error)
    mark = getattr(error, "problem_mark", None)
    if problem.startswith(_NOTICED_LATE) and isinstance(error, MarkedYAMLError):
        mark = error.context_mark or mark
    if mark is None:
        return f"{path}: not valid YAML: {shortened(problem)}"
    lines = text.splitlines()
    if problem.startswith("mapping values are not allowed"):
        likely = _misplaced_colon(lines[: mark.line + 1], mark.column)
    else:
        found = ((re.search(pattern, problem), mistake) for pattern, mistake in _LIKELY)
        likely = next((mistake.format(*match.groups()) for match, mistake in found if match), problem)
    return _with_line(path, text, mark.line, mark.column, likely)


def _misplaced_colon(lines: Sequence[str], column: int) -> str:
    """Explains a colon that the parser rejects, at `column` of the last of `lines`."""
    line = lines[-1][:column]
    above = next((each for each in reversed(lines[:-1]) if each.strip()), "")
    if re.search(r":\s", line):
        return "a second colon in one value; put the value in quotes"
    if re.fullmatch(r"[\s-]*[\w-]+:\S+", above.rstrip()):
        return f"a space is missing after the colon of the line above: {above.strip()!r}"
    if ":" not in above:
        return f"a colon is missing in the line above: {above.strip()!r}"
    return "this line is indented more than the line above, so it continues that line's value; align the two"


def _with_line(path: Path, text: str, line: int, column: int, likely: str) -> str:
    """Returns the message with the line and a mark below it, unless the mark would be far to the right."""
    message = f"{path}:{line + 1}:{column + 1}: not valid YAML: {shortened(likely)}"
    lines = text.splitlines()
    if line >= len(lines) or column >= _WIDEST:
        return message
    shown = "".join(character if character.isprintable() else " " for character in lines[line])
    return f"{message}\n  {shown[:_WIDEST]}\n  {' ' * column}^"
