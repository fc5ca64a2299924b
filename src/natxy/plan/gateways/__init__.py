# SPDX-License-Identifier: Apache-2.0
"""Collects the gateways that a plan can name. Each file has the settings of one family of drivers.

A driver is a subclass of `GatewayModel` that gives `driver` a default; it needs no entry in a list.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.chain import ChainConfig
from natxy.system.discovery import subclasses_in

if TYPE_CHECKING:
    GatewayConfig = GatewayModel
else:

    def _one_of(models: Iterable[type[GatewayModel]]) -> object:
        return Annotated[Union[tuple(models)], Field(discriminator="driver")]  # noqa: UP007

    _models = {
        model.model_fields["driver"].default: model
        for model in subclasses_in(sys.modules[__name__], GatewayModel)
        if not model.model_fields["driver"].is_required()
    }
    _hop_models = (model for _, model in sorted(_models.items()) if model is not ChainConfig)
    ChainConfig.model_rebuild(_types_namespace={"HopConfig": _one_of(_hop_models)})
    GatewayConfig = _one_of(model for _, model in sorted(_models.items()) if not model.is_played)
