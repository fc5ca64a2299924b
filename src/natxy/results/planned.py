# SPDX-License-Identifier: Apache-2.0
"""Reads the planned experiment that a run stored, also one that another version of natxy wrote."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Final, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError

from natxy.plan.experiment import Experiment
from natxy.plan.gateways import GatewayConfig
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.wire import WireConfig
from natxy.plan.model.terms import EarlyEnd
from natxy.plan.model.thresholds import quantity_in
from natxy.system.interrupts import dumped
from natxy.untrusted.values import problems

_GATEWAY: Final[TypeAdapter[GatewayModel]] = TypeAdapter(GatewayConfig)
UNKNOWN: Final = "unknown"
"""Stands for the driver of a gateway that the user's scripts control."""

# A stored experiment has no field whose value is None.
_ABSENT: Final = {
    name: None for name, field in Experiment.model_fields.items() if NoneType in get_args(field.annotation)
}


class UnknownGateway(GatewayModel):
    """Holds the settings of a gateway that this version of natxy does not know, or knows with other settings."""

    model_config = ConfigDict(extra="allow", frozen=True)


def unknown_gateway() -> UnknownGateway:
    """Returns the settings of a gateway that natxy neither set up nor knows."""
    return UnknownGateway(driver=UNKNOWN)


def settings_of(experiment: Experiment, *without: str) -> dict[str, Any]:
    """Returns the experiment as a run stores it, with the plan's field names and without the fields `without`."""
    return dumped(experiment, exclude_none=True, exclude=set(without))


def planned_experiment(settings: Mapping[str, Any]) -> Experiment:
    """Returns the experiment that `settings_of` made these settings of.

    Fields that this version does not know are left out, except a gateway's; optional fields that are missing are None.
    ValueError when another field is missing or has a value that this version cannot read.
    """
    procedure = settings.get("procedure")
    known = {
        **_ABSENT,
        **settings,
        "procedure": {"name": procedure} if isinstance(procedure, str) else procedure,
        "timing": _timing(settings.get("timing")),
        # A gateway that is not in this version's list would be an error; it replaces this one below.
        "gateway": WireConfig(),
    }
    try:
        experiment = Experiment.model_validate(known, extra="ignore")
        gateway = _gateway(settings.get("gateway"))
    except ValidationError as error:
        raise ValueError(problems(error, "")) from error
    for field in ("at_least", "at_most"):
        if (given := getattr(experiment.expect, field, None)) is not None:
            try:
                quantity_in(experiment.unit, given)
            except ValueError as error:
                raise ValueError(f"expect.{field}: {error}") from error
    return experiment.model_copy(update={"gateway": gateway})


def _timing(settings: object) -> object:
    """Returns the timing with the words of this version: earlier ones only said whether a trial ended early."""
    if not isinstance(settings, Mapping) or not isinstance(ends := settings.get("ends_early"), bool):
        return settings
    return {**settings, "ends_early": EarlyEnd.LOST if ends else EarlyEnd.NEVER}


def _gateway(settings: object) -> GatewayModel:
    try:
        return _GATEWAY.validate_python(settings)
    except ValidationError:
        return UnknownGateway.model_validate(settings)
