# SPDX-License-Identifier: Apache-2.0
"""Tells of frames that came through otherwise than the gateway is to send them, untranslated ones in particular.

They count as lost, although they arrived: what forwards them is not the gateway that is measured.
"""

from __future__ import annotations

from natxy.engine.messages.common import IPAddress
from natxy.engine.messages.results import TrialResult, Verdict
from natxy.errors import DutError
from natxy.plan.address_presets import SAFE_NETWORKS
from natxy.plan.experiment import Experiment
from natxy.plan.model.units import counted


def astray(experiment: Experiment, result: TrialResult) -> str:
    """Returns how many frames of a failed trial went astray, and in which way; nothing if none did."""
    # Nobody knows the addresses and ports of connections that have not arrived.
    unknown = any(stream.absent for stream in result.streams)
    misrouted = 0 if unknown else sum(stream.misrouted for stream in result.streams)
    if result.verdict != Verdict.FAIL or not misrouted:
        return ""
    of_connections = experiment.uses_connections
    if experiment.translation:
        how = "untranslated, or with other addresses, ports or another family than the translation gives"
    elif of_connections and experiment.gateway.hides_left:
        how = "untranslated, or with other addresses or ports than those of their connection"
    elif of_connections:
        how = "with other addresses or ports than those of their connection"
    else:
        how = "to the wrong port, or with an address family that was not sent"
    return f"{counted(misrouted, 'frame')} came through {how}"


def check_translated(experiment: Experiment, phase1: TrialResult) -> None:
    """Raises DutError if connections of phase 1 kept their source addresses through a gateway that is to hide them, or
    arrived from a public address that the plan does not name.

    In the first case, the gateway's kernel forwards them without its NAT. Phase 2 would take them for translated,
    because the tester expects the four-tuples with which they arrived. In the second case, replies would go to the
    public address (RFC 6815).
    """
    spread = phase1.sources
    if spread is None or experiment.translation or not experiment.gateway.hides_left:
        return
    pairs = [experiment.of_pair(number) for number in range(experiment.pair_count)]
    ends = [end for end in (spread.lowest, spread.highest) if end]
    own = next((end for end in ends if any(end in pair.addresses.left_hosts for pair in pairs)), None)
    if own:
        raise DutError(
            f"connections of phase 1 came through untranslated, with the left hosts' own addresses, such as {own}: "
            "check that the gateway's rule is still there, that it matches all left hosts, and that none before it "
            "accepts the frames"
        )
    named = {link.dut.ip for pair in pairs for link in (pair.addresses.left, pair.addresses.right)}
    pools = [pair.pool for pair in pairs if pair.pool]
    public = (end for end in ends if end not in named and not any(end in pool for pool in pools) and not _is_safe(end))
    if leak := next(public, None):
        raise DutError(
            f"connections of phase 1 come from {leak}, a public address, to which replies would go (RFC 6815): correct "
            "the gateway's rule, or name the address in `addresses.pool`, with `allow_public_destinations: true`"
        )


def _is_safe(address: IPAddress) -> bool:
    return any(address in network for network in SAFE_NETWORKS)
