# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from tests.support.pages import PAGES, REPOSITORY
from tools.site.contents import sections, tables_of_contents, write_first_page

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_every_page_is_in_the_contents_once() -> None:
    listed = [page for _, pages in sections(README) for page in pages]
    assert sorted(listed) == sorted(
        str(page.relative_to(REPOSITORY).with_suffix("")) for page in PAGES if page.stem != "README"
    )


def test_each_row_of_the_readme_is_a_table_of_contents() -> None:
    made = tables_of_contents(
        "| | |\n|---|---|\n| Learn | [a](docs/a.md), [b](docs/b.md#part) and [c](c.md) |\n\n| x | y |\n"
    )
    assert "```{toctree}\n:hidden:\n:caption: Learn\n\ndocs/a\ndocs/b\n```" in made
    assert made.count("{toctree}") == 2


def test_the_first_page_leads_to_the_readme(tmp_path: Path) -> None:
    write_first_page(tmp_path)
    assert "url=README.html" in (tmp_path / "index.html").read_text(encoding="utf-8")
