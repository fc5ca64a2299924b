# SPDX-License-Identifier: Apache-2.0
"""Tells Sphinx how to make a site of the documentation: `make docs-site`.

The pages are read where they are, from the top of the repository, so that their links lead where they lead in a clone.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

_REPOSITORY = Path(__file__).parents[2]
sys.path.insert(0, str(_REPOSITORY))

from tools.site.contents import CONTENTS, tables_of_contents, write_first_page  # noqa: E402

project = "natxy"
copyright = "the authors of natxy, Apache-2.0"
_version = re.search(r'__version__ = "([^"]+)"', (_REPOSITORY / "src/natxy/__init__.py").read_text(encoding="utf-8"))
release = _version[1] if _version else ""

extensions = ["myst_parser"]
root_doc = "README"
include_patterns = ["*.md", "docs/*.md", "docs/**/*.md"]
exclude_patterns = [".*", "build", "engine", "guest", "plans", "runs", "siitperf", "src", "tests", "tools"]
# MyST makes the anchors of headings as GitHub does.
myst_heading_anchors = 4
highlight_language = "none"
nitpicky = True

html_theme = "furo"
_released = f"## [{release}]" in (_REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
html_title = f"natxy {release}{'' if _released else ' (development)'}"
html_show_sphinx = False
html_copy_source = False
# The search would fetch every page for its summary, which browsers forbid in a folder.
html_show_search_summary = False
html_theme_options = {"light_css_variables": {"font-stack--monospace": "monospace"}}


def setup(app: Any) -> None:
    """Adds the table of contents to the first page, and the page that a browser opens in a folder."""

    def read(app: Any, name: str, source: list[str]) -> None:
        if name == root_doc:
            source[0] += tables_of_contents((_REPOSITORY / CONTENTS).read_text(encoding="utf-8"))
            app.env.note_dependency(str(_REPOSITORY / CONTENTS))

    def finished(app: Any, error: Exception | None) -> None:
        if error is None:
            write_first_page(Path(app.outdir))

    def levelled(app: Any, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
        # The captions of the navigation are headings without a level.
        for name, text in context.items():
            if name.endswith("navigation_tree"):
                context[name] = text.replace('role="heading"', 'role="heading" aria-level="2"')

    app.connect("source-read", read)
    # After the theme has made its navigation.
    app.connect("html-page-context", levelled, priority=900)
    app.connect("build-finished", finished)
