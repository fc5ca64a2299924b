# SPDX-License-Identifier: Apache-2.0
"""Renders what the page of a run and that of a campaign share: the frame, the scripts, and how they say a problem."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Final, Protocol

from natxy.report.page.shared import environment, style, with_vega
from natxy.untrusted.texts import html

# All texts of a run or a campaign are untrusted, and escaped.
_ENVIRONMENT: Final = environment("natxy.watch.page")


class View(Protocol):
    """Shows a folder on a page; `charts`: whether parts of it are charts."""

    charts: bool

    @property
    def name(self) -> str: ...

    def read(self) -> bool:
        """Takes what has been written since; returns whether anything was. Raises PlanError for what does not fit."""

    def parts(self) -> dict[str, str]:
        """Returns the parts of the page by name, as JSON: `state`, which is HTML, `log`, and charts."""


def page(view: View) -> str:
    """Returns the page, which fetches everything else."""
    return rendered("page.html.j2", name=view.name, style=style(), charts=view.charts)


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
