# SPDX-License-Identifier: Apache-2.0
"""Tests that a resolved plan, which a run keeps and is resumed by, is loaded as what it was."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from natxy.errors import PlanError
from natxy.plan import gateways
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.terms import Order
from natxy.plan.procedures import DECLARATIONS
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.plan.yaml.loading_test import REPOSITORY
from natxy.system.discovery import subclasses_in

READY: Final = {
    str(file.relative_to(REPOSITORY)): file.read_text() for file in sorted((REPOSITORY / "plans").rglob("*.yaml"))
}
IN_DOCS: Final = {
    f"{file.relative_to(REPOSITORY)}:{number}": text
    for file in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]
    for number, text in enumerate(re.findall(r"```yaml\n(.*?)```", file.read_text(), re.DOTALL))
    if re.search("^name: ", text, re.MULTILINE) and re.search("^experiments:", text, re.MULTILINE)
}
# Gateways that no plan has, each with a testbed that it runs on.
OTHERS: Final = {
    "reference": "memif",
    "simulated": "simulated",
    "wire": "loop",
    **{
        f"{{driver: chain, gateways: [tester, {core}]}}": "lab"
        for core in ("softwire", "snabb", "vpp", "map-t", "nat46", "jool-mapt")
    },
}
OTHER_PLANS: Final = {
    driver: (
        f"{{name: p, testbed: {{kind: {testbed}}}, experiments: "
        f"[{{name: x, procedure: throughput, gateway: {driver}, search: {{max_rate: 1M}}}}]}}"
    )
    for driver, testbed in OTHERS.items()
}
PLANS: Final = READY | IN_DOCS | OTHER_PLANS


def check_round_trip(plan: ResolvedPlan, folder: Path) -> None:
    """Checks that the plan's own YAML means the plan, and is written alike again."""
    file = folder / "resolved.yaml"
    text = plan.to_yaml()
    file.write_text(text)
    again = load_plan(file)
    assert again.to_yaml() == text
    assert again == plan


def loaded(text: str, folder: Path) -> ResolvedPlan:
    file = folder / "plan.yaml"
    file.write_text(text)
    return load_plan(file)


@pytest.mark.parametrize("text", PLANS.values(), ids=PLANS)
def test_every_plan(text: str, tmp_path: Path) -> None:
    check_round_trip(loaded(text, tmp_path), tmp_path)


def test_every_driver_and_every_procedure_is_in_some_plan(tmp_path: Path) -> None:
    experiments = [experiment for text in PLANS.values() for experiment in loaded(text, tmp_path).experiments]
    models = subclasses_in(sys.modules[gateways.__name__], GatewayModel)
    drivers = {
        model.model_fields["driver"].default for model in models if not model.model_fields["driver"].is_required()
    }
    named = {each.driver for experiment in experiments for each in (experiment.gateway, *experiment.gateway.boxes)}
    assert named == drivers
    assert {experiment.procedure.name for experiment in experiments} == {*DECLARATIONS}


ONE_WAY: Final[dict[str, st.SearchStrategy[Any]]] = {
    "source": st.sampled_from([10000, "1024-2000"]), "destination": st.sampled_from([7, "1-49151"])
}  # fmt: skip
# The rows of a sweep need not all have a field: the others take its default, which the resolved plan writes.
FIELDS: Final[dict[str, st.SearchStrategy[Any]]] = {
    "alpha": st.sampled_from([0.1, 0.5, 1]),
    "directions": st.sampled_from(["forward", "reverse"]),
    "line_rate": st.sampled_from(["1Gbps", "10Gbps"]),
    "repeat": st.sampled_from([2, 5, {"until": "3%", "at_most": 30}]),
    "ports": st.fixed_dictionaries({}, optional=ONE_WAY),
    "timing": st.fixed_dictionaries({}, optional={
        "trial": st.sampled_from(["1s", "2s"]), "drain": st.sampled_from(["1s", "3s"])
    }),
    "search": st.fixed_dictionaries({}, optional={
        "min_rate": st.sampled_from(["2k", "5k"]), "error": st.sampled_from(["1%", "1k"])
    }),
    "addresses": st.sampled_from(["single", {"networks": 16}]),
    "ttl": st.sampled_from([9, 64]),
    "loss_tolerance": st.sampled_from(["1%", {"reverse": "0.1%"}]),
    "frame_size": st.sampled_from([64, 1518]),
}  # fmt: skip
OF_CONNECTIONS: Final = {"alpha"}
OF_TRAFFIC: Final = {"directions"}
EACH_WAY: Final = {
    "ports": st.fixed_dictionaries({}, optional=ONE_WAY | {"reverse": st.fixed_dictionaries({}, optional=ONE_WAY)}),
    "orders": st.fixed_dictionaries({}, optional={
        "source_port": st.sampled_from([*Order]),
        "reverse": st.fixed_dictionaries({}, optional={"destination_address": st.sampled_from([*Order])}),
    }),
}  # fmt: skip


@settings(max_examples=50, deadline=None)
@given(data=st.data(), procedure=st.sampled_from(["throughput", "validated-connection-rate"]))
def test_sweeps_whose_rows_leave_out_fields(data: st.DataObject, procedure: str) -> None:
    others = OF_CONNECTIONS if procedure == "throughput" else OF_TRAFFIC
    fields = {name: values for name, values in FIELDS.items() if name not in others}
    if procedure == "throughput":
        fields |= EACH_WAY
    rows = data.draw(st.lists(st.fixed_dictionaries({}, optional=fields), min_size=1, max_size=4))
    experiment: dict[str, Any] = {"name": "x", "procedure": procedure, "gateway": "simulated", "sweep": rows}
    experiment["search"] = {"max_rate": "1M"}
    if procedure != "throughput":
        experiment["connections"] = 1000
    plan = {"name": "p", "testbed": {"kind": "simulated"}, "experiments": [experiment]}
    with TemporaryDirectory() as folder:
        try:
            found = loaded(json.dumps(plan), Path(folder))
        except PlanError:
            # Rows may be alike, or ask for what does not fit together.
            reject()
        check_round_trip(found, Path(folder))
