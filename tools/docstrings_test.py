# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from tools.docstrings import findings, main


@pytest.mark.parametrize(
    "opening", ["How long it takes", "What is counted", "Of all frames", "In how many seconds", "Why it failed"]
)
def test_a_title_is_no_docstring(opening: str) -> None:
    python = f'x = 1\n    """{opening}."""\n'
    cpp = f"int x;\n/// {opening}.\n"
    for path, text in (("a.py", python), ("a.hpp", cpp)):
        (line,) = findings(path, text)
        assert line.startswith(f'{path}:2: a docstring opens with "{opening.split()[0]}": ')


def test_only_the_first_word_counts() -> None:
    assert not [*findings("a.py", '"""Returns what is counted.\n\nWhat is not counted: lost frames."""\n')]
    assert not [*findings("a.py", 'text = """What a text that is no docstring says."""\n')]
    assert not [*findings("a.cpp", "/// Counts frames.\n/// What is lost is not one.\n// What follows is a comment.\n")]
    assert not [*findings("a.py", '"""Whatever is true."""\n')]


def test_this_repository_has_no_such_docstring(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0, capsys.readouterr().out
