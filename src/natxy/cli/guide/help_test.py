# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from typer.testing import CliRunner

from natxy.cli import app


def said(*words: str) -> str:
    done = CliRunner().invoke(app, [*words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("verb", ["", "run", "list", "lab", "lab up"])
def test_a_verb_is_described_as_by_its_own_option(verb: str) -> None:
    assert said("help", *verb.split()) == said(*verb.split(), "--help")


@pytest.mark.parametrize("group", ["", "lab"])
def test_the_list_of_verbs_cuts_no_sentence(group: str) -> None:
    verbs = said(*group.split(), "--help").partition("Commands:")[2]
    assert verbs
    assert "..." not in verbs


@pytest.mark.parametrize("words", ["deviation", "exit code 3", "invalid"])
def test_a_word_is_explained(words: str) -> None:
    assert said("help", *words.split()) == said("explain", *words.split())


def test_a_near_verb_is_suggested() -> None:
    done = CliRunner().invoke(app, ["help", "rsume"])
    assert done.exit_code == 2
    assert "did you mean 'resume'?" in done.stderr
