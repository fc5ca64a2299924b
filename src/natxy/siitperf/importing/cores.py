# SPDX-License-Identifier: Apache-2.0
"""Writes siitperf's cores into the testbed of a plan."""

from __future__ import annotations

from typing import Final

from natxy.plan.testbeds.tester_cores import distinct
from natxy.siitperf.importing.source import Source
from natxy.siitperf.importing.text import Field, mapping
from natxy.siitperf.sides import Letter, cores_of

_KEYS: Final = tuple(f"CPU-{side}-{task}" for side in Letter for task in ("Send", "Recv"))


def core_fields(source: Source) -> list[Field]:
    """Returns the testbed with siitperf's cores if this machine has them, and one more for the lab's gateway."""
    found = cores_of(source.conf, source.left)
    if found is None:
        return []
    tasks: dict[str, dict[str, int]] = {"left": {}, "right": {}}
    for side, task, (core,) in found.tasks():
        tasks[side][task] = core
    if {*distinct(found)} < source.usable_cores:
        text = mapping({"kind": "lab", "tester_cores": tasks})
        return [Field("testbed", text, source.of(*(key for key in _KEYS if source.conf.has(key))))]
    source.differences.append(
        "CPU-… are not in the plan, because this machine lacks one of these cores, or a further one for a lab's "
        f"gateway. On a machine that has them, give the testbed `tester_cores: {mapping(tasks)}`."
    )
    return []
