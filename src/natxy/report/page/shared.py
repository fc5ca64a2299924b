# SPDX-License-Identifier: Apache-2.0
"""Makes the parts that all pages share: templates, the style, still charts, and what makes these live.

Templates escape every text. A page has Vega within itself, so that its charts need no network.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from importlib.metadata import version

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from natxy.report.charts.chart import Chart
from natxy.report.charts.still import VEGA_LITE, page_svg
from natxy.report.page.terms import Explainer
from natxy.system.cache import keep_text, kept_text
from natxy.untrusted.texts import html, json_in_html


def environment(package: str) -> Environment:
    """Returns the templates of a package, whose texts are escaped unless they are marked up already."""
    return Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        finalize=html,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def template(name: str, explainer: Explainer) -> Template:
    """Returns a page's template."""
    templates = environment("natxy.report.page")
    templates.filters.update(coded=_coded, explained=explainer.mark)
    return templates.get_template(name)


def style() -> Markup:
    return Markup(_text_of("report.css"))


def pictures(charts: Iterable[Chart]) -> dict[str, Markup]:
    """Returns the still pictures of charts by name. Their XML writer escaped every free text."""
    return {chart.name: Markup(page_svg(chart)) for chart in charts}


@cache
def with_vega(script: str) -> str:
    """Returns a script together with Vega, which it uses, about 0.9 MB. Keeps the two, because bundling takes more than
    a second."""
    parts = f"{version('vl-convert-python')} {VEGA_LITE} {script}"
    name = f"vega-{hashlib.sha256(parts.encode()).hexdigest()}.js"
    if (kept := kept_text(name)) is not None:
        return kept
    bundle: str = vl_convert.javascript_bundle(script, vl_version=VEGA_LITE)
    keep_text(name, bundle)
    return bundle


def live_script() -> str:
    """Returns Vega and the code that draws the live charts, as the text of a script element."""
    # An HTML parser would take these for the end of the element or for a comment, even within a string.
    return with_vega(_text_of("charts.js")).replace("</script", r"<\/script").replace("<!--", r"<\!--")


def source_hash(text: str) -> str:
    """Returns the hash of a script in the form of a Content-Security-Policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def data_block(charts: Iterable[Chart]) -> Markup:
    """Returns the specifications of charts by name, as the content of a script element."""
    return json_in_html({chart.name: chart.spec for chart in charts})


def _text_of(name: str) -> str:
    return resources.files("natxy.report.page").joinpath(f"templates/{name}").read_text(encoding="utf-8")


def _coded(text: str) -> Markup:
    """Marks text between backticks, which messages for a terminal use, as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(html(text))))
