# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.yaml.coordinates import in_words, labels, leaves, name_part


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([None, True, 5, "1M"], ["none", "true", "5", "1M"]),
        ([{"driver": "jool", "cores": 1}, {"driver": "tayga", "cores": 2}], ["jool", "tayga"]),
        # The drivers are not distinct, so what else differs follows.
        (
            [
                {"driver": "jool", "cores": 1, "limits": {"table": 5}},
                {"driver": "jool", "cores": 2, "limits": {"table": 5}},
            ],
            ["jool cores=1", "jool cores=2"],
        ),
        (
            [{"driver": "jool", "cores": 1}, {"driver": "jool", "cores": 2}, {"driver": "tayga"}],
            ["jool cores=1", "jool cores=2", "tayga"],
        ),
        ([{"trial": 1, "drain": 2}, {"trial": 2, "drain": 2}], ["trial=1 drain=2", "trial=2 drain=2"]),
    ],
)
def test_a_label_is_the_main_value_and_what_tells_it_from_others(items: list[object], expected: list[str]) -> None:
    assert labels(items) == expected


@pytest.mark.parametrize(
    ("path", "label", "words"),
    [
        (("cores",), "1", "1 core"),
        (("cores",), "2", "2 cores"),
        (("connections",), "9999", "9999 connections"),
        (("connections",), "10000", "10,000 connections"),
        (("timing", "drain_ends_early"), "true", "drain ends early true"),
    ],
)
def test_titles_have_words(path: tuple[str, ...], label: str, words: str) -> None:
    assert in_words(path, label) == words


def test_leaves_are_values_at_all_depths_but_no_lists() -> None:
    fields = {"a": 1, "b": {"c": None, "d": {"e": "x"}}, "f": [1, 2]}
    assert dict(leaves(fields)) == {("a",): 1, ("b", "c"): None, ("b", "d", "e"): "x"}


def test_names_of_cells_have_no_spaces_or_slashes() -> None:
    assert name_part(("gateway", "driver"), "a b/c:1") == "driver=a-b-c:1"
