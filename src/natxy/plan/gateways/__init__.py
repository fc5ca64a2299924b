# SPDX-License-Identifier: Apache-2.0
"""Collects the gateways that a plan can name. Each file has the settings of one family of drivers.

A driver is a subclass of `GatewayModel` that gives `driver` a default; it needs no entry in a list.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.system.discovery import subclasses_in

if TYPE_CHECKING:
    GatewayConfig = GatewayModel
else:
    _models = {
        model.model_fields["driver"].default: model
        for model in subclasses_in(sys.modules[__name__], GatewayModel)
        if not model.model_fields["driver"].is_required()
    }
    GatewayConfig = Annotated[
        Union[tuple(model for _, model in sorted(_models.items()))],  # noqa: UP007
        Field(discriminator="driver"),
    ]
