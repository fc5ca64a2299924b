# SPDX-License-Identifier: Apache-2.0
"""Runs natxy with a ledger of the tests' own, and with rules of nftables in front of each gateway that it sets up.

The arguments are the ledger's folder, the rules, and natxy's own.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from natxy.dut import registry
from natxy.dut.base import DutInterfaces, Gateway
from natxy.dut.transport.base import Transport
from natxy.plan.gateways import GatewayConfig
from natxy.plan.model.addresses import AddressPlan
from natxy.system import ledger


def _main() -> None:
    folder, rules = Path(sys.argv.pop(1)), sys.argv.pop(1)
    create = registry.create

    def create_limited(
        config: GatewayConfig, transport: Transport, interfaces: DutInterfaces, addresses: AddressPlan
    ) -> Gateway[Any]:
        gateway = create(config, transport, interfaces, addresses)
        apply = gateway.apply

        def apply_limited() -> None:
            apply()
            if rules:
                text = rules.replace("LEFT", interfaces.left).replace("RIGHT", interfaces.right)
                transport.run(["nft", "-f", "/dev/stdin"], input=text)

        gateway.apply = apply_limited  # type: ignore[method-assign]
        return gateway

    ledger.default_folder = lambda: folder
    registry.create = create_limited
    # It imports `create` by name.
    from natxy.cli import main

    main()


if __name__ == "__main__":
    _main()
