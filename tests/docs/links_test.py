# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.pages import PAGES, REPOSITORY, anchors, links

_READMES = sorted(REPOSITORY.glob("siitperf/*.md"))


@pytest.mark.parametrize("page", [*PAGES, *_READMES], ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in links(page):
        name, _, section = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), link
        assert not section or section in anchors(target), link


def test_the_readme_leads_to_the_list_of_all_pages() -> None:
    assert "docs/README.md" in links(REPOSITORY / "README.md")
