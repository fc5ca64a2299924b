# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from natxy.plan.model.units import Unit
from natxy.plan.procedures import DECLARATIONS


def test_a_field_s_unit_is_what_its_type_says() -> None:
    units = {
        (procedure, field): DECLARATIONS[procedure].unit_of(field)
        for procedure, field in (
            ("reset", "command_timeout"), ("reset", "recovery"), ("reset", "kind"), ("latency", "tagged_frames"),
            ("table-capacity", "error"), ("table-capacity", "beta"), ("back-to-back", "longest_burst"),
            ("frame-loss-rate", "maximum_rate"), ("frame-loss-rate", "step_percent"),
        )
    }  # fmt: skip
    assert list(units.values()) == [
        Unit.SECONDS, Unit.SECONDS, None, Unit.FRAMES, Unit.CONNECTIONS, None, Unit.FRAMES, Unit.FPS, Unit.PERCENT,
    ]  # fmt: skip


def test_only_rates_that_a_gateway_must_sustain_limit_its_backlog() -> None:
    sustained = {name for name, declaration in DECLARATIONS.items() if declaration.sustained}
    assert sustained == {
        "throughput",
        "ndr-pdr",
        "connection-rate",
        "validated-connection-rate",
        "tcp-connection-rate",
        "churn",
        "dns64-rate",
    }
