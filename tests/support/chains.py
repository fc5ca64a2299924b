# SPDX-License-Identifier: Apache-2.0
"""Sets up chains of gateways in a lab, with an engine that has resolved the addresses of the outer ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from natxy.dut.base import Gateway
from natxy.engine.client import EngineClient
from natxy.engine.messages.ports import PortsOpen
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.testbeds.lab import LabConfig
from natxy.plan.written import Plan
from natxy.procedures.common.streams import neighbors_request
from natxy.testbeds.lab import NetnsLab
from natxy.testbeds.lab_kernels import lab_for


def chain(*gateways: str | dict[str, Any]) -> dict[str, Any]:
    return {"driver": "chain", "gateways": [*gateways]}


def experiment_of(**own: Any) -> Experiment:
    fields = {"name": "e", "procedure": "throughput", "search": {"max_rate": "1M"}} | own
    return resolve(Plan.model_validate({"name": "p", "timing": "lab", "experiments": [fields]})).experiments[0]


@contextmanager
def set_up(experiment: Experiment, folder: Path) -> Iterator[tuple[NetnsLab, Gateway[Any], EngineClient]]:
    """Yields a lab with its gateways, and an engine that has resolved the addresses of the outer ones."""
    with ExitStack() as stack:
        lab = stack.enter_context(lab_for(LabConfig(), experiment.path))
        gateway = lab.create_path(experiment.path)
        stack.callback(gateway.remove)
        gateway.apply()
        engine = EngineClient(lab.engine_argv(), folder / "engine.log")
        stack.callback(engine.close)
        engine.open_ports(PortsOpen(ports=lab.port_specs()))
        engine.resolve_neighbors(neighbors_request(experiment))
        yield lab, gateway, engine
