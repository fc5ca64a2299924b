# SPDX-License-Identifier: Apache-2.0
"""Makes texts that others wrote safe for an output: one function for each kind of output.

Results, plans, names of folders and what a gateway prints are data. Whatever they contain, they neither control a
terminal nor become markup, a formula, a command or a path.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from markupsafe import Markup, escape

# C0 but for tab and line feed, DEL and C1; marks that turn the direction of what follows; separators of lines;
# surrogates and what XML does not allow.
_CONTROL: Final = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufff9-\ufffb\ufffe\uffff]"
)
# The last four are the wide forms of the first.
_FORMULA: Final = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]")
# A number, with its unit and its interval, is calculated to nothing else.
_NUMBER: Final = re.compile(r"[+-]\d[\d.,]*(e[+-]?\d+)?( ?[%A-Za-zµ/]+)?( \[[-+−\d., ]+\])?", re.IGNORECASE)
_MARKDOWN: Final = re.compile(r"[\\`*_~$#\[\]<>|&]")
# Characters that pdfLaTeX has no glyph for, or reads as commands.
_LATEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "≥": r"$\geq$", "≤": r"$\leq$", "−": r"$-$", "×": r"$\times$", "·": r"$\cdot$", "α": r"$\alpha$",
    "β": r"$\beta$", "γ": r"$\gamma$", "µ": r"\textmu{}", "→": r"$\rightarrow$", "–": "--",
}  # fmt: skip
_LATEX_SPECIAL: Final = re.compile("|".join(map(re.escape, _LATEX)))
_NO_NAME: Final = re.compile(r"[^A-Za-z0-9_.]+")
_LONGEST_NAME: Final = 100


def plain(text: str) -> str:
    """Returns text without control characters, for terminals, XML and binary files; they become `\\x1b` or `\\u202e`.

    Tabs and ends of lines stay.
    """
    return _CONTROL.sub(_code, text.replace("\r\n", "\n"))


def plain_within(value: Any) -> Any:
    """Returns a value of JSON with all its texts made plain, names of fields included."""
    match value:
        case str():
            return plain(value)
        case dict():
            return {plain_within(name): plain_within(inner) for name, inner in value.items()}
        case list() | tuple():
            return [plain_within(inner) for inner in value]
        case _:
            return value


def one_line(text: str) -> str:
    """Returns plain text with single spaces for all white space."""
    return " ".join(plain(text).split())


def html(value: object) -> Markup:
    """Returns what a template shows of a value; text that is marked up already stays as it is."""
    return value if isinstance(value, Markup) else escape(plain(str(value)))


def json_text(value: Any, *, indent: int | None = 2) -> str:
    """Returns a value as JSON, which has control characters only by their numbers."""
    return safe_json(json.dumps(value, indent=indent, ensure_ascii=False))


def safe_json(text: str) -> str:
    """Returns JSON of the same value that has control characters only by their numbers."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def json_in_html(value: Any) -> Markup:
    """Returns a value as JSON in which no text can end its script element, and with plain texts for a page to show."""
    text = json.dumps(plain_within(value), ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", r"\u003c"))


def csv_cell(value: object) -> object:
    """Returns a cell that no spreadsheet takes for a formula: text that might be one begins with an apostrophe."""
    if not isinstance(value, str):
        return value
    text = plain(value)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def markdown(text: str) -> str:
    """Returns the text as one line of GitHub's Markdown, also within a table."""
    return _MARKDOWN.sub(lambda match: "\\" + match[0], one_line(text))


def latex(text: str) -> str:
    """Returns the text as one line of LaTeX."""
    return _LATEX_SPECIAL.sub(lambda match: _LATEX[match[0]], one_line(text))


def file_name(text: str) -> str:
    """Returns a part of a file name, of ASCII letters, digits, points, underscores and hyphens."""
    return _NO_NAME.sub("-", text)[:_LONGEST_NAME]


def _code(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
