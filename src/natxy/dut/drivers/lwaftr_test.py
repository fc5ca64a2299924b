# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.softwire_tables import Homes, SoftwireTable
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.lwaftr import LwaftrGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.gateways.lwaftr import LwaftrConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Softwire
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.terms import SoftwireEnd
from natxy.system.machine_sysctls import MachineSysctls

LINK = LinkAddresses(dut=ip_interface("2001:2::1/64"), tester=ip_interface("2001:2::2/64"))
PREFIX = IPv6Network("fd00:2:6::/48")


class Recording(LocalTransport):
    """Records what each batch of commands has; `refused`: the program whose batches fail, unless they are forced."""

    def __init__(self, refused: str = "") -> None:
        super().__init__(MachineSysctls())
        self.refused = refused
        self.batches: list[tuple[str, list[str]]] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if "-batch" in argv:
            self.batches.append((argv[0], (input or "").splitlines()))
            if check and argv[0] == self.refused:
                raise DutError("refused")
        return CompletedCommand(tuple(argv), 0, "", "")


def driver(
    transport: Recording, rule: MapRule | SoftwireTable | None, port_set: PortSetModel | None = None
) -> LwaftrGateway:
    softwire = Softwire(
        end=SoftwireEnd.CORE,
        own=IPv6Address("2001:2:0:5000::2"),
        far=rule.subscriber(0).address if rule else IPv6Address("2001:2:0:5000::1"),
        carries=(rule.ipv4 if rule else IPv4Network("100.64.1.0/24"),),
        subscribers=rule,
    )
    addresses = AddressPlan(left=LINK, right=LINK, softwire=softwire, mtu=1564)
    return LwaftrGateway(LwaftrConfig(port_set=port_set), transport, DutInterfaces("a", "b"), addresses)


def filters(rule: MapRule | SoftwireTable | None, port_set: PortSetModel | None = None) -> list[str]:
    """Returns the filters that a core adds, without what is common to all of them."""
    transport = Recording()
    driver(transport, rule, port_set).install()
    [lines] = [lines for program, lines in transport.batches if program == "tc"]
    assert lines[0] == "qdisc add dev natxy-lwaftr clsact"
    return [line.removeprefix("filter add dev natxy-lwaftr ") for line in lines[1:]]


def test_the_interface_takes_the_longest_frame_and_the_packets_of_all_subscribers() -> None:
    transport = Recording()
    driver(transport, MapRule(PREFIX, IPv4Network("198.18.128.0/30"), 2, 6)).install()
    assert transport.batches[:2] == [
        ("ip", ["link del natxy-lwaftr", "address del 2001:2:0:5000::2/128 dev a"]),
        (
            "ip",
            [
                "address replace 2001:2:0:5000::2/128 dev a nodad",
                "link add natxy-lwaftr mtu 1524 type ip6tnl external",
                "link set natxy-lwaftr up",
                "route replace 198.18.128.0/30 dev natxy-lwaftr",
            ],
        ),
    ]


def test_a_subscriber_with_an_address_of_its_own_has_a_filter_each_way() -> None:
    found = filters(MapRule(PREFIX, IPv4Network("198.18.128.0/31"), 1, 6))
    own, far = "2001:2:0:5000::2", "fd00:2:6:8000:0:c612:8001:0"
    assert len(found) == 6
    assert found[4] == (
        "egress protocol ip pref 2 handle 3 flower dst_ip 198.18.128.1/32 "
        f"action tunnel_key set src_ip {own} dst_ip {far} id 0 ttl 64 pass"
    )
    assert found[5] == (
        f"ingress protocol ip pref 2 handle 3 flower enc_src_ip {far} enc_dst_ip {own} src_ip 198.18.128.1/32 "
        "action pass"
    )
    # What no subscriber has does not pass.
    assert found[:2] == [f"{way} protocol all pref 3 matchall action drop" for way in ("egress", "ingress")]


@pytest.mark.parametrize(
    ("offset", "value", "mask", "first"), [(0, 0xC000, 0xC000, None), (6, 0x0300, 0x0300, 0xFC00), (14, 3, 3, 0xFFFC)]
)
def test_a_part_of_an_addresses_ports_is_one_mask(offset: int, value: int, mask: int, first: int | None) -> None:
    found = filters(MapRule(PREFIX, IPv4Network("198.18.128.0/32"), 2, offset))
    for way, port in (("egress", "dst"), ("ingress", "src")):
        bound = [line for line in found if line.startswith(f"{way} protocol ip pref 2 ")]
        assert len(bound) == 4 * 2
        for protocol, line in zip(("udp", "tcp"), bound[-2:], strict=True):
            assert f" {port}_ip 198.18.128.0/32 ip_proto {protocol} {port}_port {value:#06x}/{mask:#06x} " in line
        dropped = [line for line in found if line.startswith(f"{way} protocol ip pref 1 ")]
        assert dropped == [
            f"{way} protocol ip pref 1 flower ip_proto {protocol} {port}_port 0x0000/{first:#06x} action drop"
            for protocol in ("udp", "tcp")
            if first
        ]


