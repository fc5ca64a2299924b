# SPDX-License-Identifier: Apache-2.0
"""Opens the report in Chromium without a network."""

from __future__ import annotations

import html
import re
import subprocess
from pathlib import Path

import pytest

from natxy.report.page.html import write_report
from natxy.results.reader import RunReader
from tests.support.chromium import PATIENT, browse, needs_chromium
from tests.support.sample_runs import hostile, quickstart
from tests.support.sample_sweeps import sweeps

pytestmark = needs_chromium


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(RunReader(quickstart(tmp_path_factory.mktemp("run"))))


def console(run: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in run.stderr.splitlines() if ":CONSOLE" in line]


def shown(run: subprocess.CompletedProcess[str]) -> str:
    """Returns the page's elements without its scripts."""
    return re.sub(r"<script.*?</script>", "", run.stdout, flags=re.DOTALL)


def test_a_page_that_breaks_its_own_policy_would_be_noticed(tmp_path: Path) -> None:
    page = tmp_path / "bad.html"
    policy = "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'\">"
    page.write_text(f"<!doctype html>{policy}<script>1</script>")
    assert console(browse(page, tmp_path / "profile", "--dump-dom")) != []


def test_it_opens_without_a_word_on_the_console_and_its_charts_come_alive(report: Path, tmp_path: Path) -> None:
    opened = browse(report, tmp_path / "profile", "--dump-dom", *PATIENT)
    assert console(opened) == []
    assert shown(opened).count('class="chart live"') == 11
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", "", shown(opened))))
    for expected in ("228.1 kfps", "Linux IPv4 forwarding", "Where this run departs from the RFCs", "repetition 1"):
        assert expected in text
    assert shown(opened).count("<svg") == 11


@pytest.mark.parametrize(("width", "whole"), [(500, False), (1400, True)])
def test_the_overview_shortens_its_numbers_where_there_is_no_room(
    report: Path, tmp_path: Path, width: int, whole: bool
) -> None:
    opened = browse(report, tmp_path / "profile", "--dump-dom", f"--window-size={width},900", *PATIENT)
    chart = re.search(r'data-chart="00-overview-fps".*?</figure>', shown(opened), re.DOTALL)
    assert chart is not None
    words = re.findall(r"<text[^>]*>([^<]*)</text>", chart[0])
    ratio = next(text for text in words if text.startswith("150 kfps ["))
    assert ratio.endswith(" of Linux IPv4 forwarding") == whole
    assert "no result: tester limit reached" in words


def test_charts_of_sweeps_are_alive_and_those_of_their_cells_once_opened(tmp_path: Path) -> None:
    page = write_report(RunReader(sweeps(tmp_path / "run")))
    opened = browse(page, tmp_path / "a", "--dump-dom", *PATIENT)
    assert console(opened) == []
    assert shown(opened).count('class="chart live"') == 8
    page.write_text(
        page.read_text(encoding="utf-8").replace('<details class="cell">', '<details class="cell" open>', 1)
    )
    opened = browse(page, tmp_path / "b", "--dump-dom", *PATIENT)
    assert console(opened) == []
    # The two more charts are the first cell's search and its trial by seconds.
    assert shown(opened).count('class="chart live"') == 10


def test_without_scripts_it_shows_still_pictures(report: Path, tmp_path: Path) -> None:
    without = tmp_path / "without.html"
    without.write_text(re.sub(r"script-src '[^']+'", "script-src 'none'", report.read_text(encoding="utf-8")))
    opened = browse(without, tmp_path / "profile", "--dump-dom", *PATIENT)
    assert 'class="chart live"' not in shown(opened)
    assert shown(opened).count("<svg") == 11


def test_hostile_texts_run_nothing(tmp_path: Path) -> None:
    opened = browse(write_report(RunReader(hostile(tmp_path / "run"))), tmp_path / "profile", "--dump-dom", *PATIENT)
    assert console(opened) == []
    assert shown(opened).count('class="chart live"') == 3
    assert "<script" not in shown(opened)


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_the_page_never_scrolls_sideways(report: Path, tmp_path: Path, width: int) -> None:
    # Headless Chromium has no window narrower than 500 pixels; a frame has. The measuring script needs the page
    # without its policy.
    source = re.sub(r"<meta http-equiv=[^>]+>", "", report.read_text(encoding="utf-8"))
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(
        f'<!doctype html><iframe style="width:{width}px;height:900px;border:0" srcdoc="{html.escape(source)}"></iframe>'
        "<p id=width></p><script>onload = () => { document.getElementById('width').textContent ="
        " document.querySelector('iframe').contentDocument.documentElement.scrollWidth }</script>",
        encoding="utf-8",
    )
    opened = browse(wrapper, tmp_path / "profile", "--dump-dom", "--window-size=1500,1000")
    measured = re.search(r'<p id="width">(\d+)</p>', opened.stdout)
    assert measured is not None
    assert int(measured[1]) <= width


def test_it_renders_to_a_picture_and_to_paper(report: Path, tmp_path: Path) -> None:
    picture, paper = tmp_path / "report.png", tmp_path / "report.pdf"
    browse(report, tmp_path / "a", f"--screenshot={picture}", "--window-size=1200,900")
    browse(report, tmp_path / "b", f"--print-to-pdf={paper}", "--no-pdf-header-footer")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert paper.read_bytes().startswith(b"%PDF")
