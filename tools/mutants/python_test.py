# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tools.mutants.python import mutants, nearest


def test_a_mutant_meets_the_nearest_and_fastest_tests() -> None:
    tests = {
        "src/natxy/run/run_test.py": 1.0,
        "src/natxy/plan/cells_test.py": 3.0,
        "src/natxy/plan/written_test.py": 2.0,
        "src/natxy/plan/yaml/slow_test.py": 50.0,
        "src/natxy/plan/yaml/sweep_test.py": 10.0,
        "src/natxy/plan/yaml/a_test.py": 5.0,
    }
    assert nearest("src/natxy/plan/yaml/sweep.py", tests) == [
        "src/natxy/plan/yaml/sweep_test.py",
        "src/natxy/plan/yaml/a_test.py",
        "src/natxy/plan/written_test.py",
        "src/natxy/plan/cells_test.py",
    ]
    assert nearest("src/natxy/plan/yaml/slow.py", tests) == ["src/natxy/plan/yaml/slow_test.py"]
    assert nearest("src/natxy/plan/yaml/slow.py", {}) == []


def test_a_mutant_keeps_its_place_in_samples_when_other_lines_change() -> None:
    [first, _], [_, moved, *_] = (
        [*mutants({"a.py": source})] for source in ("x = 1\ny = 2\n", "z = 3\nx = 1\ny = 2\n")
    )
    assert first.key("seed") == moved.key("seed")
    assert len({mutant.key("seed") for mutant in mutants({"a.py": "x = 1\nx = 1\n"})}) == 2
