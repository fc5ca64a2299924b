# SPDX-License-Identifier: Apache-2.0
"""Makes the site's table of contents from the README's table of documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_ROW = re.compile(r"^\| (?P<caption>[^|]+) \| (?P<links>.*\]\(docs/.+) \|$", re.MULTILINE)
_PAGE = re.compile(r"\]\((docs/[^)#\s]+)\.md(?:#[^)]*)?\)")
_PROJECT = ("CHANGELOG", "CONTRIBUTING")


def sections(readme: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the rows of the table as captions and their pages, and at the end the pages about the project."""
    for row in _ROW.finditer(readme):
        yield row["caption"], _PAGE.findall(row["links"])
    yield "Project", list(_PROJECT)


def tables_of_contents(readme: str) -> str:
    """Returns the hidden tables of contents that the side of every page shows."""
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])
        for caption, pages in sections(readme)
    )


def write_first_page(site: Path) -> None:
    """Writes the page that a browser opens in a folder; it leads to the README's."""
    (site / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>natxy</title>'
        '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">natxy</a></html>\n',
        encoding="utf-8",
    )
