# SPDX-License-Identifier: Apache-2.0
"""`natxy help`: describes a verb, or says what a word means."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from natxy.cli.completion import verbs_and_words
from natxy.cli.guide.explain import say_what_explains
from natxy.terminal.console import echo
from natxy.terminal.errors import reported_errors


def show_help(
    context: typer.Context,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="VERB|WORD",
            help="A verb of natxy, or a word; without it, all verbs.",
            autocompletion=verbs_and_words,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Describe a verb, or explain a term.

    This is the same as `natxy VERB --help` or, for words that are no verb, `natxy explain WORD`: `natxy help lab up`,
    `natxy help compare`, `natxy help exit code 3`.
    """
    with reported_errors():
        program: Any = context.parent
        if described := _described(program, words or []):
            echo(described.get_help() + "\n")
        else:
            say_what_explains(words or [], program.command.commands)


def _described(context: Any, words: list[str]) -> Any:
    """Returns the context of the command below the one of `context` that the words name; None if there is none."""
    for word in words:
        command = getattr(context.command, "commands", {}).get(word)
        if command is None:
            return None
        context = command.context_class(command, info_name=word, parent=context)
    return context
