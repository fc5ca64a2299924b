# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.plan.departures import OWN_RULE, Kind, by_kind, counts

SHORT = "The traffic of a trial lasts 4 s; RFC 2544 §24 asks for at least 60 s."
SOFTWARE = "The lab's links are software: a frame takes no time on the wire."
LATE = f"{OWN_RULE}a trial whose last frame is up to 1 ms late counts as valid."


def test_sentences_are_sorted_by_what_they_are() -> None:
    found = by_kind([SOFTWARE, LATE, SHORT, SHORT])
    assert found == {
        Kind.DEPARTURE: [SHORT, SHORT],
        Kind.OWN_RULE: ["A trial whose last frame is up to 1 ms late counts as valid."],
        Kind.LIMITATION: [SOFTWARE],
    }
    assert [*found] == [*Kind]
    assert (
        counts([SOFTWARE, LATE, SHORT, SHORT]) == "2 departures from the RFCs, 1 rule of natxy's own and 1 limitation"
    )


def test_a_sentence_begins_as_it_was_written() -> None:
    absent = "nat44-rate: the plan compares with forwarding, which `--only` leaves out; name it too for the ratio."
    assert by_kind([absent]) == {Kind.LIMITATION: [absent]}


def test_a_departure_names_what_an_rfc_asks_for() -> None:
    reset = "Reset is measured at 50 % of the throughput; RFC 6201 asks for the measured throughput."
    title = "RFC 9693 run: `ratio_at_least` is not judged, because `--only` leaves out the baseline."
    assert by_kind([title, reset]) == {Kind.DEPARTURE: [reset], Kind.LIMITATION: [title]}


def test_a_kind_without_sentences_is_not_named() -> None:
    assert by_kind([]) == {}
    assert counts([SOFTWARE, SOFTWARE]) == "2 limitations"
