# SPDX-License-Identifier: Apache-2.0
"""Asks a person at a terminal for what no option gave."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from natxy.errors import PlanError
from natxy.terminal.console import Console, beside
from natxy.terminal.errors import warn
from natxy.untrusted.validation import expectation, got, guess

_Answer = TypeVar("_Answer")


def answer(
    option: str,
    given: str | None,
    question: str,
    read: Callable[[str], _Answer],
    default: str | None = None,
    choices: Mapping[str, str] | None = None,
) -> _Answer:
    """Returns what `read` makes of the option's value, of a person's answer, or of the default.

    A person is shown the choices with what each means. Without a terminal nobody is asked. `read` raises PlanError for
    what it does not take. A person is then asked again; for an option, the error names it.
    """
    if given is None and sys.stdin.isatty():
        if choices:
            console = Console()
            console.say("\n".join(["", *beside(choices, console.width)]))
        return _asked(question, read, default)
    if given is None and default is None:
        what = question[0].lower() + question[1:]
        raise PlanError(f"{option} is missing, {what}; give it, or start natxy on a terminal, where it asks")
    try:
        return read(str(default if given is None else given))
    except PlanError as error:
        raise PlanError(f"{option}: {error}") from error


def _asked(question: str, read: Callable[[str], _Answer], default: str | None) -> _Answer:
    while True:
        try:
            line = input(f"{question}{f' [{default}]' if default else ''}: ").strip()
        except EOFError as error:
            raise PlanError("the answers ended before the last question; nothing was written") from error
        try:
            return read(line or default or "")
        except PlanError as error:
            warn(str(error))


def one_of(choices: Iterable[str]) -> Callable[[str], str]:
    """Returns a reader that takes one of the choices."""

    def read(text: str) -> str:
        if text not in choices:
            raise PlanError(f"expected one of {', '.join(choices)}{got(text)}{guess(text, choices)}")
        return text

    return read


def some_of(choices: Iterable[str]) -> Callable[[str], Collection[str]]:
    """Returns a reader that takes several of the choices, with commas between them."""

    def read(text: str) -> Collection[str]:
        return [one_of(choices)(each.strip()) for each in text.split(",")]

    return read


def valid(kind: Any, wrap: Callable[[str], object] = lambda text: text) -> Callable[[str], str]:
    """Returns a reader that takes text which is valid as a field of a plan of this kind, after `wrap`."""

    def read(text: str) -> str:
        try:
            TypeAdapter(kind).validate_python(wrap(text))
        except ValidationError as error:
            details = error.errors()[0]
            # A validator's own text already says what was given.
            raise PlanError(expectation(details) + ("" if details["type"] == "value_error" else got(text))) from error
        return text

    return read
