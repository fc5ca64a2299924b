# SPDX-License-Identifier: Apache-2.0
"""Reads events from lines of JSON."""

from __future__ import annotations

from typing import Annotated, Any, Final

from pydantic import Field, TypeAdapter, ValidationError

from natxy.errors import PlanError
from natxy.events.base import READ_VERSIONS, VERSION, Event
from natxy.events.run import (
    BlockStarted,
    ExperimentFinished,
    RepetitionFinished,
    RepetitionStarted,
    RunFinished,
    RunStarted,
    TestbedBuilt,
    TestbedRemoved,
    Warned,
)
from natxy.events.trials import AttemptStarted, TransfersFinished, TrialFinished, TrialProgress, TrialStarted
from natxy.untrusted.values import problems

EVENTS_FILE: Final = "events.jsonl"
"""The file in the folder of a run."""

_EVENT: Final[TypeAdapter[Any]] = TypeAdapter(
    Annotated[
        Warned
        | RunStarted
        | BlockStarted
        | RepetitionStarted
        | TestbedBuilt
        | TestbedRemoved
        | AttemptStarted
        | TrialStarted
        | TrialProgress
        | TrialFinished
        | TransfersFinished
        | RepetitionFinished
        | ExperimentFinished
        | RunFinished,
        Field(discriminator="event"),
    ]
)


def event_of(line: str | bytes, place: str) -> Event | None:
    """Returns the event of a line; None if it is one that only a later natxy knows.

    Raises PlanError, which begins with `place`, when the line is no event or its version is another one.
    """
    try:
        event: Event = _EVENT.validate_json(line)
    except ValidationError as error:
        if error.errors()[0]["type"] == "union_tag_invalid":
            return None
        raise PlanError(f"{place} is no event of natxy: {problems(error, '')}") from error
    if isinstance(event, RunStarted) and event.version not in READ_VERSIONS:
        raise PlanError(
            f"{place} has version {event.version} of the events, and this natxy reads up to {VERSION}: use the natxy "
            f"that wrote it, {event.natxy_version}"
        )
    return event


def events_schema() -> dict[str, Any]:
    """Returns pydantic's schema of a line."""
    return _EVENT.json_schema(mode="serialization")
