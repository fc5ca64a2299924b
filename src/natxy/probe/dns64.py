# SPDX-License-Identifier: Apache-2.0
"""Asks a DNS64 server a few queries before the first trial, because a search would find no rate of one that answers
none."""

from __future__ import annotations

from natxy.engine.interface import Engine
from natxy.engine.messages.results import StreamResult
from natxy.errors import DutError
from natxy.plan.experiment import Experiment
from natxy.procedures.common.queries import greet


def check_answers(engine: Engine, experiment: Experiment) -> None:
    """Raises DutError if the server answers no query rightly, with what it answered and asked instead."""
    found = greet(engine, experiment)
    if not found.received:
        raise DutError(
            f"{experiment.gateway.title} answered none of {found.planned} queries rightly: {_instead(found)}"
        )


def _instead(found: StreamResult) -> str:
    """Says what came instead of right answers, and whether the server asked the authority."""
    told = found.queries
    assert told, "the stream has queries"
    wrong = {
        "malformed answers": told.malformed,
        "answers to another question": told.wrong_question,
        "truncated answers": told.truncated,
        "answers with SERVFAIL": told.server_failure,
        "answers with another error": told.other_error,
        "answers without an AAAA record; is `dns64` on?": told.no_address,
        "answers with a wrong address; is the prefix the plan's?": told.wrong_address,
        "answers that came too late": found.timed_out,
    }
    came = next(
        (f"{count} {words}" for words, count in wrong.items() if count), "no answer came; does it listen there?"
    )
    if told.asked:
        return f"{came} (the authority was asked {told.asked} times)"
    return f"{came}; it did not ask the authority, the tester's right port, for names in natxy.test"
