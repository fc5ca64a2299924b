# SPDX-License-Identifier: Apache-2.0
"""Finds out which lines of natxy each file of tests executes, and how long that takes, when nothing is mutated."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Final

from coverage import Coverage

from tools.mutants.forks import PASSED, Job, in_forks, run_tests

REPOSITORY: Final = Path(__file__).parents[2]
FOLDER: Final = REPOSITORY / "build/mutants"
_MOST_CPU_S: Final = 300


@dataclass(frozen=True)
class Baseline:
    lines: Mapping[str, frozenset[int]]  # by file
    cpu_s: float

    def executes(self, file: str, lines: range) -> bool:
        """Returns whether any of these lines of a file is executed."""
        return not self.lines.get(file, frozenset()).isdisjoint(lines)


def digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode()).hexdigest()


def is_test(file: str) -> bool:
    return file.endswith("_test.py")


def baselines(tests: Mapping[str, str], sources: Mapping[str, str], at_once: int) -> dict[str, Baseline]:
    """Runs each of the tests alone, except those of which neither they nor a source have changed since they ran.

    Tests and sources are texts by path. Raises SystemExit if a test fails.
    """
    state = digest(*(text for _, text in sorted(sources.items())))
    files = {test: FOLDER / "baseline" / f"{digest(test, text, state)}.json" for test, text in tests.items()}
    files[next(iter(files))].parent.mkdir(parents=True, exist_ok=True)
    missing = [
        Job(test, partial(_measure, test, file), _MOST_CPU_S, file.with_suffix(".log"))
        for test, file in files.items()
        if not file.exists()
    ]
    for number, (test, code) in enumerate(in_forks(missing, at_once), 1):
        print(f"without mutants: {number} of {len(missing)} files of tests", end="\r", flush=True)
        if code not in PASSED:
            raise SystemExit(f"{test} fails without a mutation ({code}): see {files[test].with_suffix('.log')}")
    return {test: _read(file) for test, file in files.items()}


def _measure(test: str, into: Path) -> int:
    coverage = Coverage(data_file=None, config_file=False, include=[f"{REPOSITORY}/src/natxy/*"])
    coverage.start()
    code = run_tests([test])
    coverage.stop()
    data = coverage.get_data()
    lines = {str(Path(file).relative_to(REPOSITORY)): data.lines(file) for file in data.measured_files()}
    if code in PASSED:
        into.write_text(json.dumps({"lines": lines, "cpu_s": time.process_time()}), encoding="utf-8")
    return code


def _read(file: Path) -> Baseline:
    read = json.loads(file.read_text(encoding="utf-8"))
    return Baseline({file: frozenset(lines) for file, lines in read["lines"].items()}, read["cpu_s"])
