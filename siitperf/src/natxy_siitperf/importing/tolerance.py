# SPDX-License-Identifier: Apache-2.0
"""Writes the loss tolerance without which translators that corrupt a frame now and then have no rate of their own."""

from __future__ import annotations

from collections.abc import Iterator

from natxy.api.plans import GatewayModel, procedure_of, tolerance_needed, why_tolerance
from natxy.api.terms import Directions
from natxy_siitperf.importing.source import VALIDATING, Source
from natxy_siitperf.importing.text import Field, mapping


def tolerance_fields(source: Source, gateway: GatewayModel) -> list[Field]:
    """Returns `loss_tolerance` as `natxy init` writes it, if the gateway needs one, and states the difference."""
    needed = tolerance_needed(gateway, source.families)
    takes = "loss_tolerance" in procedure_of({"name": source.procedure}).takes
    if not takes or needed.keys().isdisjoint(_sent(source)):
        return []
    source.differences.append(
        f"{why_tolerance(gateway.driver)}, where 0xFFFF is asked for (RFC 8200 §8.1). siitperf does not check it; "
        "natxy counts the frame as lost, as a host would. `loss_tolerance` allows these, and marks the result as "
        "non-RFC; without it, the search finds how short its trials have to be."
    )
    return [Field("loss_tolerance", mapping(needed), "checksums that this gateway gets wrong")]


def _sent(source: Source) -> Iterator[Directions]:
    """Yields the directions of frames that decide on a rate."""
    if not source.phase2:
        yield Directions.FORWARD
        if source.procedure in VALIDATING:
            yield Directions.REVERSE
        return
    for direction, siitperfs in ((Directions.FORWARD, source.first), (Directions.REVERSE, source.second)):
        if source.conf.flag(siitperfs.key):
            yield direction
