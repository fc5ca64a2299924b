# SPDX-License-Identifier: Apache-2.0
"""Checks an experiment's background traffic: its share, its links, and the gateway that must not translate it."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.plan.address_presets import is_safe
from natxy.plan.experiment import Experiment
from natxy.plan.model.address_ranges import AddressRanges
from natxy.plan.model.background import LONGEST_CYCLE
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family
from natxy.plan.model.units import format_share
from natxy.plan.written import Plan


def check_background(plan: Plan, experiment: Experiment, location: Location) -> Iterator[Problem]:
    background = experiment.background
    if background is None:
        return
    at = (*location, "background")
    few, of = background.turns
    if abs(background.share - few / of) > 1e-12:
        text = (
            f"{format_share(background.share)} is no share of at most {LONGEST_CYCLE} frames; give whole tenths of 1 %"
        )
        yield Problem((*at, "share"), text)
    if experiment.gateway.hides_left and Family.IPV6 in experiment.families and experiment.translation is None:
        text = f"{experiment.gateway.driver} would translate the native IPv6 traffic too; remove it, or measure IPv4"
        yield Problem(at, text)
    for side in ("left", "right"):
        link = getattr(background, side)
        own = getattr(experiment.addresses, side)
        if (link.dut.version, link.tester.version) != (6, 6) or link.dut.network != link.tester.network:
            yield Problem((*at, side), f"{link.dut} and {link.tester} must be two IPv6 addresses of one link")
        elif link.dut.network.overlaps(own.dut.network):
            yield Problem((*at, side), f"{link.dut.network} is the experiment's own too; choose another prefix")
        elif not plan.allow_public_destinations and not is_safe(AddressRanges.model_validate(link.tester.ip)):
            text = f"{link.tester.ip} is outside the benchmark and private ranges, and test traffic must not leak "
            yield Problem((*at, side), text + "(RFC 6815); choose another, or set `allow_public_destinations: true`")
