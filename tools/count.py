# SPDX-License-Identifier: Apache-2.0
"""Adds up JUnit files, one of each test runner, and prints one line: `N passed, N failed, N skipped`.

A file that is missing, unreadable or empty of tests belongs to a runner that did not run: the exit code is 1 then.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree


@dataclass(frozen=True)
class Count:
    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped)

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def count(junit: Path) -> Count:
    total = Count()
    for case in ElementTree.parse(junit).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            total += Count(failed=1)
        elif case.find("skipped") is not None:
            total += Count(skipped=1)
        else:
            total += Count(passed=1)
    return total


def main(files: list[str]) -> int:
    total = Count()
    complete = True
    for file in files:
        try:
            counted = count(Path(file))
        except (OSError, ElementTree.ParseError) as error:
            print(f"{file}: not counted: {error}", file=sys.stderr)
            complete = False
            continue
        if counted == Count():
            print(f"{file}: holds no test", file=sys.stderr)
            complete = False
        total += counted
    print(total)
    return 0 if complete and not total.failed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
