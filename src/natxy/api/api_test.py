# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
from pydantic import ValidationError

from natxy import api
from natxy.api.plans import DEFAULTS, DRIVERS, gateway_of, problems_of, procedure_of, tolerance_needed, why_tolerance
from natxy.api.terms import Family

# What takes long to load, and a program for one trial can do without.
_HEAVY: Final = ("natxy.run", "natxy.procedures", "natxy.results", "natxy.plan.experiment", "natxy.cli", "typer")


def test_each_name_is_loaded_from_where_types_have_it() -> None:
    nodes = ast.walk(ast.parse(Path(api.__file__).read_text(encoding="utf-8")))
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    homes = {name.name: node.module for node in imports for name in node.names if name.name in api.__all__}
    assert homes == api._HOMES
    assert sorted(homes) == sorted(api.__all__) == sorted(dir(api))
    assert all(getattr(api, name).__module__.startswith("natxy.") for name in api.__all__)


def test_a_name_that_is_missing_is_told_as_python_does() -> None:
    with pytest.raises(AttributeError, match=r"module 'natxy\.api' has no attribute 'nothing'"):
        exec("api.nothing")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from natxy.api import nothing")


def test_what_a_trial_needs_loads_nothing_else() -> None:
    modules = ", ".join(f"natxy.api.{name}" for name in ("engine", "terms", "programs", "labs"))
    code = f"import sys, {modules}; from natxy.api import PlanError; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "natxy.engine.client" in loaded
    assert not [name for name in loaded if name in _HEAVY]


def test_a_gateway_says_what_it_needs() -> None:
    assert "jool" in DRIVERS
    assert "chain" not in DRIVERS
    translated = (Family.IPV4, Family.IPV6)
    jool = gateway_of({"driver": "jool"})
    assert tolerance_needed(jool, translated) == {"forward": "0.01%"}
    assert tolerance_needed(jool, (Family.IPV4, Family.IPV4)) == {}
    assert tolerance_needed(gateway_of({"driver": "nftables"}), translated) == {}
    assert why_tolerance(jool.driver).startswith("jool sends one frame in 65,536 to IPv6 with")
    with pytest.raises(ValidationError):
        gateway_of({"driver": "nobody"})


def test_a_procedure_has_the_defaults_of_plans() -> None:
    assert procedure_of({"name": "table-capacity"}).most_connections == DEFAULTS.max_connections
    assert "loss_tolerance" in procedure_of({"name": "throughput"}).takes
    assert getattr(procedure_of({"name": "latency"}), "tagged_frames", None) == DEFAULTS.tagged_frames


def test_a_problem_is_a_line() -> None:
    experiment = "{name: a, procedure: throughput, gateway: linux-forward, search: {max_rate: 1M}, x: 1}"
    (problem,) = problems_of(f"name: p\nexperiments: [{experiment}]\n")
    assert str(problem).startswith("experiments[0].x: ")
