# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from natxy.events.listener import RunListener
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.report.tables.goodput import goodput_tables
from natxy.report.tables.table import Table
from natxy.report.words import remarks
from natxy.results.reader import RunReader
from natxy.results.records import State
from natxy.run.run import run_plan
from tests.support.sample_runs import SampleRun


def tables(folder: Path, *experiments: dict[str, Any], **head: Any) -> list[Table]:
    usual = {"procedure": "tcp-goodput", "directions": "forward", "repeat": 1}
    whole = [usual | experiment for experiment in experiments]
    plan = {"name": "p", "timing": "lab", "testbed": {"kind": "simulated"}, "experiments": whole} | head
    assert run_plan(resolve(Plan.model_validate(plan)), folder / "run", RunListener()) == 0
    return goodput_tables(RunReader(folder / "run").run)


def gateway(forwarding_fps: float) -> dict[str, Any]:
    return {"driver": "simulated", "forwarding_fps": forwarding_fps}


def test_a_row_a_gateway_and_a_column_for_each_way(tmp_path: Path) -> None:
    goodputs, tests, line, baseline = tables(
        tmp_path,
        {"name": "v6", "gateway": gateway(150_000), "family": "ipv6"},
        {"name": "nat64", "gateway": gateway(150_000), "translation": "nat64"},
        {"name": "again", "title": "Once more", "gateway": gateway(150_000), "translation": "nat64", "flows": 1},
        {"name": "slow", "gateway": gateway(75_000), "translation": "nat64", "baseline": "v6"},
        {"name": "alone", "gateway": gateway(75_000), "flows": 2},
        line_rate="1Gbps",
    )
    assert goodputs.title == "TCP goodput of hosts and gateway together, Mbit/s: forward, 1 flow, best of 3"
    assert [column.title for column in goodputs.columns] == ["Gateway", "IPv6", "NAT64"]
    # A full segment has 1448 bytes, and 1.5 frames; the line carries 928.5 Mbit/s of them.
    fast, slow = "simulated, forwarding_fps=150000.0", "simulated, forwarding_fps=75000.0"
    assert goodputs.rows == (
        (fast, "1,158.4", "1,158.4"), (f"{fast}: Once more", "–", "1,158.4"), (slow, "–", "579.2"),
    )  # fmt: skip
    assert tests.title == (
        "TCP goodput of hosts and gateway together, lowest – highest test, Mbit/s: forward, 1 flow, best of 3"
    )
    assert tests.rows[0] == (fast, "1,158 – 1,158", "1,158 – 1,158")
    assert line.rows == ((fast, "125", "125"), (f"{fast}: Once more", "–", "125"), (slow, "–", "62"))
    assert baseline.rows == ((slow, "50"),)
    assert [column.title for column in baseline.columns] == ["Gateway", "NAT64"]


def test_gateways_of_one_driver_are_kept_apart_and_nat_has_a_column_of_its_own(tmp_path: Path) -> None:
    run = SampleRun(tmp_path)
    tcp: dict[str, Any] = {"procedure": {"name": "tcp-goodput"}, "directions": "forward", "flows": 1}
    measured: tuple[tuple[str, str, dict[str, str], str, float], ...] = (
        ("forward", "linux-forward", {}, "ipv4", 9e9),
        ("masquerade", "iptables", {"target": "masquerade"}, "ipv4", 5e9),
        ("snat", "iptables", {"target": "snat"}, "ipv4", 6e9),
        ("snat6", "iptables", {"target": "snat"}, "ipv6", 4e9),
        ("guest", "linux-forward", {"kernel": "user-mode"}, "ipv4", 1e9),
    )
    for name, driver, variant, family, goodput_bps in measured:
        kernel = f"{'user-mode ' if 'kernel' in variant else ''}Linux 6.1"
        baseline = "forward" if name == "masquerade" else None
        number = run.declare(name, title=name, gateway=driver, variant=variant, family=family, baseline=baseline, **tcp)
        run.store.set_duts(number, [{"name": "x", "version": "1", "settings": {"kernel": kernel}, "configuration": ""}])
        repetition = run.store.start_repetition(number, 1)
        run.store.finish_repetition(repetition, State.DONE, value=goodput_bps, figures={"goodput": goodput_bps})
        run.store.set_experiment_state(number, State.DONE)
    goodputs, baseline_shares = goodput_tables(RunReader(run.end()).run)
    assert [column.title for column in goodputs.columns] == ["Gateway", "IPv4", "NAT44", "NAT66"]
    assert goodputs.rows == (
        ("linux-forward, own", "9,000.0", "–", "–"),
        ("iptables, masquerade, own", "–", "5,000.0", "–"),
        ("iptables, snat, own", "–", "6,000.0", "4,000.0"),
        ("linux-forward, user-mode", "1,000.0", "–", "–"),
    )
    assert baseline_shares.rows == (("iptables, masquerade, own", "56"),)
    assert [column.title for column in baseline_shares.columns] == ["Gateway", "NAT44"]


def test_tests_that_are_far_apart_are_shown_and_remarked_once(tmp_path: Path) -> None:
    ways: list[dict[str, Any]] = [
        {"name": family, "gateway": gateway(150_000), "family": family} for family in ("ipv4", "ipv6")
    ]
    goodputs, tests, *_ = tables(tmp_path, *ways, testbed={"kind": "simulated", "noise": 0.9}, seed=3)
    run = RunReader(tmp_path / "run").run
    for column, experiment in enumerate(run.experiments, 1):
        totals = [transfer.goodput_bps / 1e6 for transfer in experiment.repetitions[0].transfers]
        assert len(totals) == 3
        assert goodputs.rows[0][column] == f"{max(totals):,.1f}"
        assert tests.rows[0][column] == f"{min(totals):,.0f} – {max(totals):,.0f}"
    (remark,) = remarks.sentences(run)
    assert remark.startswith("ipv4; ipv6: the tests of a repetition differ by more than 30 %")


def test_a_single_experiment_needs_no_table(tmp_path: Path) -> None:
    assert tables(tmp_path, {"name": "x", "gateway": "simulated"}) == []
