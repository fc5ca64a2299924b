# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files, one of each test runner, and prints one line: `N passed, N failed, N skipped`.

Each test that failed has a line of its own on standard error, with the beginning of the reason. If NAME-again.xml lies
beside NAME.xml, its tests count instead of the failed ones in NAME.xml, and the lines say which passed only then.
A file that is missing, unreadable or empty of tests belongs to a runner that did not run: the exit code is 1 then.
With `--skips LIST` it is also 1 if a test was skipped that LIST does not have. Each line of LIST is a pattern, such as
`tests.gateways.tayga_test.*`, and after a `#` the reason why the test need not run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final
from xml.etree import ElementTree

_LONGEST_REASON: Final = 300


@dataclass(frozen=True)
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def last_cases(junit: Path) -> Iterator[ElementTree.Element]:
    """Yields each test of a file, as it ended last."""
    again = {_name(case): case for case in _again(junit)}
    for case in ElementTree.parse(junit).iter("testcase"):
        yield case if _failure(case) is None else again.get(_name(case), case)


def count(junit: Path) -> Count:
    total = Count()
    for case in last_cases(junit):
        if _failure(case) is not None:
            total += Count(failed=1)
        elif case.find("skipped") is not None:
            total += Count(skipped=1)
        else:
            total += Count(passed=1)
    return total


def failures(cases: Iterable[ElementTree.Element]) -> Iterator[tuple[str, str]]:
    """Yields the name of each test that failed, and the first line of the reason, which may be cut short."""
    for case in cases:
        failure = _failure(case)
        if failure is not None:
            reason = (failure.get("message") or failure.text or "").strip()
            yield _name(case), reason.partition("\n")[0][:_LONGEST_REASON]


def passed_again(junit: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each test that failed at first and not when it ran again, and why it failed."""
    still = dict(failures(last_cases(junit)))
    for name, why in failures(ElementTree.parse(junit).iter("testcase")):
        if name not in still:
            yield name, why


def skips(junit: Path) -> Iterator[tuple[str, str]]:
    """Yields the name of each test that was skipped, and why."""
    for case in last_cases(junit):
        skipped = case.find("skipped")
        if skipped is not None:
            yield _name(case), skipped.get("message", "")


def _again(junit: Path) -> Iterable[ElementTree.Element]:
    again = junit.with_name(f"{junit.stem}-again.xml")
    return ElementTree.parse(again).iter("testcase") if again.exists() else ()


def _failure(case: ElementTree.Element) -> ElementTree.Element | None:
    failure = case.find("failure")
    return case.find("error") if failure is None else failure


def _name(case: ElementTree.Element) -> str:
    return f"{case.get('classname', '')}.{case.get('name', '')}"


def allowed_skips(file: Path) -> list[str]:
    """Returns the patterns of a list. Raises ValueError for one without a reason."""
    patterns = []
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        pattern, _, reason = line.partition("#")
        if pattern.strip() and not reason.strip():
            raise ValueError(f"{file}:{number}: expected a reason after `{pattern.strip()}`, such as `# needs a NIC`")
        if pattern.strip():
            # Brackets are those of a parametrized test's name.
            patterns.append(pattern.strip().replace("[", "[[]"))
    return patterns


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Add up the results of tests.")
    parser.add_argument("files", nargs="+", type=Path, metavar="JUNIT")
    parser.add_argument("--skips", type=Path, metavar="LIST", help="the tests that may be skipped")
    given = parser.parse_args(arguments)
    try:
        allowed = allowed_skips(given.skips) if given.skips else ["*"]
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    total = Count()
    complete = True
    for file in given.files:
        try:
            counted, failed, again = count(file), [*failures(last_cases(file))], [*passed_again(file)]
            refused = [skip for skip in skips(file) if not any(fnmatchcase(skip[0], pattern) for pattern in allowed)]
        except (OSError, ElementTree.ParseError) as error:
            print(f"{file}: not counted: {error}", file=sys.stderr)
            complete = False
            continue
        if counted == Count():
            print(f"{file}: holds no test", file=sys.stderr)
            complete = False
        for name, why in failed:
            print(f"failed: {name}: {why}", file=sys.stderr)
        for name, why in again:
            print(f"failed at first, passed when it ran again: {name}: {why}", file=sys.stderr)
        for name, why in refused:
            print(f"{name}: skipped, and not in {given.skips}: {why}", file=sys.stderr)
            complete = False
        total += counted
    print(total)
    return 0 if complete and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
