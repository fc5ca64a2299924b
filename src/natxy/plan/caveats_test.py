# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.plan.caveats import TITLES, CaveatKind, by_kind, counts, departure, gap, limitation, own_rule

SHORT = departure("The traffic of a trial lasts 4 s; RFC 2544 §24 asks for at least 60 s.")
SOFTWARE = limitation("The lab's links are software: a frame takes no time on the wire.")
UNCOUNTED = gap("The table is never checked to be empty, because the gateway has no `count`.")
LATE = own_rule("A trial whose last frame is up to 1 ms late counts as valid.")


def test_sentences_are_sorted_by_their_kind() -> None:
    found = by_kind([SOFTWARE, LATE, UNCOUNTED, SHORT, SHORT])
    assert found == {
        CaveatKind.GAP: [UNCOUNTED.text],
        CaveatKind.DEPARTURE: [SHORT.text, SHORT.text],
        CaveatKind.OWN_RULE: [LATE.text],
        CaveatKind.LIMITATION: [SOFTWARE.text],
    }
    assert [*found] == [*CaveatKind] == [*TITLES]
    assert (
        counts([SOFTWARE, LATE, SHORT, SHORT]) == "2 departures from the RFCs, 1 rule of natxy's own and 1 limitation"
    )


def test_words_do_not_decide_on_the_kind() -> None:
    title = "Like RFC 2544 §26.1; RFC 2544 asks: `ratio_at_least` is not judged."
    assert by_kind([limitation(title)]) == {CaveatKind.LIMITATION: [title]}


def test_a_kind_without_sentences_is_not_named() -> None:
    assert by_kind([]) == {}
    assert counts([UNCOUNTED]) == "1 gap in what is checked"
    assert counts([SOFTWARE, SOFTWARE]) == "2 limitations"
