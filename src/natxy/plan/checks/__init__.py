# SPDX-License-Identifier: Apache-2.0
"""Checks a plan without touching a machine."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.checks.addresses import check_addresses
from natxy.plan.checks.dns64 import check_dns64
from natxy.plan.checks.fragments import check_fragments
from natxy.plan.checks.gateway import check_gateway
from natxy.plan.checks.lives import check_lives
from natxy.plan.checks.pairs import check_pairs
from natxy.plan.checks.port_sets import check_port_set
from natxy.plan.checks.procedure import check_bindings, check_counter, check_hosts, check_procedure, check_softwire
from natxy.plan.checks.subscribers import check_subscribers
from natxy.plan.checks.thresholds import check_thresholds
from natxy.plan.checks.traffic import check_traffic
from natxy.plan.checks.translation import check_translation
from natxy.plan.experiment import Experiment
from natxy.plan.model.problems import Location, Problem
from natxy.plan.written import ExperimentPlan, Plan


def check_written(own: ExperimentPlan, location: Location) -> Iterator[Problem]:
    """Yields the problems that an experiment has as it is written, before defaults are filled in."""
    yield from check_procedure(own, location)
    yield from check_thresholds(own, location)


def check_experiment(plan: Plan, own: ExperimentPlan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Yields the other problems of one experiment; `own` is the experiment as written."""
    yield from check_gateway(plan.testbed, experiment, location)
    yield from check_subscribers(plan, experiment, location)
    yield from check_translation(plan, own, experiment, location)
    yield from check_traffic(plan, experiment, location)
    yield from check_fragments(experiment, location)
    yield from check_addresses(plan, own, experiment, location)
    yield from check_pairs(plan, experiment, location)
    yield from check_port_set(experiment, location)
    yield from check_lives(plan.testbed, experiment, location)
    yield from check_softwire(experiment, location)
    yield from check_bindings(experiment, location)
    yield from check_counter(plan.testbed, experiment, location)
    yield from check_hosts(plan.testbed, experiment, location)
    yield from check_dns64(experiment, location)
