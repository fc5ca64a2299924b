# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.report.page.cards import cards
from natxy.results.reader import RunReader
from tests.support.sample_runs import quickstart
from tests.support.sample_sweeps import sweeps


def test_an_experiment_has_a_card_with_its_spread(tmp_path: Path) -> None:
    found = {card.title: card for card in cards(RunReader(quickstart(tmp_path)).run)}
    assert len(found) == 6
    assert (found["NAT44 throughput"].value, found["NAT44 throughput"].share) == ("150 kfps", "65.8 % [64.5, 67.8]")
    assert found["NAT44, many addresses"].reason == "tester limit reached"


def test_a_sweep_has_one_card_for_all_its_cells(tmp_path: Path) -> None:
    found = {card.title: card for card in cards(RunReader(sweeps(tmp_path)).run)}
    assert len(found) == 8
    value = found["Linux IPv4 forwarding"].value
    assert value.replace("\N{NO-BREAK SPACE}", " ") == "181.2 kfps to ≥ 400 kfps"
    assert found["Connection rate"].spread == "lowest and highest of the medians of 4 experiments, 1 without result"
    assert found["Addresses and ports"].rate_kind.endswith("over IP addresses × Source ports")
