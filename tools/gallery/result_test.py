# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from natxy.results.reader import RunReader
from tests.support.sample_runs import SampleRun, Sought
from tools.gallery.result import result_rows


def test_the_figures_of_the_readme_are_those_of_a_run(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    rate: dict[str, Any] = {"procedure": "connection-rate", "connections": 1000}
    for suffix in ("", "-addresses"):
        run.experiment(f"forwarding{suffix}", Sought(231e3), title="Forwarding")
        run.experiment(f"nat{suffix}", Sought(None), title="NAT", baseline=f"forwarding{suffix}")
    run.experiment("nat-rate", Sought(118e3), title="Rate", **rate)
    run.experiment("nat-validated-rate", Sought(104e3), title="Validated", **rate)
    run.experiment("forwarding-throughput", Sought(231e3), title="Forwarding throughput")
    run.experiment("nat-throughput", Sought(104e3), title="NAT throughput")
    table = "\n".join(result_rows(RunReader(run.end()).run))
    for words in ("", ", many addresses"):
        assert f"| Linux forwarding{words} | 228 k (228 k – 231 k) | |\n" in table
        assert f"| nftables NAT44{words} | ≥ 400 k (≥ 400 k – ≥ 400 k) | ≥ 175.3 % |\n" in table
    searched = "228 k (228 k – 231 k) | 103 k (100 k – 103 k) | 116 k (116 k – 119 k) | 103 k (100 k – 103 k)"
    assert f"| without a loss | {searched} |\n" in table
    assert table.count("were invalid and repeated") == 1
