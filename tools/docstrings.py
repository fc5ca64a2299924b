# SPDX-License-Identifier: Apache-2.0
"""Refuses docstrings that open with a word such as How, What or Of, which begins a title rather than a sentence.

The comments above C++ declarations (`///`) are held to the same. `python -m tools.docstrings` prints a line for each
finding and then exits with 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).parents[1]
_FOLDERS: Final = ("engine", "guest", "siitperf", "src", "tests", "tools")
# A string that begins its line is a docstring, be it of a field. Of a comment of several lines only the first counts.
_PYTHON: Final = re.compile(r'\s*r?"""(How|In|Of|That|What|Where|Who|Whose|Why)\b')
_CPP: Final = re.compile(r"\s*/// (How|In|Of|That|What|Where|Who|Whose|Why)\b")


def findings(path: str, text: str) -> Iterator[str]:
    """Yields a line for each docstring in `text`, the source at `path`, that opens with such a word."""
    opening = _PYTHON if path.endswith(".py") else _CPP
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if (found := opening.match(line)) and not before.lstrip().startswith("///"):
            yield f'{path}:{number}: a docstring opens with "{found[1]}": write a sentence with subject and verb'
        before = line


def main() -> int:
    paths = (path for folder in _FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.[ch]pp")))
    python = (path for folder in _FOLDERS for path in sorted((REPOSITORY / folder).rglob("*.py")))
    found = [
        line
        for path in (*paths, *python)
        for line in findings(str(path.relative_to(REPOSITORY)), path.read_text(encoding="utf-8"))
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
