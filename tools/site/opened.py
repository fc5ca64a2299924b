# SPDX-License-Identifier: Apache-2.0
"""Opens the site of the documentation in headless Chromium, from its folder: `python -m tools.site.opened build/site`.

Its search has to find each page by a word of it, and axe-core may object to nothing seriously.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.support.browser import Tab, browser

SEARCHES: Final = {"masquerade": "docs/reference/gateways.html", "hodges": "docs/reference/report.html"}
"""Holds words, each with a page whose text has it, and whose title has not."""

_SERIOUS: Final = ("serious", "critical")
_LINKS: Final = "[...document.querySelectorAll('#search-results li a')].map(link => link.href)"
_APPEARANCES: Final = ((1280, False), (390, True))


def pages(site: Path) -> list[Path]:
    """Returns the files of all pages but the first, which only leads to the README's."""
    return sorted({*site.rglob("*.html")} - {site / "index.html"})


def unfound(tab: Tab, site: Path) -> Iterator[str]:
    """Yields each search that does not lead to its page, and what the browser complains about meanwhile."""
    for word, page in SEARCHES.items():
        tab.open("about:blank")
        tab.open(f"{(site / 'search.html').as_uri()}?q={word}")
        tab.wait_for("document.querySelector('#search-results .search-summary')?.textContent.trim()")
        found = tab.evaluate(_LINKS)
        if not any(link.partition("?")[0].partition("#")[0] == (site / page).as_uri() for link in found):
            yield f"the search for {word} does not find {page}, but {found}"
    yield from tab.problems


def serious(tab: Tab, site: Path) -> Iterator[str]:
    """Yields what axe-core finds serious or critical, on each page in light and wide, and in dark and narrow."""
    for width, dark in _APPEARANCES:
        tab.appear(width, 900, dark=dark)
        for page in pages(site):
            tab.load(page)
            for impact, text in tab.violations():
                if impact in _SERIOUS:
                    yield f"{page.relative_to(site)}, {'dark' if dark else 'light'}: {impact}: {text}"


def main(site: Path) -> int:
    """Prints each finding. Returns the exit code: 1 if there is any."""
    findings = 0
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile, browser(Path(profile)) as tab:
        for finding in chain(unfound(tab, site), serious(tab, site)):
            findings += 1
            print(finding, flush=True)
    print(f"{len(SEARCHES)} words sought and {len(pages(site))} pages judged: {findings} findings")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
