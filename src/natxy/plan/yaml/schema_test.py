# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from natxy.plan.yaml.schema import field_names, plan_schema, plan_schema_text

ROOT = Path(__file__).parents[4]
SCHEMA_FILE = ROOT / "docs" / "reference" / "plan.schema.json"


def test_the_published_schema_is_current() -> None:
    assert SCHEMA_FILE.read_text() == plan_schema_text(), (
        "make it anew: python -m natxy.plan.yaml.schema > docs/reference/plan.schema.json"
    )


def test_field_names_are_found_through_lists_unions_and_tags() -> None:
    schema = plan_schema()
    assert "experiments" in field_names(schema, ())
    assert "min_rate" in field_names(schema, ("experiments", 3, "search"))
    assert field_names(schema, ("testbed", "simulated")) == ["kind", "tester_limit", "dut_cores", "noise"]
    of_nftables = field_names(schema, ("experiments", 0, "gateway", "nftables"))
    assert "conntrack_max" in of_nftables
    assert "bib_port" not in of_nftables


@pytest.mark.parametrize(
    ("written", "fits"),
    [
        ({"frame_size": "rfc8219"}, True),
        ({"frame_size": [64, 128]}, True),
        ({"frame_size": 63}, False),
        ({"frame_size": []}, False),
        ({"timing": "lab"}, True),
        ({"timing": "lap"}, False),
        ({"timing": {"trial": ["10s", 60]}}, True),
        ({"gateway": ["nftables", "iptables"]}, True),
        ({"gateway": "nftable"}, False),
        ({"gateway": {"conntrack_max": "100k"}}, True),
        ({"gateway": {"conntrack_max": {"per_connection": 1.1}}}, True),
        ({"connections": None}, True),
        ({"connections": "many"}, False),
        ({"background": "25%"}, True),
        ({"sweep": [{"connections": "1M", "alpha": 0.5}]}, True),
        ({"sweep": [{"name": "a"}]}, False),
    ],
)
def test_an_editor_checks_the_fields_of_an_experiment(written: dict[str, object], fits: bool) -> None:
    validator = Draft202012Validator(plan_schema())
    assert validator.is_valid({"name": "plan", "experiments": [{"name": "one", **written}]}) == fits
