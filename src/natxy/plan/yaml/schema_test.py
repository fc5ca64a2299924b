# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from natxy.plan.yaml.schema import field_names, plan_schema, plan_schema_text

SCHEMA_FILE = Path(__file__).parents[4] / "docs" / "reference" / "plan.schema.json"


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
