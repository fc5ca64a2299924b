# SPDX-License-Identifier: Apache-2.0
"""Tests the table of siitperf's scripts beside plans with rounds made by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.replay.limits import FORGETS_S
from tests.replay.replays import FRAMES
from tools import siitperf_replay

MACHINE = {"processor": "a processor", "kernel": "6.18"}


def test_the_table_has_a_row_for_each_figure_and_names_differences(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measured(
        script: str, by_script: float, by_plan: float, date: str, gateway: str = "tayga", name: str = "frames/s",
        first_limits: bool = False,
    ) -> str:  # fmt: skip
        ways = {"by_script": {name: by_script}, "by_plan": {name: by_plan}}
        blamed = {"calls_repeated": 1, "calls_counted_though_blamed": 0, "steps_repeated": 2, "forgets_s": FORGETS_S}
        row = {"gateway": gateway, "script": script, **ways, "date": date, "machine": MACHINE}
        return json.dumps(row if first_limits else row | blamed) + "\n"

    rounds = tmp_path / "rounds.jsonl"
    rounds.write_text(
        measured("binary-rate-alg.sh", 1, 2, "2025-01-01", first_limits=True)
        + measured("binary-rate-alg.sh-pdv", 600, 300, "2026-01-02")
        + measured("binary-rate-alg.sh", FRAMES - 5, FRAMES - 9, "2026-01-01")
        + measured("binary-rate-alg.sh", FRAMES - 3, FRAMES - 6.5, "2026-01-01")
        + measured("binary-rate-alg.sh", FRAMES - 3, FRAMES - 6.5, "2026-01-01")
        + measured("pdv.sh, dir r", 500, 501, "2026-01-01", name="Reverse PDV, ms")
        + measured("pdv.sh", 400, 500, "2026-01-01", name="Forward PDV, ms", first_limits=True)
        + measured("pdv.sh", 4.5, 1.25, "2026-01-01", "jool-siit", "Forward PDV, ms"),
        encoding="utf-8",
    )
    monkeypatch.setattr(siitperf_replay, "MEASURED", rounds)
    said, _, _, _, *rows, _, missing = siitperf_replay.table(siitperf_replay.read())
    assert said == "a processor, Linux 6.18; 2026-01-01 to 2026-01-02."
    assert rows == [
        "| binary-rate-alg.sh | tayga | frames/s | 3,957 – 3,977 | 3,974 (3,972 – 3,974) | 3,970 (3,968 – 3,970) | "
        "3 | 3, 0, 6 | |",
        "| binary-rate-alg.sh-pdv | tayga | frames/s | 566 – 618 | 600 | 300 | 1 | 1, 0, 2 | differs |",
        "| pdv.sh, dir r | tayga | Reverse PDV, ms | 455 – 535 | 500 | 501 | 1 | 1, 0, 2 | one round |",
        "| pdv.sh | jool-siit | Forward PDV, ms | – | 4.50 | 1.25 | 1 | 1, 0, 2 | too few rounds |",
    ]
    assert missing.startswith("Not measured: binary-rate-alg.sh at linux-forward; ")
    assert missing.endswith("; pdv.sh at jool.")
    assert "pdv.sh at jool-siit" not in missing
    assert "; pdv.sh at tayga; " in missing
