# SPDX-License-Identifier: Apache-2.0
"""Mutates the control plane and counts the mutants that its unit tests kill: `python -m tools.mutants.python`.

A mutant meets those tests of the mutated rooms that execute its line, the nearest first, until one fails. What
`--sample` selects depends on the seed alone, and a smaller sample is part of a larger one. Outcomes stay in
build/mutants, and mutants whose source and tests have not changed are not tested again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from os.path import commonpath
from tempfile import TemporaryDirectory
from typing import Final

from tools.mutants.baseline import FOLDER, REPOSITORY, Baseline, baselines, digest, is_test
from tools.mutants.forks import FAILED, PASSED, TOO_LONG, Job, in_forks, load_libraries, replace_source, run_tests
from tools.mutants.mutations import Mutation, mutations
from tools.mutants.survivors import Judged, Known, Outcome, finish

ROOMS: Final = ("export", "plan", "procedures", "results", "run", "search")
_MOST_S: Final = 40.0
_SLOWER: Final = 3  # a mutant may take so many times as long as its tests do without it
_START_S: Final = 10
_MEMORY: Final = "/dev/shm"  # the tests make hundreds of small databases
_UNUSABLE: Final = 71  # none of pytest's exit codes


@dataclass(frozen=True)
class Mutant:
    file: str
    mutation: Mutation
    number: int  # among the mutations of the file that look alike

    def key(self, *context: str) -> str:
        return digest(self.file, self.mutation.before, self.mutation.after, str(self.number), *context)


def mutants(sources: Mapping[str, str]) -> Iterator[Mutant]:
    """Yields the mutants of all sources, given as texts by path."""
    alike: Counter[tuple[str, str, str]] = Counter()
    for file, source in sources.items():
        for mutation in mutations(source):
            looks = file, mutation.before, mutation.after
            yield Mutant(file, mutation, alike[looks])
            alike[looks] += 1


def nearest(file: str, tests: Mapping[str, float]) -> list[str]:
    """Returns the tests that a mutant of the file meets. `tests` are the seconds that each takes.

    The first is the one beside it. Then come those that share most folders with it, the fastest first, up to _MOST_S
    together. A mutant takes half of that, because the seconds were measured under coverage.
    """
    beside = file.replace(".py", "_test.py")
    chosen: dict[str, float] = {}
    for test in sorted(tests, key=lambda test: (test != beside, -len(commonpath([test, file])), tests[test], test)):
        if not chosen or sum(chosen.values()) + tests[test] <= _MOST_S:
            chosen[test] = tests[test]
    return [*chosen]


def judge(
    chosen: Sequence[Mutant], texts: Mapping[str, str], baseline: Mapping[str, Baseline], at_once: int
) -> Iterator[Judged]:
    """Yields the outcome of each mutant, as far as possible those that are known from earlier."""
    known = Known(FOLDER / "python.jsonl")
    jobs = []
    for mutant in chosen:
        lines = mutant.mutation.lines
        executing = [test for test, each in baseline.items() if each.executes(mutant.file, lines)]
        tests = nearest(mutant.file, {test: baseline[test].cpu_s for test in executing})
        key = mutant.key(texts[mutant.file], *(texts[test] for test in tests))
        if not tests:
            yield _judged(mutant, Outcome.NOT_EXECUTED)
        elif key in known.outcomes:
            yield _judged(mutant, known.outcomes[key])
        else:
            most_s = _START_S + _SLOWER * sum(baseline[test].cpu_s for test in tests)
            jobs.append(Job((mutant, key), partial(_try, mutant, tests), most_s))
    for number, ((mutant, key), code) in enumerate(in_forks(jobs, at_once), 1):
        print(f"mutants: {number} of {len(jobs)}", end="\r", flush=True)
        known.add(key, _outcome(code))
        yield _judged(mutant, _outcome(code))


def _try(mutant: Mutant, tests: Sequence[str]) -> int:
    path = REPOSITORY / mutant.file
    try:
        replace_source(path, compile(mutant.mutation.source, path, "exec", dont_inherit=True))
        import_module(mutant.file.removeprefix("src/").removesuffix(".py").replace("/", ".").removesuffix(".__init__"))
    except Exception:
        return _UNUSABLE
    return run_tests(tests)


def _outcome(code: int) -> Outcome:
    if code == _UNUSABLE:
        return Outcome.UNUSABLE
    if code in TOO_LONG:
        return Outcome.TOO_LONG
    if code in PASSED:
        return Outcome.SURVIVED
    # A process that ran out of memory, or that a signal ended, has judged nothing.
    return Outcome.KILLED if code in FAILED else Outcome.UNUSABLE


def _judged(mutant: Mutant, outcome: Outcome) -> Judged:
    return Judged(mutant.file, mutant.mutation.lines[0], mutant.mutation.before, mutant.mutation.after, outcome)


def _read(folder: str) -> dict[str, str]:
    paths = sorted((REPOSITORY / "src/natxy" / folder).rglob("*.py"))
    return {str(path.relative_to(REPOSITORY)): path.read_text(encoding="utf-8") for path in paths}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", default="300", help="how many mutants, or `all`")
    parser.add_argument("--seed", type=int, default=1, help="selects the sample")
    parser.add_argument("--at-once", type=int, default=os.cpu_count(), help="how many mutants are tested at once")
    parser.add_argument("--only", default="", help="takes the mutants of files that begin so, such as src/natxy/search")
    arguments = parser.parse_args()
    os.chdir(REPOSITORY)
    sys.path.insert(0, str(REPOSITORY / "src"))
    load_libraries()
    texts = {file: text for room in ROOMS for file, text in _read(room).items()}
    tests = {file: text for file, text in texts.items() if is_test(file)}
    every_source = {file: text for file, text in _read("").items() if not is_test(file)}
    mutated = {file: text for file, text in texts.items() if file in every_source and file.startswith(arguments.only)}
    chosen = sorted(mutants(mutated), key=lambda mutant: mutant.key(str(arguments.seed)))
    if arguments.sample != "all":
        chosen = chosen[: int(arguments.sample)]
    with TemporaryDirectory(dir=_MEMORY if os.access(_MEMORY, os.W_OK) else None) as folder:
        os.environ["TMPDIR"] = folder
        baseline = baselines(tests, every_source, arguments.at_once)
        judged = [*judge(chosen, texts, baseline, arguments.at_once)]
        return finish(judged, f"sample of {len(chosen)} by seed {arguments.seed}", FOLDER / "python.json")


if __name__ == "__main__":
    sys.exit(main())
