# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from natxy.engine.messages.results import SourceSpread, Verdict
from natxy.export.rows import trial_rows
from natxy.report.tables.dut.public_addresses import public_addresses
from natxy.report.tables.table import Table
from natxy.report.words.remarks import strange_sources
from natxy.results.reader import RunReader
from natxy.results.trials import Purpose, TrialKind
from tests.support.sample_runs import SampleRun, result, settings, trial

LINKS = settings()["addresses"]


def spread(addresses: int, fewest: int, most: int, endpoints: int | None = None) -> SourceSpread:
    return SourceSpread(connections=100, addresses=addresses, fewest=fewest, most=most, endpoints=endpoints)


def sampled(folder: Path, *trials: tuple[Verdict, SourceSpread | None], pool: str | None = "198.19.0.4/30") -> Path:
    """Returns a run with a phase 1 for each of `trials`."""
    sample = SampleRun(folder)
    addresses = LINKS | ({"pool": pool} if pool else {})
    number = sample.declare("nat", title="NAT", gateway="nftables", connections=100, phase1_rate={"rate": 1000.0},
                            addresses=addresses)  # fmt: skip
    row = sample.store.start_repetition(number, 1)
    for step, (verdict, sources) in enumerate(trials, 1):
        told = result(1000, verdict).model_copy(update={"sources": sources})
        of_phase1 = {"kind": TrialKind.PHASE1, "purpose": Purpose.PREPARE}
        sample.store.add_trial(row, trial(told, rate_fps=1000, number=step, **of_phase1))
    return sample.end()


def shown(folder: Path) -> Table | None:
    return public_addresses(RunReader(folder).run)


def test_the_addresses_in_use_are_counted_over_complete_trials(tmp_path: Path) -> None:
    table = shown(
        sampled(
            tmp_path,
            (Verdict.PASS, spread(4, 20, 30, 50)),
            (Verdict.PASS, spread(4, 19, 31, 60)),
            (Verdict.FAIL, spread(1, 1, 1)),
            (Verdict.PASS, None),
        )
    )
    assert table
    assert table.rows == (("NAT", "198.19.0.4/30", "4", "4", "unknown", "19 to 20", "30 to 31", "50 to 60", "2"),)


def test_without_a_complete_trial_the_others_count(tmp_path: Path) -> None:
    table = shown(sampled(tmp_path, (Verdict.FAIL, spread(2, 10, 40))))
    assert table
    assert table.rows[0][2:] == ("4", "2", "unknown", "10", "40", "unknown", "1")


def test_a_gateway_without_a_pool_may_have_any_addresses(tmp_path: Path) -> None:
    table = shown(sampled(tmp_path, (Verdict.PASS, spread(1, 100, 100, 50)), pool=None))
    assert table
    assert table.rows == (("NAT", "none", "unknown", "1", "unknown", "100", "100", "50", "1"),)


@pytest.mark.parametrize(
    ("lowest", "highest", "shown_as"),
    [
        ("198.19.0.4", "198.19.0.7", "198.19.0.4 to 198.19.0.7"),
        ("198.19.0.5", "198.19.0.5", "198.19.0.5"),
        ("192.0.2.9", "198.19.0.7", "192.0.2.9 to 198.19.0.7, not of the pool"),
    ],
)
def test_addresses_outside_of_the_pool_are_noticed(tmp_path: Path, lowest: str, highest: str, shown_as: str) -> None:
    ends = {"lowest": ip_address(lowest), "highest": ip_address(highest)}
    table = shown(sampled(tmp_path, (Verdict.PASS, spread(1, 100, 100).model_copy(update=ends))))
    assert table
    assert table.rows[0][4] == shown_as
    said = (
        f"NAT: connections came from {lowest}, and `pool` is 198.19.0.4/30: compare the gateway's rules with the plan"
    )
    assert strange_sources(RunReader(tmp_path).run) == ([said] if "not of" in shown_as else [])


def test_a_gateway_without_spreads_has_no_row(tmp_path: Path) -> None:
    assert shown(sampled(tmp_path / "before", (Verdict.PASS, None))) is None


def test_the_export_has_them_by_trial(tmp_path: Path) -> None:
    run = RunReader(sampled(tmp_path, (Verdict.PASS, spread(4, 19, 31, 60)), (Verdict.PASS, None))).run
    first, second = trial_rows(run)
    names = ("source_addresses", "source_fewest_connections", "source_most_connections", "source_endpoints")
    assert [first[name] for name in names] == [4, 19, 31, 60]
    assert [second.get(name) for name in names] == [None] * 4
