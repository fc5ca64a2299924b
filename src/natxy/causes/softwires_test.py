# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import base64

from scapy.layers.inet import IP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether

from natxy.causes.softwires import wrong_ends
from natxy.engine.messages.common import Side
from natxy.engine.messages.results import ForeignSample
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan


def core() -> Experiment:
    gateway = {"driver": "chain", "gateways": ["tester", "softwire"]}
    fields = {"name": "e", "procedure": "throughput", "search": {"max_rate": "1M"}, "gateway": gateway}
    return resolve(Plan.model_validate({"name": "p", "experiments": [fields]})).experiments[0]


def sample(source: str, kind: str = "wrong_softwire") -> ForeignSample:
    packet = Ether() / IPv6(src=source, dst="2001:2:0:5000::1") / IP() / UDP()
    data = base64.b64encode(bytes(packet)).decode()
    return ForeignSample(side=Side.LEFT, kind=kind, time_ns=0, data_base64=data)


def test_the_first_frame_tells_whose_address_it_has() -> None:
    own = str(core().path.hops[0].addresses.left.dut.ip)
    assert wrong_ends([sample("::1", "tcp"), sample(own)], core()) == (
        f"the first one from {own}, the address of the gateway's interface, to 2001:2:0:5000::1"
    )
    assert wrong_ends([sample("2001:2:0:5000::9")], core()) == (
        "the first one from 2001:2:0:5000::9 to 2001:2:0:5000::1"
    )


def test_without_a_frame_there_is_nothing_to_tell() -> None:
    assert wrong_ends([], core()) == ""
    short = ForeignSample(side=Side.LEFT, kind="wrong_softwire", time_ns=0, data_base64="AAAA")
    assert wrong_ends([short], core()) == ""
