# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import escape

from natxy.errors import PlanError
from natxy.report.charts.chart import Chart
from natxy.report.page.html import write_report
from natxy.report.page.shared import data_block, live_script, source_hash
from natxy.report.page.terms import Explainer
from natxy.results.reader import RunReader
from natxy.results.records import RunState
from tests.support.sample_runs import HOSTILE, SampleRun, Sought, hostile, quickstart
from tests.support.sample_sweeps import sweeps

VOID = {"meta", "link", "br", "img", "hr"}


class Page(HTMLParser):
    """Text and tags of a page; every element has to be closed in order."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.ids.extend(value or "" for key, value in attrs if key == "id")
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_report_says_everything_that_has_to_be_said(tmp_path: Path) -> None:
    file = write_report(RunReader(quickstart(tmp_path)))
    assert file == tmp_path / "report.html"
    text = re.sub(r"\s+", " ", Page(file).text)
    for expected in (
        "228.1 kfps [224.7, 236.8]", "per direction · 456.2 kfps aggregate", "115.6 kcps",
        "150 kfps [", "· 65.8 % [64.5, 67.8] of Linux IPv4 forwarding", "Wide intervals and their likely cause",
        "no result", "tester limit reached: 3 invalid trials at 205 kfps; lower max_rate",
        "RFC 2544 §24 asks for at least 60 s.", "seed 18446744073709551615",
        "complete, 1 without result", "129 trials, 6 invalid",
        "nf_conntrack_max", "table ip natxy {", "net_af_xdp", "DPDK 22.11.11", "UDP or TCP with a correct checksum",
        "Of 129 trials 6 (4.7 %) were invalid: the tester", "the last frame left 1.3 ms late", "other ICMPv6",
        "so the gateway may do more", "seed: 18446744073709551615",
    ):  # fmt: skip
        assert expected in text, expected


def test_the_gateway_is_seen_at_work(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path, loads=True)
    for name in ("forward", "again"):
        number = sample.experiment(name, Sought(231e3), title=name)
        told = {"processor": "Some CPU @ 2.10GHz", "eth1 RSS fields, UDP over IPv4": HOSTILE}
        gateway = {"name": "linux-forward", "version": "6.1", "settings": {"x": name}, "configuration": ""}
        sample.store.set_duts(number, [gateway | {"hardware": told}])
    page = Page(write_report(RunReader(sample.end())))
    text = re.sub(r"\s+", " ", page.text)
    # The machine is described once, whatever ran on it.
    assert (text.count("Some CPU @ 2.10GHz"), text.count(re.sub(r"\s+", " ", HOSTILE))) == (1, 1)
    for expected in (
        "The gateway at work", "CPU time per forwarded frame, ns", "2,005", "Load of the DUT's cores",
        "Where frames were lost", "dut-left rx_missed_errors",
    ):  # fmt: skip
        assert expected in text, expected


def test_a_spread_that_the_search_cut_off_says_so(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    sample.experiment("near", Sought(399e3), title="Near the end")
    sample.experiment("nothing", Sought(0), title="Nothing passes")
    text = re.sub(r"\s+", " ", Page(write_report(RunReader(sample.end()))).text)
    assert "396.9 kfps · a repetition is only a bound" in text
    assert "≥ 400,000" in text
    assert "< 10 kfps" in text
    assert "per direction · < 20 kfps aggregate" in text


def test_the_file_is_self_contained_and_runs_one_script(tmp_path: Path) -> None:
    file = write_report(RunReader(quickstart(tmp_path)))
    source = file.read_text(encoding="utf-8")
    # The data and the script.
    assert Page(file).tags.count("script") == 2
    data, script = re.findall(r"<script[^>]*>(.*?)</script>", source, re.DOTALL)
    policy = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'; img-src data:"
    assert f"{policy}; script-src '{source_hash(script)}'" in source
    assert set(json.loads(data)) == set(re.findall(r'data-chart="([^"]+)"', source))
    own = source.replace(script, "").replace(data, "")
    assert re.findall(r"""(?:src|href)=["'](?!#|data:)""", own) == []
    assert re.findall(r"url\((?!#)|@import", own) == []
    assert source.count("default-src 'none'") == 1


def test_a_sweep_is_one_table_one_chart_and_one_chapter(tmp_path: Path) -> None:
    page = Page(write_report(RunReader(sweeps(tmp_path))))
    text = re.sub(r"\s+", " ", page.text)
    for expected in (
        "Relative scale-up", "Degradation", "Throughput ratio (to the baseline)", "Common to all of them",
        "NAT44 rate: Maximum connection establishment rate against CPU cores",
    ):  # fmt: skip
        assert expected in text, expected
    chapters = [name for name in page.ids if name in {"forward", "rate", "many", "sizes", "alpha", "spread", "latency"}]
    assert len(chapters) == 7
    assert len(page.ids) == len(set(page.ids))


