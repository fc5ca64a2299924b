# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from natxy.report.charts.chart import Chart, Row, Spec
from natxy.report.charts.search import SearchStep, search_chart
from natxy.search.outcome import Outcome


def steps(*outcomes: Outcome, repetition: int = 1) -> list[SearchStep]:
    return [
        SearchStep(repetition, 1000.0 * (index + 1), outcome, f"r{repetition} s{index}", f"<{outcome}>")
        for index, outcome in enumerate(outcomes)
    ]


def chart(tried: list[SearchStep], median: float | None = 1500) -> Chart:
    return search_chart(tried, name="c", title="Search", unit="connections/s", median=median)


def rows(drawn: Chart, field: str) -> list[Row]:
    """Returns the rows of the layer that have this field."""
    found: list[Row] = next(
        layer["data"]["values"] for layer in drawn.spec["layer"] if field in layer["data"]["values"][0]
    )
    return found


def test_every_step_is_drawn_once_in_the_order_of_time_and_says_why() -> None:
    tried = steps(Outcome.FAIL, Outcome.PASS, Outcome.INVALID) + steps(Outcome.PASS, repetition=2)
    drawn = rows(chart(tried), "outcome")
    assert [row["order"] for row in drawn] == [0, 1, 2, 3]
    assert [row["outcome"] for row in drawn] == ["fail", "pass", "invalid (tester)", "pass"]
    assert drawn[2] == {
        "order": 2, "rate": 3000.0, "outcome": "invalid (tester)", "step": "r1 s2", "reason": "<invalid>",
    }  # fmt: skip


def test_outcomes_differ_in_shape_and_in_colour() -> None:
    marks: Spec = chart(steps(*Outcome)).spec["layer"][-1]["encoding"]
    for channel in ("color", "shape"):
        assert len(set(marks[channel]["scale"]["range"])) == len(marks[channel]["scale"]["domain"]) == 5


def test_the_legend_names_what_there_is() -> None:
    marks: Spec = chart(steps(Outcome.UNPREPARED, Outcome.PASS)).spec["layer"][-1]["encoding"]
    assert marks["color"]["scale"]["domain"] == marks["shape"]["scale"]["domain"] == ["pass", "phase 1 failed"]


def test_repetitions_follow_each_other_and_every_second_one_is_shaded() -> None:
    tried = [step for number in (1, 2, 3) for step in steps(*[Outcome.PASS] * (number + 1), repetition=number)]
    bands = rows(chart(tried), "shaded")
    assert [(band["first"], band["last"], band["shaded"]) for band in bands] == [
        (-0.5, 1.5, False), (1.5, 4.5, True), (4.5, 8.5, False),
    ]  # fmt: skip
    assert [band["repetition"] for band in bands] == ["repetition 1", "2", "3"]


@given(st.lists(st.sampled_from(Outcome), min_size=1, max_size=30))
def test_a_bracket_only_closes_and_what_decides_nothing_moves_it_not(outcomes: list[Outcome]) -> None:
    brackets = rows(chart(steps(*outcomes)), "low")
    assert len(brackets) == len(outcomes)
    for before, after, outcome in zip(brackets, brackets[1:], outcomes[1:], strict=False):
        assert after["low"] >= before["low"]
        assert after["high"] <= before["high"] or after["high"] == after["low"]
        if outcome in (Outcome.INVALID, Outcome.UNPREPARED):
            assert (after["low"], after["high"]) == (before["low"], before["high"])


def test_numbers_of_repetitions_are_left_out_where_they_would_overlap() -> None:
    tried = [step for number in range(214, 254) for step in steps(*[Outcome.PASS] * 5, repetition=number)]
    bands = rows(chart(tried), "shaded")
    shown = [
        (str(row["repetition"]), (float(str(row["first"])) + 0.5) / len(tried)) for row in bands if row["repetition"]
    ]
    assert shown[0][0] == "repetition 214"
    assert 10 < len(shown) < 20
    letter = 1 / 65
    for (text, at), after in zip(shown, [*(at for _, at in shown[1:]), 1.0], strict=True):
        assert at + letter * len(text) < after


def test_a_long_search_gets_a_wide_picture() -> None:
    tried = [step for number in range(20) for step in steps(*[Outcome.PASS] * 12, repetition=number + 1)]
    assert chart(tried).least_width > 1400
    assert chart(tried[:12]).least_width < 300


def test_without_a_median_there_is_no_line_for_it() -> None:
    with_it, without = chart(steps(*Outcome)), chart(steps(*Outcome), median=None)
    assert len(with_it.spec["layer"]) == len(without.spec["layer"]) + 1
