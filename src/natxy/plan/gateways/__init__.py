# SPDX-License-Identifier: Apache-2.0
"""The gateways a plan can name, with the settings each driver takes: a file each."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.gateways.conntrack import ConntrackModel
from natxy.plan.gateways.iptables import IptablesConfig
from natxy.plan.gateways.jool import JoolConfig, JoolSiitConfig
from natxy.plan.gateways.kernel import KernelModel
from natxy.plan.gateways.linux_forward import LinuxForwardConfig
from natxy.plan.gateways.map646 import Map646Config
from natxy.plan.gateways.nftables import NftablesConfig
from natxy.plan.gateways.openbsd_pf import OpenbsdPfConfig
from natxy.plan.gateways.reference import ReferenceConfig
from natxy.plan.gateways.simulated import AfterRestart, SimulatedConfig, TablePolicy
from natxy.plan.gateways.tayga import TaygaConfig, TaygaNetfilterConfig
from natxy.plan.gateways.wire import WireConfig

GatewayConfig = Annotated[
    CommandConfig
    | IptablesConfig
    | JoolConfig
    | JoolSiitConfig
    | LinuxForwardConfig
    | Map646Config
    | NftablesConfig
    | OpenbsdPfConfig
    | ReferenceConfig
    | SimulatedConfig
    | TaygaConfig
    | TaygaNetfilterConfig
    | WireConfig,
    Field(discriminator="driver"),
]

__all__ = [
    "AfterRestart",
    "CommandConfig",
    "ConntrackModel",
    "GatewayConfig",
    "GatewayModel",
    "IptablesConfig",
    "JoolConfig",
    "JoolSiitConfig",
    "KernelModel",
    "LinuxForwardConfig",
    "Map646Config",
    "NftablesConfig",
    "OpenbsdPfConfig",
    "ReferenceConfig",
    "SimulatedConfig",
    "TablePolicy",
    "TaygaConfig",
    "TaygaNetfilterConfig",
    "WireConfig",
]