def test_no_id_occurs_twice(tmp_path: Path) -> None:
    ids = Page(write_report(RunReader(quickstart(tmp_path)))).ids
    assert len(ids) == len(set(ids))


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    page = Page(write_report(RunReader(hostile(tmp_path))))
    assert page.tags.count("script") == 2
    assert page.text.count(HOSTILE) > 8


def test_names_do_not_break_at_their_hyphens(tmp_path: Path) -> None:
    page = write_report(RunReader(quickstart(tmp_path))).read_text(encoding="utf-8")
    assert '<td class="numeric"><span class="word">linux-forward</span></td>' in page


def test_gateways_of_one_configuration_are_described_once(tmp_path: Path) -> None:
    text = Page(write_report(RunReader(quickstart(tmp_path)))).text
    assert text.count("table ip natxy {") == 2
    assert "NAT44 connection rate; NAT44 validated connection rate; NAT44 throughput" in text


@pytest.mark.parametrize("state", list(RunState))
def test_a_run_without_any_trial_has_a_report_too(tmp_path: Path, state: RunState) -> None:
    sample = SampleRun(tmp_path, caveats=[])
    sample.declare("planned", title="Planned")
    page = Page(write_report(RunReader(sample.end(state))))
    assert "script" not in page.tags
    text = page.text
    assert "not started" in text
    assert "No trial was run." in text
    assert "No gateway was set up." in text


def test_a_run_that_goes_on_can_be_reported(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path)
    sample.declare("planned", title="Planned")
    assert "running" in Page(write_report(RunReader(tmp_path))).text
    sample.store.close()


def test_a_report_replaces_the_last_one_whole(tmp_path: Path) -> None:
    folder = quickstart(tmp_path)
    (folder / "report.html").write_text("old")
    write_report(RunReader(folder))
    assert (folder / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert not list(folder.glob("*.partial"))


def test_a_folder_without_a_run_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="not a run folder"):
        write_report(RunReader(tmp_path))


def test_the_gateway_s_configurations_name_the_cells_that_they_were_measured_in(tmp_path: Path) -> None:
    page = re.sub(r"\s+", " ", Page(write_report(RunReader(sweeps(tmp_path)))).text)
    assert "Measured in Connection rate (Connections 200,000)." in page
    # Every cell of these had one configuration.
    assert "Measured in Linux IPv4 forwarding; Forwarding; Addresses and ports." in page


BREAKING = "</script><!--<script>alert(1)</script>"


def test_no_text_of_a_run_ends_the_data() -> None:
    text = data_block([Chart("c", "title", "description", {"data": {"values": [{"reason": BREAKING}]}})])
    assert "<" not in text
    assert json.loads(text)["c"]["data"]["values"][0]["reason"] == BREAKING


def test_the_script_is_one_element_and_brings_its_libraries() -> None:
    text = live_script()
    assert "</script" not in text
    assert "<!--" not in text
    assert "\r" not in text
    assert "chart-specs" in text
    assert 500_000 < len(text) < 1_500_000
    assert text == live_script()


def test_the_hash_is_the_policys() -> None:
    # The example of the specification, https://www.w3.org/TR/CSP3/.
    assert source_hash("doSomething();") == "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc="


def test_terms_are_explained_where_they_first_occur_and_listed_at_the_end(tmp_path: Path) -> None:
    page = write_report(RunReader(quickstart(tmp_path))).read_text(encoding="utf-8")
    listed = re.findall(r"<dt>([^<]+)</dt><dd>", page[page.index('id="terms"') :])
    assert listed == sorted(listed, key=str.lower)
    assert {"fps", "cps", "α", "phase 1", "FCS"} <= {*listed}
    assert not {"TL", "MLRsearch", "SIIT"} & {*listed}
    assert page.count("<abbr title=") == len(listed)
    assert '<abbr title="frames per second">228.1' not in page
    assert re.search(r'\d\s<abbr title="frames per second">kfps</abbr>', page)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("TLS of a metal", "TLS of a metal"),
        ("two four-tuples", 'two <abbr title="{}">four-tuples</abbr>'),
        ("Spread, spread", '<abbr title="{}">Spread</abbr>, spread'),
        ("<b>linux-forward", '<span class="word">&lt;b&gt;linux-forward</span>'),
        ("65.5 % [51.6, 84.3]", '65.5 % <span class="word">[51.6, 84.3]</span>'),
        ("[-7.1, 0.2] and [a b, c]", '<span class="word">[-7.1, 0.2]</span> and [a b, c]'),
        # If the time grew with the square of its length, this would take minutes.
        pytest.param("[" * 200_000, "[" * 200_000, id="a long word"),
    ],
)
def test_whole_terms_are_explained_once(text: str, marked: str) -> None:
    explainer = Explainer()
    found = explainer.mark(text)
    meaning = next(iter(explainer.met.values()), "")
    assert found == marked.format(escape(meaning))
