# SPDX-License-Identifier: Apache-2.0
"""Makes the site's tables of contents from the lists of docs/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

CONTENTS: Final = "docs/README.md"
_SECTION: Final = re.compile(r"^## (?P<caption>.+)$(?P<pages>(?:(?!^## ).*\n)*)", re.MULTILINE)
# The first link of an item is its page.
_PAGE: Final = re.compile(r"^- \[[^]]+\]\((.+?)\.md\)", re.MULTILINE)


def sections(contents: str) -> Iterator[tuple[str, list[str]]]:
    """Yields the sections as captions and their pages, and at the end the pages about the project."""
    for section in _SECTION.finditer(contents):
        yield section["caption"], [f"docs/{page}" for page in _PAGE.findall(section["pages"])]
    yield "Project", ["docs/README", "CONTRIBUTING", "CHANGELOG", "SECURITY"]


def tables_of_contents(contents: str) -> str:
    """Returns the hidden tables of contents that the side of every page shows."""
    return "".join(
        "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])
        for caption, pages in sections(contents)
    )


def write_first_page(site: Path) -> None:
    """Writes the page that a browser opens in a folder; it leads to the README's."""
    (site / "index.html").write_text(
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>natxy</title>'
        '<meta http-equiv="refresh" content="0; url=README.html"><a href="README.html">natxy</a></html>\n',
        encoding="utf-8",
    )
