# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tests.support.pages import REPOSITORY
from tools.package.readme_hook import described


def test_nothing_leads_into_the_repository() -> None:
    made = described(
        "# a\n\n![b\nc](docs/b.webp)\n\n<!-- x -->\n[RFC\n2544](https://rfc) and [d\ne](docs/d.md#f), [g](LICENSE)\n"
    )
    assert made.startswith("# a\n\n[RFC\n2544](https://rfc) and d\ne, g\n")


def test_the_readme_keeps_its_result_and_its_links_to_standards() -> None:
    made = described((REPOSITORY / "README.md").read_text(encoding="utf-8"))
    assert "(docs/" not in made
    assert "![" not in made
    assert "make demo" in made
    assert "](https://www.rfc-editor.org/" in made
