# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from natxy.report.page import html
from natxy.report.text import terminal
from natxy.report.words.remarks import contradicted, merged_segments
from natxy.results.reader import RunReader
from natxy.results.records import DutRecord
from tests.support.sample_runs import SampleRun, measured_rates


def test_terminal_and_page_say_which_rates_cannot_both_be_true(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path / "run")
    measured_rates(sample, "plain", [3e5, 3e5, 3e5], procedure="connection-rate", connections=50_000)
    measured_rates(
        sample, "checked", [4e5, 4e5, 4e5], procedure="validated-connection-rate", connections=50_000, alpha=0.5
    )
    reader = RunReader(sample.end())
    [sentence] = contradicted(reader.run)
    assert sentence.startswith(
        "checked: 400 kcps [400, 400] is above plain, 300 kcps [300, 300], although each of its "
    )
    output = io.StringIO()
    Console(file=output, width=400).print(terminal.render(reader))
    assert f"Remarks on results:\n  • {sentence}" in output.getvalue()
    assert f"<h2>Remarks on results</h2><ul>\n<li>{sentence}</li>" in html.render(reader)


def test_offloads_that_merge_segments_are_told_beside_a_goodput_alone(tmp_path: Path) -> None:
    sample = SampleRun(tmp_path / "run")
    for name, procedure in (("tcp", "tcp-goodput"), ("udp", "throughput")):
        sample.declare(name, title=name, procedure={"name": procedure}, directions="forward", flows=1)
    run = RunReader(sample.end()).run
    facts = {
        "eth0 offloads": "rx-checksumming, generic-receive-offload, rx-gro-list",
        "eth1 offloads": "tx-checksumming",
        "eth1 driver": "generic-receive-offload",
    }
    dut = DutRecord("linux-forward", "Linux 6.1", {}, "", facts)
    told = replace(run, experiments=[replace(each, duts=(dut,)) for each in run.experiments])
    [sentence] = merged_segments(told)
    assert sentence.startswith(
        "tcp: the gateway's interfaces merge TCP segments (eth0: generic-receive-offload, rx-gro-list), so the gateway"
    )
    assert merged_segments(run) == []
