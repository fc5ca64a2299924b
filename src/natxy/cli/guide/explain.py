# SPDX-License-Identifier: Apache-2.0
"""`natxy explain`: says what a word means that natxy uses, or how an experiment of a run came to its result."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from natxy.cli.completion import words
from natxy.errors import PlanError
from natxy.explain.entries import Entry, entries
from natxy.explain.finding import explaining
from natxy.results import RESULTS_FILE
from natxy.shipped import page
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors


def explain(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="WORD|RUN EXPERIMENT",
            help="The term to explain, or a run's folder and an experiment; without any, all terms are listed.",
            autocompletion=words,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Explain a term that natxy uses, or a search of a run.

    WORD can be a term of the glossary, a verdict or its cause, an exit code, a field of a plan or of a campaign, a
    setting of a gateway, a column of an export, or a section of an RFC: `natxy explain invalid`, `natxy explain exit
    code 3`, `natxy explain max_invalid`, `natxy explain RFC 2544`.

    Of a RUN, the folder, and the name of an EXPERIMENT, it tells the attempts in their order, the loss against the rate
    with the counters of the gateway that rose as much, and the cause. The name may be left out if there is one.
    """
    with reported_errors():
        if not words:
            Console().say("\n".join(_contents()))
        elif _has_run(words[0]):
            _tell(words)
        else:
            try:
                say_what_explains(words)
            except PlanError:
                # A folder may have a term's name, but this is no term.
                if not _is_path(words[0]):
                    raise
                _tell(words)


def _tell(words: Sequence[str]) -> None:
    # It takes a while to load.
    from natxy.cli.bodies.explain import tell

    tell(Path(words[0]), " ".join(words[1:]))


def say_what_explains(words: Iterable[str], others: Iterable[str] = ()) -> None:
    """Prints what explains a word. Raises PlanError when nothing does, which may suggest one of `others`."""
    Console().say("\n".join(line for entry in explaining(words, others) for line in _lines(entry)))


def _has_run(word: str) -> bool:
    return (Path(word) / RESULTS_FILE).is_file()


def _is_path(word: str) -> bool:
    return os.sep in word or Path(word).exists()


def _lines(entry: Entry) -> Iterator[str]:
    yield entry.title
    yield from (f"  {fact}" for fact in entry.facts)
    yield f"  → {', '.join(page(name) for name in (entry.page, *entry.links))}"


def _contents() -> Iterator[str]:
    """Yields the words of each section of each page."""
    yield "`natxy explain WORD` explains one of these words."
    for (name, section), group in groupby(entries(), key=lambda entry: (entry.page, entry.section)):
        yield ""
        yield f"{page(name)}, {section}:"
        yield f"  {', '.join(dict.fromkeys(entry.title for entry in group))}"
