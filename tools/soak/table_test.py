# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from tools.soak.__main__ import Sample, write
from tools.soak.table import CONDITIONS, SAMPLES, WARM_UP, Soak

CONDITIONS_THERE = {"processor": "AMD EPYC", "kernel": "6.1", "dpdk": "DPDK 22.11", "io": "af_xdp"}


def sample(number: int) -> Sample:
    """Returns a sample of a soak whose memory grows in the warm-up and then no more."""
    return {
        "elapsed_s": 36.0 * number,
        "reopenings": 10 * number,
        "trials": 11 * (number + 1),
        "not_passed": 0,
        "resident_kib": 102_400 - max(0, WARM_UP - number) * 1024,
        "anonymous_kib": 51_200,
        "shared_kib": 51_200,
        "hugepages_kib": 0,
        "descriptors": 17,
        "threads": 4,
        "ahead_of_raw_ns": 3_600 * number,
        "ahead_of_monotonic_ns": -1_000_000 * number,
    }


def soak(folder: Path, cycles: int = 121) -> Soak:
    write(map(sample, range(cycles)), folder / SAMPLES)
    (folder / CONDITIONS).write_text(json.dumps(CONDITIONS_THERE))
    return Soak.read(folder)


def test_the_table_leaves_out_the_warm_up(tmp_path: Path) -> None:
    where, _, _, _, memory, *_, raw, _ = soak(tmp_path).rows()
    assert where == (
        "AMD EPYC, Linux 6.1, DPDK 22.11, net_af_xdp: 72 minutes, 121 cycles, 1,331 trials, of which 0 did not pass, "
        "and 1,200 reopenings."
    )
    assert memory == "| memory, MiB | 100.00 | 100.00 | 0.00 (0.00 to 0.00) | 1 | 0.00 (0.00 to 0.00) | flat |"
    assert "360.00 (360.00 to 360.00) | ±18,000 |" in raw


def test_what_drifts_or_fails_or_is_undecided_does_not_hold(tmp_path: Path) -> None:
    good = soak(tmp_path)
    assert good.holds
    leaking = [{**each, "descriptors": each["reopenings"]} for each in good.samples]
    assert not replace(good, samples=leaking).holds
    chance = Random(1)
    wandering = [{**each, "resident_kib": each["resident_kib"] + chance.uniform(-2e4, 2e4)} for each in good.samples]
    assert "undecided" in [*replace(good, samples=wandering).rows()][4]
    assert not replace(good, samples=wandering).holds
    for not_passed, holds in ((13, True), (14, False)):
        last = {**good.samples[-1], "not_passed": not_passed}
        assert replace(good, samples=[*good.samples[:-1], last]).holds == holds


def test_a_soak_that_was_too_short_has_no_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="too few to judge"):
        next(soak(tmp_path, cycles=0).rows())


def test_a_soak_that_is_cut_short_leaves_its_samples(tmp_path: Path) -> None:
    def cut_short() -> Iterator[Sample]:
        yield from map(sample, range(60))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(cut_short(), tmp_path / SAMPLES)
    assert len((tmp_path / SAMPLES).read_text().splitlines()) == 1 + 60
