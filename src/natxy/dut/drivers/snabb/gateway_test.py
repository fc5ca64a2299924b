# SPDX-License-Identifier: Apache-2.0
"""Tests the configuration and the commands for Snabb, which few machines have."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from natxy.addressing.map_rules import MapRule
from natxy.addressing.port_sets import PortSet
from natxy.addressing.softwire_tables import SoftwireTable
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import DutInterfaces
from natxy.dut.drivers.snabb.gateway import SnabbGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayDiedError, GatewayMissingError, PlanError
from natxy.plan.bindings.snabb import read_snabb
from natxy.plan.gateways.snabb import SnabbBy, SnabbConfig
from natxy.plan.model.port_set import PortSetModel
from tests.support.relay_dut import CORE, EDGE, START, STOP, RelayDut, addresses_of

PREFIX = IPv6Network("fd00:2:6::/48")
PATH = "/run/natxy-snabb-4026"
CHANNELS = "Pre-set maximums:\nRX:\t\tn/a\nCombined:\t8\nCurrent hardware settings:\nRX:\t\tn/a\nCombined:\t4\n"
# As a veth pair of Linux 6.18 says it.
NO_CHANNELS = "Pre-set maximums:\nRX:\t\t2\nCombined:\tn/a\nCurrent hardware settings:\nRX:\t\t1\nCombined:\tn/a\n"
ADDRESSES = (
    "3: a    inet6 2001:2::1/64 scope global \\       valid_lft forever preferred_lft forever\n"
    "3: a    inet 192.0.2.1 peer 192.0.2.2/32 scope global a\\       valid_lft forever preferred_lft forever\n"
)
ROUTES = {
    "-4": "192.0.2.2 proto kernel scope link src 192.0.2.1 \n203.0.113.0/24 via 192.0.2.2 linkdown \n",
    "-6": "2001:2::/64 proto kernel metric 256 pref medium\nfd00::/8 via 2001:2::2 metric 1024 pref medium\n",
}


def dut(channels: str = CHANNELS, *, installed: bool = True) -> RelayDut:
    """Returns a DUT that has Snabb or not, and interfaces with addresses and routes of their own."""
    outputs = {
        "ethtool --show-channels": channels,
        "ip -oneline address show dev a": ADDRESSES,
        **{f"ip {family} route show dev a": routes for family, routes in ROUTES.items()},
        "cat /sys/class/net/a/mtu": "9000\n",
        "cat /sys/class/net/b/mtu": "9000\n",
        "snabb --version": "snabb 2024.08 (abc)\nCopyright\n",
    }
    return RelayDut(outputs, installed=installed)


def driver(
    place: RelayDut, several: MapRule | SoftwireTable | None = None, *, mtu: int = 1564, **own: Any
) -> SnabbGateway:
    config = SnabbConfig.model_validate(own)
    return SnabbGateway(config, place, DutInterfaces("a", "b"), addresses_of(several, mtu))


def installed(several: MapRule | SoftwireTable | None = None, **own: Any) -> str:
    """Returns the configuration that a core writes."""
    place = dut()
    driver(place, several, **own).install()
    return place.files[f"{PATH}.conf"]


def test_both_interfaces_their_neighbours_and_one_subscriber() -> None:
    settings = installed()
    assert settings.startswith(
        "softwire-config {\n"
        "  instance {\n"
        '    device "a";\n'
        '    external-device "b";\n'
        "    queue {\n"
        "      id 0;\n"
        "      external-interface { ip 198.19.0.1; mac 02:00:00:00:01:11; next-hop { ip 198.19.0.2; } }\n"
        "      internal-interface { ip 2001:2::1; mac 02:00:00:00:00:11; next-hop { ip 2001:2::2; } }\n"
        "    }\n"
        "  }\n"
        "  external-interface { mtu 1564; }\n"
        "  internal-interface { mtu 1564; }\n"
        "  binding-table {\n"
        "    softwire { ipv4 100.64.1.0; psid 0; b4-ipv6 2001:2:0:5000::1; br-address 2001:2:0:5000::2; "
        "port-set { psid-length 0; } }\n"
    )
    found = read_snabb(settings)
    assert found.ends == {(address, 0): EDGE for address in IPv4Network("100.64.1.0/30")}
    assert found.core == CORE


def test_it_is_ready_when_snabb_has_asked_for_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    monkeypatch.setattr(SnabbGateway, "_wait_up", lambda *_: None)
    with pytest.raises(GatewayDiedError, match="its process snabb"):
        driver(dut()).wait_ready()
    assert slept == [pytest.approx(4.0)]


@pytest.mark.parametrize(("ea_length", "offset"), [(2, 6), (6, 0), (6, 4), (10, 6)])
def test_natxy_reads_back_the_subscribers_of_a_rule(ea_length: int, offset: int) -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/30"), ea_length, offset)
    found = read_snabb(installed(rule))
    everyone = [rule.subscriber(number) for number in range(rule.subscriber_count)]
    assert found.ends == {(each.ipv4, each.ports.psid): each.address for each in everyone}
    assert (found.psid_length, found.core) == (rule.psid_length, CORE)
    assert found.offset == (offset if rule.psid_length else 0)


@pytest.mark.parametrize("psid_length", [0, 3])
def test_natxy_reads_back_a_table(psid_length: int) -> None:
    chosen = random.Random(psid_length)
    keys = product((IPv4Address("198.18.128.9") + 3 * number for number in range(5)), range(1 << psid_length))
    ends = {key: IPv6Address(0xFD00 << 112 | chosen.getrandbits(80)) for key in keys}
    found = read_snabb(installed(SoftwireTable.of(ends, psid_length, 6)))
    assert found.ends == ends
    assert found.psid_length == psid_length


def test_one_subscriber_has_the_port_set_of_the_plan() -> None:
    ports = PortSetModel(psid=5, psid_length=4, offset=6)
    found = read_snabb(installed(port_set=ports))
    assert set(found.ends) == {(address, 5) for address in IPv4Network("100.64.1.0/30")}
    assert PortSet(5, found.psid_length or 0, found.offset or 0) == ports.ports


@pytest.mark.parametrize(("by", "option"), [(SnabbBy.XDP, " --xdp"), (SnabbBy.RAW, "")])
def test_snabb_is_started_and_ended(by: SnabbBy, option: str) -> None:
    place = dut()
    core = driver(place, by=by)
    core.install()
    assert place.asked[-1] == (
        f"{START} --pidfile {PATH}.pid --output {PATH}.log --startas /opt/snabb "
        f"-- lwaftr run --name natxy-snabb-4026 --conf {PATH}.conf{option}"
    )
    place.asked.clear()
    core.uninstall()
    assert place.asked[:2] == [
        f"{STOP} --pidfile {PATH}.pid --name snabb",
        f"rm -f {PATH}.pid {PATH}.log {PATH}.conf {PATH}.o",
    ]
    assert place.files == {}


class Configured(RelayDut):
    """Runs the loop over `snabb config` on this machine."""

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if argv[0] == "sh" and " config " in argv[2]:
            return LocalTransport.run(self, argv, input=input, timeout_s=timeout_s, check=check)
        return super().run(argv, input=input, timeout_s=timeout_s, check=check)


def changing(folder: Path, rule: MapRule) -> tuple[SnabbGateway, Path]:
    """Returns a core whose program notes its arguments in a file, and refuses what has a 9 as its PSID."""
    program, notes = folder / "snabb", folder / "notes"
    program.write_text(
        f'#!/bin/sh\nprintf "%s|" "$@" >> {notes}; echo >> {notes}\ncase "$4" in *psid=9*) exit 3; esac\n'
    )
    program.chmod(0o755)
    core = driver(Configured({}), rule, program=str(program), by=SnabbBy.RAW)
    core.install()
    return core, notes


@pytest.mark.parametrize(("ea_length", "psid", "reserved"), [(2, 0, ""), (3, 1, " reserved-ports-bit-count 6;")])
def test_bindings_are_changed_one_by_one(ea_length: int, psid: int, reserved: str, tmp_path: Path) -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/30"), ea_length, 6)
    core, notes = changing(tmp_path, rule)
    one, two = (SubscriberRange.of(rule, address, address) for address in [*rule.ipv4][1:3])
    core.set_unbound([one])
    core.set_unbound([two])
    core.set_unbound([])
    asked = notes.read_text().splitlines()
    each = len(one)
    start = "natxy-snabb-4026|/softwire-config/binding-table/softwire"
    assert [line.split("|")[1] for line in asked] == ["remove"] * 2 * each + ["add"] * 2 * each
    assert asked[each - 1] == f"config|remove|{start}[ipv4=198.18.128.1][psid={psid}]|"
    last = rule.subscriber(one.numbers[-1])
    assert asked[3 * each - 1] == (
        f"config|add|{start}|{{ ipv4 198.18.128.1; psid {psid}; b4-ipv6 {last.address}; br-address {CORE}; port-set "
        f"{{ psid-length {psid}; {reserved.strip()}{' ' if reserved else ''}}} }}|"
    )
    found = read_snabb("".join(f"softwire {line.split('|')[4]}\n" for line in asked[2 * each :]))
    assert found.ends == {(one.ipv4, one.ports.psid): one.address for part in (one, two) for one in part}


def test_a_snabb_that_refuses_a_change_is_started_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = MapRule(PREFIX, IPv4Network("198.18.128.0/30"), 6, 0)
    core, notes = changing(tmp_path, rule)
    monkeypatch.setattr(SnabbGateway, "wait_ready", lambda _: None)
    one = SubscriberRange.of(rule, rule.ipv4[1], rule.ipv4[1])
    with pytest.raises(DutError, match="3"):
        core.set_unbound([one])
    assert len(notes.read_text().splitlines()) == 10
    assert isinstance(core.transport, Configured)
    assert sum(asked.startswith(START) for asked in core.transport.asked) == 2
    assert core.unbound == ()


def test_what_snabb_changes_of_the_interfaces_is_given_back_by_another_process() -> None:
    place = dut()
    driver(place).install()
    assert place.batches == []
    driver(place).uninstall()
    assert "rm -rf /sys/fs/bpf/snabb/a" in place.asked
    assert "ethtool --set-channels b combined 4" in place.asked
    [given_back] = place.batches
    assert [line for line in given_back if not line.startswith("#") and "dev a" in line] == [
        "link set dev a xdp off",
        "link set dev a down",
        "address flush dev a",
        "link set dev a mtu 9000 arp on",
        "link set dev a up",
        "address replace 2001:2::1/64 dev a nodad",
        "address replace 192.0.2.1 peer 192.0.2.2/32 dev a nodad",
        "route replace 203.0.113.0/24 via 192.0.2.2 dev a",
        "route replace fd00::/8 via 2001:2::2 metric 1024 pref medium dev a",
    ]
    assert place.files == {}
    # There is nothing left to give back.
    driver(place).uninstall()
    assert len(place.batches) == 1


def test_a_second_set_up_gives_back_first_what_a_killed_run_has_left() -> None:
    place = dut()
    driver(place).install()
    driver(place).install()
    assert len(place.batches) == 1
    assert f"{PATH}.links" in place.files


def test_raw_sockets_change_no_interface() -> None:
    place = dut(NO_CHANNELS)
    core = driver(place, by=SnabbBy.RAW)
    core.install()
    core.uninstall()
    assert not any(command.startswith("ethtool") for command in place.asked)
    assert place.batches == []
    assert "ethtool" not in SnabbGateway.programs(core.config)


def test_interfaces_that_snabb_cannot_set_up_are_named() -> None:
    place = dut(NO_CHANNELS)
    with pytest.raises(DutError, match=r"a has no combined channels.* give the gateway `by: raw`"):
        driver(place).install()
    assert not any(command.startswith(START) for command in place.asked)


def test_without_snabb() -> None:
    place = dut(installed=False)
    with pytest.raises(
        GatewayMissingError, match=r"snabb not found .*; build it from https://github.com/snabbco/snabb"
    ):
        driver(place).install()
    assert place.files == {}


def test_a_snabb_that_ended_is_named() -> None:
    with pytest.raises(GatewayDiedError, match="its process snabb"):
        driver(dut(), program="/opt/snabb").check_alive()


def test_packets_longer_than_snabb_takes_from_af_xdp() -> None:
    with pytest.raises(PlanError, match="at most 3,582 bytes from AF_XDP, and the links' MTU is 9,000"):
        driver(dut(), mtu=9000)
    driver(dut(), mtu=9000, by=SnabbBy.RAW)


def test_more_addresses_than_a_table_can_have() -> None:
    large = MapRule(PREFIX, IPv4Network("10.0.0.0/8"), 0)
    with pytest.raises(PlanError, match="a softwire for each of the left side's 16,777,216 addresses"):
        driver(dut(), large)


def test_the_report_has_the_version_and_the_configuration() -> None:
    place = dut()
    core = driver(place)
    assert core.version() == "snabb 2024.08 (abc) (snabb), Linux 6.12"
    core.configuration()
    assert f"head -n 200 {PATH}.conf" in place.asked


def test_the_kernel_forwards_nothing_either_after_a_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    place = dut()
    core = driver(place)
    monkeypatch.setattr(SnabbGateway, "wait_ready", lambda _: None)
    core.restart()
    written = [command for command in place.asked if command.startswith("sysctl -qw")]
    assert set(written) == {"sysctl -qw net.ipv4.ip_forward=0", "sysctl -qw net.ipv6.conf.all.forwarding=0"}
