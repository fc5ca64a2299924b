# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import io
from pathlib import Path

from rich.console import Console

from natxy.report.page import html
from natxy.report.text import terminal
from natxy.report.words.remarks import contradicted
from natxy.results.reader import RunReader
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
