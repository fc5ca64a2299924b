# SPDX-License-Identifier: Apache-2.0
"""What makes a page's charts live: Vega with all it needs, in one script that the page's policy knows by its hash."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable
from functools import cache
from importlib import resources

import vl_convert

from natxy.report.charts.chart import Chart
from natxy.report.charts.still import VEGA_LITE


@cache
def script() -> str:
    """The text of a script element; about 0.9 MB, and it fetches nothing."""
    own = resources.files("natxy.report.page").joinpath("templates/charts.js").read_text(encoding="utf-8")
    bundle: str = vl_convert.javascript_bundle(own, vl_version=VEGA_LITE)
    # A parser of HTML would see the element's end or a comment in these, also within a string.
    return bundle.replace("</script", r"<\/script").replace("<!--", r"<\!--")


def source_hash(text: str) -> str:
    """As a Content-Security-Policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def data_block(charts: Iterable[Chart]) -> str:
    """The text of a JSON element: specifications by name, in which no text of a run can end the element."""
    specs = {chart.name: chart.spec for chart in charts}
    return json.dumps(specs, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")
