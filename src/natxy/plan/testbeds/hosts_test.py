# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.testbeds.hosts import HostsConfig

DUT: dict[str, Any] = {"left": "eth1", "right": "eth2"}


def hosts(**own: Any) -> HostsConfig:
    given = {
        "kind": "hosts",
        "left": {"ssh": "a", "interface": "eth1"},
        "right": {"ssh": "b", "interface": "eth1"},
        "dut": DUT | {"ssh": "dut"},
    }
    return HostsConfig.model_validate(given | own)


def test_hosts_and_dut_are_three_machines() -> None:
    assert not hosts().is_local
    assert hosts(dut=DUT).is_local
    with pytest.raises(ValidationError, match="left and right are the same machine"):
        hosts(right={"ssh": "root@a", "interface": "eth2"})
    with pytest.raises(ValidationError, match="right and dut are the same machine"):
        hosts(right={"ssh": "dut", "interface": "eth2"})
