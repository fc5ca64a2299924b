# SPDX-License-Identifier: Apache-2.0
"""Says which outer addresses a frame in a wrong softwire has, and whose they are."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Final

from natxy.engine.messages.results import ForeignSample
from natxy.plan.experiment import Experiment

_WRONG: Final = "wrong_softwire"
_SOURCE_AT, _DESTINATION_AT, _END = 22, 38, 54


def wrong_ends(samples: Iterable[ForeignSample], experiment: Experiment) -> str:
    """Returns the outer addresses of the first frame that came in a wrong softwire, and whose the source is if it is an
    interface's of the gateway.

    The text is empty if no frame was kept.
    """
    first = next((base64.b64decode(each.data_base64) for each in samples if each.kind == _WRONG), b"")
    if len(first) < _END:
        return ""
    source, destination = IPv6Address(first[_SOURCE_AT:_DESTINATION_AT]), IPv6Address(first[_DESTINATION_AT:_END])
    links = [link for hop in experiment.path.hops for link in (hop.addresses.left, hop.addresses.right)]
    whose = ", the address of the gateway's interface," if source in {link.dut.ip for link in links} else ""
    return f"the first one from {source}{whose} to {destination}"
