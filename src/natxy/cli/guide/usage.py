# SPDX-License-Identifier: Apache-2.0
"""Tells bad usage in natxy's words, and names the page of the documentation that is about the verb."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import typer
from pydantic import ValidationError
from typer.core import TyperCommand, TyperGroup

from natxy.shipped import page
from natxy.terminal.errors import errors_name
from natxy.untrusted.validation import expectation, got, guess

PAGES: Final = {
    "init": "how-to/first-plan.md",
    "run": "reference/plan.md",
    "campaign": "how-to/campaign.md",
    "check": "reference/plan.md",
    "doctor": "how-to/install.md",
    "cleanup": "reference/cleanup.md",
    "locks": "reference/cli.md#one-measurement-at-a-time",
    "resume": "reference/cli.md#the-folder-of-a-run",
    "watch": "how-to/watch.md",
    "report": "reference/report.md",
    "compare": "reference/report.md",
    "judge": "how-to/ci.md",
    "history": "how-to/history.md",
    "export": "reference/report.md",
    "bundle": "how-to/publish.md",
    "verify": "how-to/publish.md#verify",
    "import": "how-to/from-siitperf.md",
    "lab": "how-to/lab.md",
    "install-siitperf": "how-to/from-siitperf.md#siitperfs-programs",
    "leave-out": "how-to/from-siitperf.md#recorded-trials",
    "explain": "reference/glossary.md",
    "help": "reference/cli.md",
    "list": "reference/cli.md",
    "selftest": "how-to/selftest.md",
    "calibrate": "how-to/calibrate.md",
}
"""Names the page about each verb, and its section."""
_PROGRAM: Final = "reference/cli.md"
# The class of all errors of usage, which Typer does not export.
_UsageError: Final[Any] = typer.BadParameter.__base__


class Verb(TyperCommand):
    """Writes arguments in the help as `RUN` and `<path>...`, where Typer has `{RUN}` and Python's type.

    Typer validates arguments by pydantic, whose errors it quotes; here they have natxy's words.
    """

    def get_help(self, ctx: Any) -> str:
        return super().get_help(ctx).replace("<list[Path]>", "<path>...").replace("<list[str]>", "<text>...")

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return [piece.replace("{", "").replace("}", "") for piece in super().collect_usage_pieces(ctx)]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _page_named(ctx):
            try:
                return super().parse_args(ctx, args)
            except typer.BadParameter as error:
                if isinstance(error.__cause__, ValidationError):
                    error.message = _in_words(error.__cause__)
                raise

    def invoke(self, ctx: Any) -> Any:
        with errors_name(_page_of(ctx)):
            return super().invoke(ctx)


class Group(TyperGroup):
    """Holds verbs, and says where those that there are stand when it has none of a name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with _page_named(ctx):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with _page_named(ctx):
            return super().resolve_command(ctx, args)


@contextmanager
def _page_named(context: Any) -> Iterator[None]:
    """Appends the page about the verb to the text of an error of usage."""
    try:
        yield
    except _UsageError as error:
        # A group alone is no error: its help is shown.
        if error.message != context.get_help():
            said = f"{error.format_message()}\n  → {page(_page_of(context))}"
            error.format_message = lambda: said
        raise


def _page_of(context: Any) -> str:
    """Returns the page about the verb of a command, which is `lab` for `natxy lab up`."""
    while context.parent and context.parent.parent:
        context = context.parent
    return PAGES.get(context.info_name, _PROGRAM) if context.parent else _PROGRAM


def _in_words(error: ValidationError) -> str:
    details = error.errors()[0]
    text, given = expectation(details), details["input"]
    if choices := re.fullmatch(r".* is not one of (.*)\.", text):
        near = guess(given, re.findall("'([^']+)'", choices[1]))
        return f"expected one of {choices[1]}{got(given)}{near}"
    return text if details["type"] == "value_error" else text + got(given)
