# SPDX-License-Identifier: Apache-2.0
"""Resolves experiments whose gateway is a chain, and shows the addresses of their links."""

from __future__ import annotations

from typing import Any

from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

Fields = dict[str, Any]


def chain(*gateways: str | Fields, **own: Any) -> Experiment:
    """Returns a throughput of the gateways, one behind the other, with these fields of its own."""
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}}
    fields |= {"gateway": {"driver": "chain", "gateways": [*gateways]}} | own
    return resolve(Plan.model_validate({"name": "p", "experiments": [fields]})).experiments[0]


CONNECTED: Fields = {"connections": 1000, "phase1_rate": "1k"}
"""The fields of an experiment with connections."""


def links(experiment: Experiment) -> list[tuple[str, str, list[str], list[str]]]:
    """Returns each gateway's addresses on its left and right link, and what is behind these."""
    return [
        (
            str(own.left.dut),
            str(own.right.dut),
            [*map(str, own.left.behind)],
            [*map(str, own.right.behind)],
        )
        for own in (hop.addresses for hop in experiment.path.hops)
    ]
