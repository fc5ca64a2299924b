# SPDX-License-Identifier: Apache-2.0
"""Parses each command of natxy's in the documentation as the program does, without carrying it out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
import typer.main
from typer.testing import CliRunner

from natxy.cli import app
from tests.support.pages import PAGES, REPOSITORY

_FENCED: Final = re.compile(r"^ *```(\w*)\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
_INDENTED: Final = re.compile(r"^ {4}(.*)$", re.MULTILINE)
_INLINE: Final = re.compile(r"`(natxy\s[^`]+)`")
_IMAGE: Final = "localhost/natxy"
# After these, and at the beginning of a line, a program is named.
_BEFORE_PROGRAM: Final = re.compile(r"[|&;(]+|\$|sudo|do|then")
_AFTER_ARGUMENTS: Final = re.compile(r"[|&;()<>]+")
# Words that stand for others: a variable of a shell, what a user has to put in, and what may be left out.
_VARIABLE: Final = re.compile(r"\$\{?\w+\}?")
_OPTIONAL: Final = re.compile(r"\[(.+)\]")
_PLACEHOLDERS: Final = {"VERB": "run", "KIND": "plans", "N": "1"}
_LEFT_OUT: Final = re.compile(r"Missing parameter|requires an argument")
# The class of all errors of usage, which Typer does not export.
_UsageError: Final[Any] = typer.BadParameter.__base__
_PROGRAM: Final[Any] = typer.main.get_command(app)


def commands(page: Path) -> Iterator[tuple[str, ...]]:
    """Yields the arguments of each natxy in the scripts and the indented lines of a page."""
    text = page.read_text(encoding="utf-8")
    scripts = [script for language, script in _FENCED.findall(text) if language == "sh"]
    for line in "\n".join([*scripts, *_INDENTED.findall(_FENCED.sub("", text))]).replace("\\\n", " ").splitlines():
        if "natxy" in line:
            yield from _called(line)


def mentions(page: Path) -> Iterator[tuple[str, ...]]:
    """Yields the arguments of each natxy within the sentences of a page, which may leave some out."""
    for mention in _INLINE.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        for arguments in _called(" ".join(mention.split())):
            yield tuple(_PLACEHOLDERS.get(each, each) for each in arguments)


def _called(line: str) -> Iterator[tuple[str, ...]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    try:
        words = [*lexer]
    except ValueError:
        # It is no line of a shell's, such as one of a message.
        return
    for position, word in enumerate(words):
        begins = position == 0 or _BEFORE_PROGRAM.fullmatch(words[position - 1])
        if word == _IMAGE or (begins and (word == "natxy" or word.endswith("bin/natxy"))):
            arguments = words[position + 1 :]
            end = next((at for at, each in enumerate(arguments) if _AFTER_ARGUMENTS.fullmatch(each)), len(arguments))
            if end:
                yield tuple(_VARIABLE.sub("1", _OPTIONAL.sub(r"\1", each)) for each in arguments[:end])


def refusal(arguments: tuple[str, ...]) -> str:
    """Returns why natxy does not take the arguments; empty if it does."""
    command, left = _PROGRAM, [*arguments]
    while left and left[0] in getattr(command, "commands", {}):
        command = command.commands[left.pop(0)]
    try:
        command.make_context("natxy", left)
    except typer.Exit:
        # `--help` ends the parsing.
        return ""
    except _UsageError as error:
        return str(error)
    return f"no such verb: {left}" if hasattr(command, "commands") else ""


def test_every_command_is_complete_and_one_of_natxys() -> None:
    found = [(page, arguments) for page in PAGES for arguments in commands(page)]
    assert len(found) > 40
    assert not [(page, arguments, why) for page, arguments in found if (why := refusal(arguments))]
    ready = {word for _, arguments in found for word in arguments if word.startswith("plans/")}
    assert not [plan for plan in ready if not (REPOSITORY / plan).is_file()]


def test_every_mention_names_a_verb_and_options_that_exist() -> None:
    found = [(page, arguments) for page in PAGES for arguments in mentions(page)]
    assert len(found) > 100
    refused = [(page, arguments, why) for page, arguments in found if (why := refusal(arguments))]
    assert not [each for each in refused if not _LEFT_OUT.search(each[-1])]


@pytest.mark.parametrize(
    "line", ["natxy rnu plan.yaml", "natxy run plan.yaml --onyl x", "x=$(natxy lab upp plan.yaml)"]
)
def test_a_wrong_command_is_found(line: str) -> None:
    (arguments,) = _called(line)
    assert refusal(arguments)
    assert CliRunner().invoke(app, [*arguments]).exit_code == 2
