# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal

import pytest

from tools.mutants.python import _outcome, mutants, nearest
from tools.mutants.survivors import Outcome


def test_a_mutant_meets_the_nearest_and_fastest_tests() -> None:
    tests = {
        "src/natxy/run/run_test.py": 1.0,
        "src/natxy/plan/cells_test.py": 3.0,
        "src/natxy/plan/written_test.py": 2.0,
        "src/natxy/plan/yaml/slow_test.py": 50.0,
        "src/natxy/plan/yaml/sweep_test.py": 30.0,
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


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (pytest.ExitCode.OK, Outcome.SURVIVED),
        (pytest.ExitCode.NO_TESTS_COLLECTED, Outcome.SURVIVED),
        (pytest.ExitCode.TESTS_FAILED, Outcome.KILLED),
        (pytest.ExitCode.INTERRUPTED, Outcome.KILLED),
        (pytest.ExitCode.INTERNAL_ERROR, Outcome.UNUSABLE),
        (-signal.SIGKILL, Outcome.UNUSABLE),
        (-signal.SIGALRM, Outcome.TOO_LONG),
    ],
)
def test_only_a_failed_test_kills_a_mutant(code: int, outcome: Outcome) -> None:
    assert _outcome(code) == outcome
