# SPDX-License-Identifier: Apache-2.0
"""Loads a campaign from YAML. Every error names the file, line, column and field, and what was expected."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml.comments import CommentedMap

from natxy.campaign.jobs.model import Campaign, CampaignRun, CampaignTestbed, CampaignTester, Place
from natxy.errors import PlanError, PlanFileError
from natxy.plan.model.problems import PlanProblems, Problem
from natxy.plan.yaml.document import document_error, parse_document, read_text
from natxy.untrusted.validation import expectation, got, guess

_WHAT: Final = "campaign"


def load_campaign(path: Path) -> Campaign:
    """Returns the campaign in a file. PlanError lists its errors; those of its plans are found by `jobs_of`."""
    try:
        document = parse_document(path, read_text(path, _WHAT), "`name`, `testbeds` and `runs`")
        return _located(path, document)
    except PlanFileError as error:
        # The page about plans is of no use here.
        raise PlanError(str(error)) from error


def _located(path: Path, document: CommentedMap) -> Campaign:
    try:
        return _checked(document)
    except PlanProblems as found:
        raise document_error(path, _WHAT, document, found, inherited={}) from found


def _checked(document: Any) -> Campaign:
    try:
        campaign = Campaign.model_validate(document)
    except ValidationError as error:
        raise PlanProblems([_explained(details) for details in error.errors()], complete=False) from error
    if problems := [*campaign.problems()]:
        raise PlanProblems(problems)
    return campaign


def _explained(details: ErrorDetails) -> Problem:
    location, text = details["loc"], expectation(details)
    if details["type"] == "extra_forbidden":
        *within, name = location
        known = [*_fields(within)]
        meant = guess(str(name), known) or "."
        return Problem(location, f"unknown field{meant}" + (f" Expected one of {', '.join(known)}" if known else ""))
    if details["type"] == "union_tag_invalid":
        return Problem((*location, "kind"), text + got(details["ctx"]["tag"]))
    return Problem(location, text if details["type"] in ("missing", "value_error") else text + got(details["input"]))


def _fields(within: list[str | int]) -> Iterator[str]:
    """Yields the fields of a mapping of the campaign; none of a testbed's own settings, whose kinds have different
    ones."""
    model: type[BaseModel] | None
    match within:
        case []:
            model = Campaign
        case ["runs", int()]:
            model = CampaignRun
        case ["testbeds", str()]:
            model = CampaignTestbed
        case ["testbeds", str(), "tester"]:
            model = CampaignTester
        case ["testbeds", str(), "place"]:
            model = Place
        case _:
            model = None
    yield from model.model_fields if model else ()
