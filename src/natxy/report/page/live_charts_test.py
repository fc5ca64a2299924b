# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json

from natxy.report.charts.chart import Chart
from natxy.report.page.live_charts import data_block, script, source_hash

HOSTILE = "</script><!--<script>alert(1)</script>"


def test_no_text_of_a_run_ends_the_data() -> None:
    text = data_block([Chart("c", "title", "description", {"data": {"values": [{"reason": HOSTILE}]}})])
    assert "<" not in text
    assert json.loads(text)["c"]["data"]["values"][0]["reason"] == HOSTILE


def test_the_script_is_one_element_and_brings_its_libraries() -> None:
    text = script()
    assert "</script" not in text
    assert "<!--" not in text
    assert "\r" not in text
    assert "chart-specs" in text
    assert 500_000 < len(text) < 1_500_000
    assert text == script()


def test_the_hash_is_the_policys() -> None:
    # The example of the specification, https://www.w3.org/TR/CSP3/.
    assert source_hash("doSomething();") == "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc="
