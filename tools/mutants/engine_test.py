# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.mutants.baseline import REPOSITORY
from tools.mutants.engine import LIST, Mutant, compiler_and_options, mutants


def test_each_mutant_changes_its_file() -> None:
    for mutant in mutants(LIST.read_text(encoding="utf-8")):
        text = (REPOSITORY / mutant.file).read_text(encoding="utf-8")
        assert mutant.mutated(text) != text


@pytest.mark.parametrize(("text", "times"), [("b", 0), ("a a", 2)])
def test_a_line_that_is_not_there_once_is_an_error(text: str, times: int) -> None:
    with pytest.raises(ValueError, match=f"expected once in x.cpp, found {times} times: a"):
        Mutant("x.cpp", "a", "b").mutated(text)


def test_a_compiler_may_be_several_words() -> None:
    assert compiler_and_options(["ccache", "c++", "-Ix", "-o", "y"]) == (["ccache", "c++"], ["-Ix", "-o", "y"])
    assert compiler_and_options(["c++", "-Ix"]) == (["c++"], ["-Ix"])