@pytest.mark.parametrize("offset", [0, 4, 6])
@pytest.mark.parametrize("psid", [0, 3, 15])
def test_the_masks_have_the_ports_of_the_set_and_no_others(offset: int, psid: int) -> None:
    port_set = PortSetModel(psid=psid, psid_length=4, offset=offset)
    found = [line for line in filters(None, port_set) if line.startswith("egress protocol ip") and " udp " in line]
    verdicts = []
    for line in sorted(found, key=lambda line: line.split()[4]):
        words = line.split()
        value, mask = (int(part, 16) for part in words[words.index("dst_port") + 1].split("/"))
        verdicts.append((value, mask, words[-1] == "pass"))
    for port in (*range(0, 65536, 7), 65535, 1023, 1024, 4095, 4096):
        passes = next((passes for value, mask, passes in verdicts if port & mask == value), False)
        assert passes == (port in port_set.ports), port


def test_one_subscriber_behind_a_real_edge_has_all_ports_unless_it_has_a_set() -> None:
    [bound] = [line for line in filters(None) if line.startswith("ingress protocol ip")]
    assert "enc_src_ip 2001:2:0:5000::1 enc_dst_ip 2001:2:0:5000::2 src_ip 100.64.1.0/24 action pass" in bound


@pytest.mark.parametrize(("ea_length", "filters_each"), [(2, 1), (4, 2)])
def test_bindings_are_withdrawn_and_added_at_once(ea_length: int, filters_each: int) -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/30"), ea_length, 0)
    transport = Recording()
    core = driver(transport, rule)
    core.install()
    added = [line for line in transport.batches[-1][1] if " pref 2 " in line]
    one, two = (SubscriberRange.of(rule, address, address) for address in [*rule.ipv4][1:3])
    core.set_unbound([one])
    core.set_unbound([two])
    core.set_unbound([])

    def of(changed: SubscriberRange) -> list[str]:
        return [line for line in added if f"_ip {changed.addresses[0]}/32 " in line]

    def withdrawn(changed: SubscriberRange) -> list[str]:
        return [line[: line.index(" flower") + 7].replace("filter add", "filter del") for line in of(changed)]

    assert len(of(one)) == 2 * filters_each * len(one)
    assert transport.batches[-3:] == [("tc", withdrawn(one)), ("tc", [*withdrawn(two), *of(one)]), ("tc", of(two))]
    # Only the way and the handle together name a filter.
    assert len({line[: line.index(" flower")] for line in added}) == len(added)


def test_an_error_says_which_parts_of_the_kernel_are_needed() -> None:
    with pytest.raises(DutError, match=r"refused. Does the kernel have ip6_tunnel, cls_flower and act_tunnel_key"):
        driver(Recording("tc"), None).install()


def test_it_needs_the_other_end() -> None:
    with pytest.raises(PlanError, match="lwaftr is one end of a softwire"):
        LwaftrGateway(LwaftrConfig(), Recording(), DutInterfaces("a", "b"), AddressPlan(left=LINK, right=LINK))


def test_a_table_gives_each_binding_its_own_end() -> None:
    address = IPv4Address("198.18.128.1")
    ends = {(address, 1): IPv6Address("fd00::b"), (address, 0): IPv6Address("fd00::a")}
    found = filters(SoftwireTable.of(ends, 1, 0))
    assert [line for line in found if line.startswith("egress protocol ip")] == [
        f"egress protocol ip pref 2 handle {handle} flower dst_ip 198.18.128.1/32 ip_proto {protocol} "
        f"dst_port {port}/0x8000 action tunnel_key set src_ip 2001:2:0:5000::2 dst_ip {far} id 0 ttl 64 pass"
        for handle, port, far, protocol in (
            (1, "0x0000", "fd00::a", "udp"),
            (2, "0x0000", "fd00::a", "tcp"),
            (3, "0x8000", "fd00::b", "udp"),
            (4, "0x8000", "fd00::b", "tcp"),
        )
    ]


def test_homes_with_one_address_are_refused() -> None:
    addresses = driver(Recording(), MapRule(PREFIX, IPv4Network("198.18.128.0/30"), 2, 6)).addresses
    assert addresses.softwire
    homes = Homes.of(PREFIX, IPv4Address("192.168.1.2"), 4)
    softwire = addresses.softwire.model_copy(update={"subscribers": homes})
    gateway = LwaftrGateway(
        LwaftrConfig(), Recording(), DutInterfaces("a", "b"), addresses.model_copy(update={"softwire": softwire})
    )
    with pytest.raises(PlanError, match="does not keep homes with the same one apart"):
        gateway.install()
