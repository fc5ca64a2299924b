# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.published import PublishedTable, published_names, published_table


@pytest.mark.parametrize("name", published_names())
def test_every_table_is_whole_and_names_its_source(name: str) -> None:
    table = published_table(name)
    assert table.rows
    assert all((table.title, table.source, table.where, table.setup))


def _column(table: PublishedTable, title: str) -> list[float]:
    index = table.columns.index(title)
    return [float(row[index]) for row in table.rows]


@pytest.mark.parametrize(
    ("name", "rate", "relative"),
    [
        ("iptables-cores", "cps median", "cps relative scale-up"),
        ("iptables-cores", "fps median", "fps relative scale-up"),
        ("iptables-cores", "Forwarding fps median", "Forwarding relative scale-up"),
        ("jool-cores", "cps median", "cps relative scale-up"),
        ("jool-cores", "fps median", "fps relative scale-up"),
    ],
)
def test_relative_scale_up_follows_from_the_rates(name: str, rate: str, relative: str) -> None:
    table = published_table(name)
    rates, cores = _column(table, rate), _column(table, "CPU cores")
    computed = [own / (n * rates[0]) for own, n in zip(rates, cores, strict=True)]
    assert computed == pytest.approx(_column(table, relative), abs=0.0011)


@pytest.mark.parametrize("name", ["jool-nat64-rate", "jool-nat64-throughput", "pf-nat64-rate", "pf-nat64-throughput"])
def test_relative_performance_follows_from_the_medians(name: str) -> None:
    table = published_table(name)
    medians = next(_column(table, title) for title in table.columns if title.endswith("median"))
    computed = [100 * own / medians[0] for own in medians]
    assert computed == pytest.approx(_column(table, "Relative performance, %"), abs=0.011)


@pytest.mark.parametrize("name", [name for name in published_names() if "addresses-ports" in name])
def test_dispersion_follows_from_the_extremes(name: str) -> None:
    table = published_table(name)
    lowest, highest = _column(table, "fps min"), _column(table, "fps max")
    medians = _column(table, "fps median, per direction")
    computed = [100 * (b - a) / m for a, b, m in zip(lowest, highest, medians, strict=True)]
    assert computed == pytest.approx(_column(table, "Dispersion, %"), abs=0.02)
    assert all(a <= m <= b for a, m, b in zip(lowest, medians, highest, strict=True))


def test_tear_down_rates_follow_from_connections_and_times() -> None:
    table = published_table("iptables-tear-down")
    computed = [n / t for n, t in zip(_column(table, "Connections"), _column(table, "Net s"), strict=True)]
    assert computed == pytest.approx(_column(table, "Tear-down cps"), rel=0.005)
