# SPDX-License-Identifier: Apache-2.0
"""Reads the words that the documentation explains in its tables, which are the only source."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from natxy.shipped import DOCS

# A row explains the words of its first cell if the table's first column is called so.
_COLUMNS: Final[dict[str, Sequence[str]]] = {
    "reference/glossary.md": ("term",),
    "reference/cli.md": ("exit code",),
    "reference/report.md": ("verdict",),
    "reference/rpc.md": ("cause",),
    "reference/plan.md": ("field",),
    "reference/plan-traffic.md": ("field",),
    "reference/plan-procedures.md": ("field",),
    "reference/plan-search.md": ("field", "answer"),
    "reference/plan-testbeds.md": ("field",),
    "how-to/campaign.md": ("field",),
    "reference/figures.md": ("column",),
    "reference/gateways.md": ("driver", "setting", "field"),
    "reference/reference-gateway.md": ("field",),
    "explanation/conformance.md": ("standard",),
}
# The columns that say what a word means; the cells of others are shown after the name of their column.
_MEANINGS: Final = frozenset({"meaning", "what it is", "is"})
_CELLS: Final = re.compile(r"(?<!\\)\|")
_LINK: Final = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_ALTERNATIVE: Final = re.compile(r"(.+?) \((.+)\)")
_RFC: Final = re.compile(r"RFC \d+")
_RUN_OF_SECTIONS: Final = re.compile(r"(.*\.)(\d+)–\1(\d+)")


@dataclass(frozen=True)
class Entry:
    """One row of a table: the words that it explains, what it says of them, and where.

    `title`: the first cell. `facts`: lines of text. `page` and `section`: where the table is. `links`: pages that it
    refers to, with their sections.
    """

    names: tuple[str, ...]
    title: str
    facts: tuple[str, ...]
    page: str
    section: str
    links: tuple[str, ...] = ()


@cache
def entries() -> tuple[Entry, ...]:
    """Returns every entry, page by page."""
    return tuple(entry for page in _COLUMNS for entry in _of_page(page, (DOCS / page).read_text(encoding="utf-8")))


def _of_page(page: str, text: str) -> Iterator[Entry]:
    section, columns, above = "", None, ""
    for line in text.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        if not line.startswith("|"):
            columns = None
            continue
        cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]]
        if columns is None:
            columns = cells
        elif not set("".join(cells)) <= set("-:") and columns[0].partition(" of ")[0] in _COLUMNS[page]:
            # An empty first cell continues the row above, and a section without a standard is of the one above.
            cells[0] = cells[0] or above
            if (rfc := _RFC.match(above)) and cells[0].startswith("§"):
                cells[0] = f"{rfc[0]} {cells[0]}"
            above = cells[0]
            # A field such as `title` needs no explanation.
            if (entry := _entry(page, section, columns, cells)).facts:
                yield entry


def _entry(page: str, section: str, columns: Sequence[str], cells: Sequence[str]) -> Entry:
    title = _plain(cells[0])
    names = _names(title)
    if columns[0] == "exit code":
        title = f"exit code {title}"
        names = (title, *names)
    facts = [
        text if column in _MEANINGS or not column else f"{_plain(column)}: {text}"
        for column, text in zip(columns[1:], map(_plain, cells[1:]), strict=True)
        if text and text != "–"
    ]
    targets = [target for cell in cells for _, target in _LINK.findall(cell) if ".md" in target]
    links = [posixpath.normpath(posixpath.join(posixpath.dirname(page), target)) for target in targets]
    return Entry(names, title, tuple(facts), page, section, tuple(dict.fromkeys(links)))


def _names(title: str) -> tuple[str, ...]:
    """Returns the words in a first cell: `α (alpha)` has two, and so has `left, right`."""
    parts = title.split(", ")
    alternatives = [word for part in parts if (both := _ALTERNATIVE.fullmatch(part)) for word in both.groups()]
    return tuple(dict.fromkeys([title, *(_sections(parts) if "§" in title else parts), *alternatives]))


def _sections(parts: Sequence[str]) -> Iterator[str]:
    """Yields each section by its full name, from parts such as `RFC 9693 §5.1`, `§5.2` and `RFC 8219 §7.4–7.7`."""
    rfc = ""
    for part in parts:
        standard, mark, section = part.partition("§")
        rfc = standard.strip() or rfc
        run = _RUN_OF_SECTIONS.fullmatch(section)
        numbers = [f"{run[1]}{last}" for last in range(int(run[2]), int(run[3]) + 1)] if run else [section]
        yield from (f"{rfc} §{number}" if mark else part for number in numbers)


def _plain(cell: str) -> str:
    """Returns a cell without Markdown's marks. A link leaves its text, or nothing if it is alone in parentheses."""
    text = _LINK.sub(r"\1", re.sub(rf" \({_LINK.pattern}\)", "", cell)).replace("\\|", "|")
    return re.sub(r"[`*]", "", text)
