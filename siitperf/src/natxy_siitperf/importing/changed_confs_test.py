# SPDX-License-Identifier: Apache-2.0
"""Imports configurations in which keys have values of others, or are missing."""

from __future__ import annotations

from pathlib import Path

from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from natxy.errors import PlanError
from natxy.plan.yaml.loading import plan_of
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import check_plan, import_plan
from natxy_siitperf.importing.source import Source
from natxy_siitperf.program import PROCEDURES
from tests.support.siitperf_confs import CONFS, conf_text

TRAFFIC = "84 50000 60 2000 2 2"
PHASE1 = "100000 100000 50000 2000 6000"
PLAN = Path("plan.yaml")


@st.composite
def changed_confs(draw: st.DrawFn) -> str:
    """Draws a documented configuration in which some values are those of other configurations, or small numbers."""
    values = dict(CONFS[draw(st.sampled_from(sorted(CONFS)))])
    others: dict[str, set[str]] = {}
    for conf in CONFS.values():
        for key, value in conf.items():
            others.setdefault(key, {"0", "1", "2", "3"}).add(value)
    for key in draw(st.lists(st.sampled_from(sorted(others)), max_size=6)):
        values[key] = draw(st.sampled_from(sorted(others[key])))
    for key in draw(st.lists(st.sampled_from(sorted(values)), max_size=1)):
        del values[key]
    return "".join(f"{key} {value}\n" for key, value in values.items())


@settings(max_examples=50, deadline=None)
@example(conf_text("nat64", Fwd_sport_max=None), "connection-rate", False)
@example(conf_text("nat64", Fwd_sport_min="0", Fwd_sport_max="99"), "connection-rate", True)
@given(changed_confs(), st.sampled_from(sorted(PROCEDURES)), st.booleans())
def test_a_changed_configuration_becomes_a_good_plan_or_an_error(
    text: str, procedure: str, with_arguments: bool
) -> None:
    last = {"latency": " 20 500", "pdv": " 0"}.get(procedure, "")
    try:
        conf = parse_conf(text)
        phase1 = f" {PHASE1}" if conf.number("Stateful") else ""
        words = f"{TRAFFIC}{phase1}{last}".split() if with_arguments else None
        arguments = parse_arguments(PROCEDURES[procedure], words, conf) if words else None
        source = Source(conf, procedure, arguments)
        plan = import_plan(source)
        # As the command does: a plan may lack the four-tuples for the connections that the arguments ask for.
        check_plan(source, plan)
    except PlanError as caught:
        event("error")
        error: PlanError | None = caught
    else:
        error = None
        event("plan")
        assert plan_of(plan, PLAN).experiments[0].procedure.name == procedure
    assert error is None or "\n" not in str(error) or "makes a plan that has errors" in str(error)
