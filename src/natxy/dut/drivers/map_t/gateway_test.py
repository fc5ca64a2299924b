# SPDX-License-Identifier: Apache-2.0
"""Tests what an end of MAP-T by Jool SIIT asks of its machine, without Jool."""

from __future__ import annotations

import json
from collections.abc import Sequence
from ipaddress import IPv4Network, IPv6Address, IPv6Network, ip_interface
from typing import Final

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.map_t.gateway import MapTGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayDiedError, GatewayMissingError
from natxy.plan.gateways.map_t import MapTBy, MapTConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, MapDomain
from natxy.plan.model.terms import MapEnd
from natxy.system.machine_sysctls import MachineSysctls

LINK: Final = LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24"))
# Four subscribers at each of two addresses.
RULE: Final = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/31"), 3, 0)


class MadeUpDut(LocalTransport):
    """Notes the commands and what they read. The program `lacking` fails, and commands that begin with `raising` raise
    an error."""

    def __init__(self, lacking: str = "", shown: str = "", raising: str = "") -> None:
        super().__init__(MachineSysctls())
        self.lacking, self.shown, self.raising = lacking, shown, raising
        self.asked: list[tuple[str, str]] = []

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        self.asked.append((" ".join(argv), input or ""))
        if self.raising and " ".join(argv).startswith(self.raising):
            raise DutError(f"{self.raising} fails")
        return CompletedCommand(tuple(argv), int(argv[0] == self.lacking), self.shown, "")

    def describe(self) -> str:
        return "made up"


def relay(dut: MadeUpDut) -> MapTGateway:
    return gateway(dut, MapEnd.CORE)


def gateway(dut: MadeUpDut, end: MapEnd, only: int | None = None, by: MapTBy = MapTBy.JOOL_SIIT) -> MapTGateway:
    domain = MapDomain(end=end, rule=RULE, only=only, prefix=IPv6Network("2001:2:0:64::/64"))
    addresses = AddressPlan(left=LINK, right=LINK, map_domain=domain, mtu=1520)
    return MapTGateway(MapTConfig(by=by), dut, DutInterfaces("a", "b"), addresses)


def test_each_psid_has_an_instance_to_which_a_mark_leads() -> None:
    dut = MadeUpDut()
    relay(dut).install()
    instances = [json.loads(text) for command, text in dut.asked if command.startswith("tee")]
    assert [each["instance"] for each in instances] == [f"natxy-map{number}" for number in range(4)]
    for psid, each in enumerate(instances):
        assert each["framework"] == "iptables"
        assert each["global"] == {"pool6": "2001:2:0:64::/64", "lowest-ipv6-mtu": 1520}
        # RFC 7597 §6, by hand: a bit of the address and two of the PSID behind /48, and both again at the end.
        assert each["eamt"] == [
            {
                "ipv6 prefix": f"{IPv6Address(f'fd00:2:6:{own << 15 | psid << 13:x}:0:c612:800{own}:{psid}')}/128",
                "ipv4 prefix": f"198.18.128.{own}/32",
            }
            for own in (0, 1)
        ]
    restored = {command: text for command, text in dut.asked if "restore" in command}
    assert restored.keys() == {"iptables-restore --wait --noflush", "ip6tables-restore --wait --noflush"}
    for text in restored.values():
        rules = text.splitlines()
        for psid in range(4):
            assert f"-A natxy-map-t -m mark --mark {120_000 + psid} -j JOOL_SIIT --instance natxy-map{psid}" in rules
    [marks] = [text for command, text in dut.asked if command.startswith("nft") and "chain" in text]
    assert "map { 0x0 : 120000, 0x4000 : 120001, 0x8000 : 120002, 0xc000 : 120003 }" in marks


def test_without_the_module() -> None:
    message = (
        r"modprobe jool_siit fails \(made up\); install it, e.g. `apt install jool-dkms`, or give the gateway `by: "
    )
    with pytest.raises(GatewayMissingError, match=message):
        relay(MadeUpDut(lacking="modprobe")).install()


def test_an_instance_that_somebody_has_removed() -> None:
    dut = MadeUpDut()
    relay(dut).check_alive()
    assert dut.asked[-1][0].endswith(" natxy-map0 natxy-map1 natxy-map2 natxy-map3")
    with pytest.raises(GatewayDiedError, match="Jool's instance natxy-map3 is gone"):
        relay(MadeUpDut(shown="natxy-map3\n")).check_alive()


def test_all_instances_get_new_tables_in_one_go() -> None:
    dut = MadeUpDut()
    core = relay(dut)
    core.install()
    before = len(dut.asked)
    second = RULE.ipv4.network_address + 1
    core.set_unbound([SubscriberRange.of(RULE, second, second)])
    [(argv, text)] = dut.asked[before:]
    assert argv == "sh -e"
    lines = text.split("\nEND OF SETTINGS\njool_siit file handle /run/natxy-jool.json\n")
    assert lines.pop() == ""
    tables = [json.loads(each.removeprefix("cat > /run/natxy-jool.json <<'END OF SETTINGS'\n")) for each in lines]
    for psid, each in enumerate(tables):
        assert (each["instance"], each["framework"]) == (f"natxy-map{psid}", "iptables")
        # RFC 7597 §6, by hand: the PSID stands behind the bit of the address, and at the end.
        own = IPv6Address(f"fd00:2:6:{psid << 13:x}:0:c612:8000:{psid:x}")
        assert each["eamt"] == [{"ipv6 prefix": f"{own}/128", "ipv4 prefix": "198.18.128.0/32"}]
    core.set_unbound([])
    assert dut.asked[-1][1].count("198.18.128.1/32") == len(tables) == 4


def test_after_a_change_that_fails_everybody_has_a_mapping() -> None:
    dut = MadeUpDut()
    core = relay(dut)
    core.install()
    dut.raising = "sh -e"
    with pytest.raises(DutError, match="sh -e fails"):
        core.set_unbound([SubscriberRange(RULE, range(4))])
    commands = [command for command, _ in dut.asked]
    following = commands[commands.index("sh -e") :]
    assert len([each for each in following if "file handle" in each]) == 4


def test_tayga_changes_no_mapping_and_is_left_alone() -> None:
    dut = MadeUpDut()
    core = gateway(dut, MapEnd.CORE, by=MapTBy.TAYGA)
    assert not core.config.changes_bindings
    with pytest.raises(DutError, match="its driver cannot"):
        core.set_unbound([])
    assert dut.asked == []


def test_an_edge_has_one_instance_for_all_that_arrives() -> None:
    dut = MadeUpDut()
    gateway(dut, MapEnd.EDGE, only=6).install()
    [instance] = [json.loads(text) for command, text in dut.asked if command.startswith("tee")]
    assert instance["framework"] == "netfilter"
    # The second address, and PSID 2.
    assert [each["ipv4 prefix"] for each in instance["eamt"]] == ["198.18.128.1/32"]
    assert not [command for command, _ in dut.asked if "restore" in command]


def test_all_that_any_settings_can_have_made_is_removed_first_and_in_spite_of_an_error() -> None:
    dut = MadeUpDut()
    relay(dut).install()
    removed, added = (
        next(number for number, (command, _) in enumerate(dut.asked) if word in command)
        for word in ("instance remove", "file handle")
    )
    assert removed < added
    assert dut.asked[removed][0].endswith(" ".join(f"natxy-map{number}" for number in range(16)))
    failing = MadeUpDut(raising="nft")
    with pytest.raises(DutError):
        relay(failing).uninstall()
    assert "instance remove" in failing.asked[-1][0]
