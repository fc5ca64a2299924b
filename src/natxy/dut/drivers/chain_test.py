# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface
from typing import Any

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability, DutDescription, DutInterfaces, Gateway
from natxy.dut.drivers.chain import ChainGateway
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayDiedError
from natxy.plan.gateways.base import GatewayModel, TableNeed
from natxy.plan.gateways.chain import ChainConfig
from natxy.plan.gateways.linux import LinuxForwardConfig, NftablesConfig
from natxy.plan.gateways.softwire import SoftwireConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Softwire
from natxy.plan.model.terms import SoftwireEnd
from natxy.system.machine_sysctls import MachineSysctls

LINK = LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24"))
ENDS = AddressPlan(left=LINK, right=LINK)
NEED = TableNeed(10, 10, 10, 1.0)


@dataclass(eq=False, repr=False)
class Recorded(Gateway[GatewayModel]):
    """Notes what it is asked to do; `fails` is the word at which it raises."""

    name = "recorded"
    done: list[str] = field(default_factory=list)
    connections: int | None = None
    paused_s: float | None = None
    fails: str = ""

    def __post_init__(self) -> None:
        self.capabilities = frozenset({Capability.SET_CORES})
        if self.config.keeps_connections:
            self.capabilities |= {Capability.CLEAR, Capability.COUNT}

    def _note(self, word: str) -> None:
        self.done.append(f"{self.interfaces.left} {word}")
        if word == self.fails:
            raise GatewayDiedError("its process is gone") if word == "alive" else DutError(f"{word} failed")

    def apply(self) -> None:
        self._note("apply")

    def remove(self) -> None:
        self._note("remove")

    def restart(self) -> None:
        self._note("restart")

    def wait_ready(self) -> None:
        self._note("ready")

    def check_alive(self) -> None:
        self._note("alive")

    def check(self, need: TableNeed) -> None:
        self._note("check")

    def clear(self) -> None:
        self._note("clear")

    def set_links(self) -> None:
        self._note("links")

    def unset_links(self) -> None:
        self._note("no links")

    def set_cores(self, cores: Sequence[int]) -> None:
        self._note(f"cores {[*cores]}")

    def set_unbound(self, without: Sequence[SubscriberRange]) -> None:
        self._note(f"{len(without)} ranges without bindings")

    def pause_s(self) -> float | None:
        return self.paused_s

    def count(self) -> int | None:
        return self.connections

    def describe(self) -> DutDescription:
        return DutDescription(self.interfaces.left, "1", {"kernel": "k"}, "rules")


def chain(done: list[str], *hops: dict[str, Any]) -> ChainGateway:
    """Returns a router and a NAT, with the fields of each."""
    configs: tuple[GatewayModel, ...] = (LinuxForwardConfig(), NftablesConfig())
    transport = LocalTransport(MachineSysctls())
    gateways = []
    for number, (config, own) in enumerate(zip(configs, hops or ({}, {}), strict=True), 1):
        interfaces = DutInterfaces(f"{number}-left", f"{number}-right")
        fields: dict[str, Any] = {"config": config, "interfaces": interfaces, "addresses": ENDS, "done": done}
        gateways.append(Recorded(transport=transport, **fields | own))
    return ChainGateway(ChainConfig(gateways=configs), gateways, ENDS)


def test_every_gateway_does_what_the_chain_is_asked_for() -> None:
    done: list[str] = []
    gateway = chain(done)
    steps: dict[str, Callable[[], object]] = {
        "apply": gateway.apply,
        "remove": gateway.remove,
        "restart": gateway.restart,
        "ready": gateway.wait_ready,
        "alive": gateway.check_alive,
        "check": lambda: gateway.check(NEED),
        "clear": gateway.clear,
        "links": gateway.set_links,
        "no links": gateway.unset_links,
        "cores [1, 2]": lambda: gateway.set_cores([1, 2]),
    }
    for word, step in steps.items():
        done.clear()
        step()
        # What is removed is removed in the reverse order.
        last_first = word in {"remove", "no links"}
        assert done == [f"{place}-left {word}" for place in ((2, 1) if last_first else (1, 2))]


def test_only_the_core_of_a_chain_changes_bindings() -> None:
    done: list[str] = []
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/24"), 8)
    addresses = IPv6Address("2001:2::1"), IPv6Address("2001:2::2")
    core = Softwire(end=SoftwireEnd.CORE, own=addresses[0], far=addresses[1], carries=(), subscribers=rule)
    gateway = chain(done, {}, {"config": SoftwireConfig(), "addresses": ENDS.model_copy(update={"softwire": core})})
    gateway.set_unbound([])
    assert done == ["2-left 0 ranges without bindings"]
    with pytest.raises(DutError, match="no gateway of the chain has subscribers"):
        chain(done).set_unbound([])


def test_a_chain_has_the_outer_interfaces_and_all_capabilities() -> None:
    gateway = chain([])
    assert gateway.interfaces == DutInterfaces("1-left", "2-right")
    # The router has no table.
    assert gateway.capabilities == {Capability.SET_CORES, Capability.CLEAR, Capability.COUNT}
    assert [hop.interfaces.left for hop in gateway.hops] == ["1-left", "2-left"]


def test_nothing_remains_of_a_chain_of_which_one_gateway_fails() -> None:
    done: list[str] = []
    with pytest.raises(DutError, match="apply failed"):
        chain(done, {}, {"fails": "apply"}).apply()
    assert {"1-left remove", "2-left remove"} <= set(done)


def test_each_gateway_is_removed_whatever_another_one_raises() -> None:
    done: list[str] = []
    with pytest.raises(DutError, match="remove failed"):
        chain(done, {"fails": "remove"}, {"fails": "remove"}).remove()
    assert sorted(done) == ["1-left remove", "2-left remove"]


def test_a_dead_gateway_is_named() -> None:
    with pytest.raises(GatewayDiedError, match="recorded, gateway 2 of 2: its process is gone"):
        chain([], {}, {"fails": "alive"}).check_alive()


def test_the_smallest_count_and_the_longest_pause_are_the_chains() -> None:
    gateway = chain([], {"connections": 7, "paused_s": 0.1}, {"connections": 5, "paused_s": 0.3})
    assert (gateway.count(), gateway.pause_s()) == (5, 0.3)
    assert (chain([], {}, {"connections": 5}).count(), chain([]).count(), chain([]).pause_s()) == (5, None, None)


def test_the_description_has_all_gateways() -> None:
    found = chain([]).describe()
    assert found.name == "linux-forward → nftables"
    assert found.settings == {"linux-forward: kernel": "k", "nftables: kernel": "k"}
