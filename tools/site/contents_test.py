# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from tests.support.pages import PAGES, REPOSITORY
from tools.site.contents import CONTENTS, sections, tables_of_contents, write_first_page


def test_every_page_is_in_the_contents_once() -> None:
    listed = [page for _, pages in sections((REPOSITORY / CONTENTS).read_text(encoding="utf-8")) for page in pages]
    assert sorted(listed) == sorted(
        str(page.relative_to(REPOSITORY).with_suffix("")) for page in PAGES if page != REPOSITORY / "README.md"
    )


def test_each_list_is_a_table_of_contents() -> None:
    made = tables_of_contents("# All\n\n## Learn\n\n- [a](a.md): see [c](c.md)\n- [b](x/b.md), or\n  not\n\n## Empty\n")
    assert "```{toctree}\n:hidden:\n:caption: Learn\n\ndocs/a\ndocs/x/b\n```" in made
    assert ":caption: Empty\n\n```" in made


def test_the_first_page_leads_to_the_readme(tmp_path: Path) -> None:
    write_first_page(tmp_path)
    assert "url=README.html" in (tmp_path / "index.html").read_text(encoding="utf-8")
