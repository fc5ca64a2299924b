# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.report.tables.selftest import over_connections, sentences, tables
from natxy.results.analysis.ceilings_test import FOUND, OF_QUERIES, WITH_CONNECTIONS

FULL = FOUND.model_copy(update={"ceilings": WITH_CONNECTIONS})


def test_the_rates_of_connections_have_a_table_of_their_own() -> None:
    table = over_connections(FULL)
    assert table is not None
    assert [column.title for column in table.columns[2:]] == [
        "New connections",
        "Validated, α = 1",
        "Phase 2, one way",
        "Both ways, each",
    ]
    assert table.rows == (("IPv4, 64 bytes", "1,000", "300k", "200k", "260k", "240k"),)


def test_ceilings_of_connections_are_not_among_those_of_frames() -> None:
    frames, _ = tables(FULL)
    assert [row[2:4] for row in frames.rows if row[:2] == ("IPv4, 64 bytes", "random addresses, ports")] == [
        ("700k", "500k")
    ]


def test_a_self_test_without_connections_has_no_such_table() -> None:
    assert over_connections(FOUND) is None
    assert len(tables(FOUND)) == 1


def test_the_queries_that_the_tester_answers_are_told_in_a_sentence() -> None:
    found = FOUND.model_copy(update={"ceilings": [*FOUND.ceilings, OF_QUERIES]})
    assert over_connections(found) is None
    assert "the tester answers 220k queries/s within a quarter" in sentences(found)[-1]
    assert "trust up to 100k (RFC 8219" in sentences(found)[-1]
    assert not any("queries" in text for text in sentences(FOUND))
