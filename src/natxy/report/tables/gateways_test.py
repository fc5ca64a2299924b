# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from natxy.report.charts.overview import overview_charts
from natxy.report.page.html import render
from natxy.report.tables.gateways import gateways_table
from natxy.report.tables.table import Table
from natxy.results.analysis.gateways import side_by_side
from natxy.results.reader import RunReader
from natxy.results.records import State
from tests.support.sample_runs import SampleRun, Sought, measured_latency

GATEWAYS: tuple[tuple[str, dict[str, Any], float, float], ...] = (
    ("nftables", {"udp_timeout_s": 120}, 180e3, 150e3),
    ("iptables", {"backend": "nft"}, 160e3, 120e3),
    ("iptables", {"backend": "legacy", "kernel": "user-mode"}, 40e3, 30e3),
)

OWN = "Linux 6.1.0-18-amd64"
USER_MODE = "user-mode Linux 6.1.119, one virtual CPU"
SIIT = {"kind": "siit", "prefix": "2001:2:0:64::/96", "pool": "198.19.0.1/32"}


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> RunReader:
    run = SampleRun(tmp_path_factory.mktemp("run"), name="gateways")
    run.experiment("forwarding", Sought(360e3), title="Forwarding")
    for number, (gateway, variant, rate, frames) in enumerate(GATEWAYS):
        own: dict[str, Any] = {"gateway": gateway, "connections": 50_000}
        run.experiment(
            f"rate{number}", Sought(rate), title=f"Rate {number}", procedure="connection-rate", variant=variant, **own
        )
        run.experiment(
            f"nat{number}", Sought(frames), title=f"NAT {number}", baseline="forwarding",
            # A table of another size makes it no other gateway.
            variant=variant | {"conntrack_max": 100_000}, phase1_rate={"rate": 20e3}, **own,
        )  # fmt: skip
    missing = run.declare("siit", title="SIIT", gateway="map646", translation=SIIT, size_convention="paired")
    run.store.set_experiment_state(missing, State.SKIPPED, "map646 not found")
    return RunReader(run.end())


def table(reader: RunReader, *, narrow: bool = False) -> Table:
    found = gateways_table(reader.run, narrow=narrow)
    assert found is not None
    return found


def test_every_gateway_has_a_line_with_all_that_was_measured_on_it(reader: RunReader) -> None:
    found = table(reader)
    assert [column.title for column in found.columns] == [
        "Gateway", "Traffic", "Kernel", "Throughput, frames/s per direction", "Of the baseline",
        "Maximum connection establishment rate, connections/s",
    ]  # fmt: skip
    rows = {row[0]: row[1:] for row in found.rows}
    assert list(rows) == ["linux-forward", "nftables", "iptables, nft", "iptables, legacy", "map646"]
    assert rows["linux-forward"] == ("IPv4", OWN, "359,375", "100.0 %", "–")
    assert rows["nftables"][2:4] == ("150,000", "41.7 % [40.7, 42.8]")
    assert rows["map646"] == ("SIIT", "–", "skipped", "–", "–")


def test_a_terminal_has_room_for_it(reader: RunReader) -> None:
    found = table(reader, narrow=True)
    assert [column.title for column in found.columns] == ["Gateway", "kernel", "fps", "base", "cps"]
    assert found.rows[1][:3] == ("nftables, NAT44", "own", "150k")


def test_marks_stand_beside_results_and_below_a_table_for_a_terminal(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    measured_latency(run, "delays", 4e5, title="Delays", gateway="nftables", lost=(0, 3, 0))
    measured_latency(run, "others", 4e5, title="Others", gateway="iptables")
    run.experiment("rate", Sought(1e5), title="Rate", gateway="nftables", loss_tolerance="0.01%")
    run.experiment("other-rate", Sought(1e5), title="Other rate", gateway="iptables")
    reader = RunReader(run.end())
    whole, narrow = table(reader), table(reader, narrow=True)
    assert [row[2:] for row in whole.rows] == [
        ("0.4 (frames lost)", "0.48", "100,000 (non-RFC)"),
        ("0.4", "0.48", "100,000"),
    ]
    assert [row[1:] for row in narrow.rows] == [("0.4*", "0.48", "100k*"), ("0.4", "0.48", "100k")]
    assert (whole.note, narrow.note) == ("", "* frames lost or non-RFC")
    (row, _) = next(overview_charts(reader.run)).spec["data"]["values"]
    assert "(frames lost)" in row["short"]


def test_a_chart_of_each_procedure_stands_in_the_report(reader: RunReader) -> None:
    charts = list(overview_charts(reader.run))
    assert [chart.name for chart in charts] == ["00-gateways-throughput", "00-gateways-connection-rate"]
    assert [row["label"] for row in charts[0].spec["data"]["values"]] == [
        "linux-forward, IPv4, own", "nftables, NAT44, own", "iptables, nft, NAT44, own",
        "iptables, legacy, NAT44, user-mode", "map646, SIIT",
    ]  # fmt: skip
    assert charts[0].spec["data"]["values"][-1]["whole"] == "no result: skipped"
    page = render(reader)
    assert page.index("Gateways side by side") < page.index("<h2>Results</h2>")


def test_one_gateway_is_compared_with_nothing(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    run.experiment("forwarding", Sought(360e3), title="Forwarding")
    run.experiment("again", Sought(360e3), title="Forwarding again")
    assert gateways_table(RunReader(run.end()).run) is None


def test_rows_of_one_kernel_stand_together_and_have_a_colour(reader: RunReader) -> None:
    compared = side_by_side(reader.run)
    assert compared is not None
    assert compared.kernels == (OWN, USER_MODE)
    assert [row.kernel for row in compared.rows] == [OWN, OWN, OWN, USER_MODE, ""]
    rows = next(overview_charts(reader.run)).spec["data"]["values"]
    inks = [row["ink"] for row in rows if "ink" in row]
    assert inks[0] == inks[1] == inks[2] != inks[3]
    assert "Neither rates nor percentages on different kernels can be compared" in render(reader)
