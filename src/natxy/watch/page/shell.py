# SPDX-License-Identifier: Apache-2.0
"""Renders what the page of a run and that of a campaign share: the frame, the scripts, and how they say a problem."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Final, Protocol

from natxy.report.page.history import HISTORY_FILE
from natxy.report.page.html import REPORT_FILE
from natxy.report.page.shared import environment, style, with_vega
from natxy.untrusted.files import ForeignFolder
from natxy.untrusted.texts import html

# All texts of a run or a campaign are untrusted, and escaped.
_ENVIRONMENT: Final = environment("natxy.watch.page")

OTHER_PAGES: Final = (REPORT_FILE, HISTORY_FILE)
"""The pages that `natxy report`, `natxy history` and the end of a run or a campaign write into a folder."""


def other_pages(folder: ForeignFolder) -> Sequence[str]:
    """Returns which of these pages the folder has."""
    return [page for page in OTHER_PAGES if folder.has(page)]


class View(Protocol):
    """Shows a folder on a page; `charts`: whether parts of it are charts."""

    charts: bool

    @property
    def name(self) -> str: ...

    @property
    def tester_cores(self) -> frozenset[int]:
        """Returns the cores of this machine that measure what is shown."""

    def read(self) -> bool:
        """Takes what has been written since; returns whether anything was. Raises PlanError for what does not fit."""

    def parts(self) -> dict[str, str]:
        """Returns the parts of the page by name, as JSON: `state` and `plan`, which are HTML, `log`, and charts."""


def page(view: View, parts: Mapping[str, str]) -> str:
    """Returns the page with its present parts of text; it fetches what changes, and the charts."""
    shown = {name: json.loads(parts.get(name, '""')) for name in ("state", "plan", "log")}
    return rendered("page.html.j2", name=view.name, style=style(), charts=view.charts, **shown)


def script() -> str:
    """Returns the script that shows what the server sends."""
    return _text_of("page.js")


@cache
def charts_script() -> str:
    """Returns the script that draws the charts, with Vega: about 0.9 MB, which takes seconds to bundle."""
    return with_vega(_text_of("charts.js"))


def rendered(template: str, **values: object) -> str:
    return _ENVIRONMENT.get_template(template).render(**values)


def problem(text: str) -> str:
    """Returns the part `state` when the folder cannot be read any longer."""
    return json.dumps(f"<p><strong>{html(text)}</strong></p>")


def _text_of(name: str) -> str:
    return resources.files("natxy.watch.page").joinpath(f"templates/{name}").read_text(encoding="utf-8")
