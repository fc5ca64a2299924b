# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from tools.package.manual import pages

_VERBS = sorted(name.removeprefix("natxy-").removesuffix(".1") for name in pages() if name.startswith("natxy-"))


def _shown(roff: str) -> str:
    """Returns the text of a page without roff's requests and escapes."""
    text = re.sub(r"^\.[A-Za-z]+ ?", "", roff, flags=re.MULTILINE)
    for escape, meaning in (("\\-", "-"), ("\\(ga", "`"), ("\\(aq", "'"), ("\\&", ""), ("\\e", "\\")):
        text = text.replace(escape, meaning)
    return " ".join(text.split())


@pytest.mark.parametrize("verb", _VERBS)
def test_a_page_has_the_options_of_the_help(verb: str) -> None:
    words = verb.split("-", 1) if verb.startswith("lab-") else [verb]
    text = CliRunner().invoke(app, [*words, "--help"]).output
    options = re.findall(r"^  (--[a-z-]+)", text, re.MULTILINE)
    page = _shown(pages()[f"natxy-{verb}.1"])
    assert "--help" in options or words == ["lab"]
    assert [option for option in options if option not in page] == []


def test_the_first_page_lists_the_verbs_and_the_exit_codes() -> None:
    page = _shown(pages()["natxy.1"])
    assert [verb for verb in _VERBS if f"natxy {verb.replace('lab-', 'lab ')}" not in page] == []
    assert "EXIT STATUS 0 success 2 the plan or the command line is wrong" in page


def test_the_exit_codes_of_a_verb_have_their_section() -> None:
    assert "EXIT STATUS 0 the plan has no error" in _shown(pages()["natxy-check.1"])
    assert "Exit codes" not in pages()["natxy-check.1"]


def test_roff_interprets_no_text() -> None:
    for name, page in pages().items():
        for line in page.splitlines():
            assert re.match(r"\.(TH|SH|PP|TP|B|nf|fi)\b|[^.']|$", line), f"{name}: {line}"
