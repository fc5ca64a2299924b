# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.networks import check_free, other_uses
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.sysctls import OwnSysctls
from natxy.errors import DutError, PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan

INTERFACES: Final = DutInterfaces("eth1", "eth2")
LOOPBACK: Final = "1: lo    inet 127.0.0.1/8 scope host lo\\       valid_lft forever preferred_lft forever"


class Dut:
    """Fakes the transport to a DUT that prints `outputs` by the beginning of a command; others are not installed."""

    def __init__(self, outputs: Mapping[str, str]) -> None:
        self.machine = self.network = OwnSysctls(self)
        self._outputs = outputs

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        for command, output in self._outputs.items():
            if " ".join(argv).startswith(command):
                return CompletedCommand(tuple(argv), 0, output, "")
        raise DutError(f"{argv[0]} is not installed there")

    def describe(self) -> str:
        return "ssh root@dut"


def linux(addresses: str = "", routes: str = "", routes_v6: str = "", ssh: str = "") -> Dut:
    shown = {"sh -c echo": f"{ssh}\n", "ip -o address": f"{LOOPBACK}\n{addresses}"}
    return Dut(shown | {"ip -4 route": routes, "ip -6 route": routes_v6})


def experiment(**fields: object) -> Experiment:
    """Returns a NAT44 with the default addresses, which are private on the left."""
    nat = {"name": "x", "gateway": "nftables", "procedure": "throughput", "connections": 1000, "phase1_rate": "2k"}
    plan = Plan.model_validate({"name": "p", "experiments": [nat | {"search": {"max_rate": "1M"}} | fields]})
    return resolve(plan).experiments[0]


def check(dut: Dut, *, sets_links: bool = True, **fields: object) -> None:
    uses = other_uses(dut, INTERFACES, sets_links=sets_links)
    check_free(dut, uses, experiment(**fields).address_plan)


QEMU: Final = linux(
    "2: eth0    inet 10.0.2.15/24 brd 10.0.2.255 scope global dynamic eth0\\       valid_lft 86381sec\n"
    "2: eth0    inet6 fec0::5054:ff:fe12:3456/64 scope site dynamic \\       valid_lft 86382sec",
    "default via 10.0.2.2 dev eth0 \n10.0.2.0/24 dev eth0 proto kernel scope link src 10.0.2.15 \n",
    ssh="10.0.2.2 51234 10.0.2.15 22",
)


@pytest.mark.parametrize(
    ("dut", "named"),
    [
        (QEMU, "the peer of the ssh connection, 10.0.2.2, in 10.0.0.0/16"),
        (linux("3: mgmt    inet 10.0.2.15/24 scope global mgmt"), "the address 10.0.2.15 on mgmt in 10.0.0.0/16"),
        (linux("3: wg0    inet 10.0.9.1 peer 10.0.9.2/32 scope global wg0"), "the address 10.0.9.1 on wg0"),
        (linux(routes="10.0.7.0/24 via 192.0.2.9 dev mgmt metric 5"), "a route to 10.0.7.0/24 by mgmt"),
        (linux(routes="default via 192.0.2.1 dev mgmt\n10.0.7.9 via 192.0.2.9 dev mgmt"), "a route to 10.0.7.9/32"),
        (linux(routes="blackhole 10.0.0.0/16 \n"), "a route to 10.0.0.0/16 in 10.0.0.0/16"),
        (linux("4: eth1.7    inet 198.19.0.9/30 scope global eth1.7"), "addresses.right: the DUT"),
        (Dut({"sh -c echo": "", "ifconfig": "vio0: flags=8843<UP> mtu 1500\n\tinet 10.0.2.15 netmask 0xffffff00\n"}),
         "the address 10.0.2.15 on vio0"),
    ],
)  # fmt: skip
def test_what_lies_in_a_network_of_the_test_is_named_with_the_field_to_change(dut: Dut, named: str) -> None:
    with pytest.raises(PlanError) as caught:
        check(dut)
    assert named in str(caught.value)
    assert "(ssh root@dut) has " in str(caught.value)
    assert "give the plan's `addresses` a `" in str(caught.value)


@pytest.mark.parametrize(
    "dut",
    [
        linux(),
        linux("2: eth1    inet 10.0.0.1/24 scope global eth1", "10.0.0.0/16 via 10.0.0.2 dev eth1"),
        linux("5: natxy-tayga    inet 10.0.3.1/32 scope global natxy-tayga", "198.18.0.0/24 dev natxy-tayga"),
        linux("2: eth0    inet 10.9.2.15/8 scope global eth0", "10.0.0.0/8 dev eth0 proto kernel\n0.0.0.0/1 dev tun0"),
        linux(
            "2: eth0    inet6 fe80::1/64 scope link", routes_v6="fe80::/64 dev eth1 proto kernel\nmulticast ff00::/8"
        ),
        linux(ssh="fe80::2%eth0 50000 fe80::1%eth0 22"),
        Dut({"sh -c echo": "hello\n"}),
    ],
)
def test_other_networks_are_the_duts_own(dut: Dut) -> None:
    check(dut)


def test_a_user_who_sets_the_links_has_only_the_ssh_connection_elsewhere() -> None:
    check(linux("7: bond0.5    inet 10.0.0.1/24 scope global bond0.5"), sets_links=False)
    with pytest.raises(PlanError, match="ssh connection"):
        check(QEMU, sets_links=False)


def test_other_addresses_are_the_remedy() -> None:
    left = {"dut": "10.198.0.1/24", "tester": "10.198.0.2/24", "behind": ["10.198.0.0/16"]}
    check(QEMU, addresses={"left": left})


def test_the_background_has_addresses_of_its_own() -> None:
    dut = linux("2: eth0    inet6 2001:2:0:4000::9/64 scope global")
    with pytest.raises(PlanError, match=r"background\.left: .*give the plan's `background` a `left`"):
        check(dut, connections=None, phase1_rate=None, gateway="jool-siit", translation="siit", background="10%")
