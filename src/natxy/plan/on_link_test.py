# SPDX-License-Identifier: Apache-2.0
"""Tests plans whose hosts are on the links themselves, neighbours of the gateway."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any

import pytest
from pydantic import ValidationError

from natxy.engine.messages.common import Side
from natxy.plan.experiment import Experiment
from natxy.plan.model.addresses import LinkAddresses
from natxy.plan.resolve import resolve
from natxy.plan.written import Plan
from natxy.procedures.common.streams import learning_request, neighbors_request
from tests.support.plan_problems import problems_of

FORWARDING: dict[str, Any] = {
    "name": "e",
    "gateway": "linux-forward",
    "procedure": "throughput",
    "search": {"max_rate": "1M"},
}
OWN = {"dut": "10.1.0.1/16", "tester": "10.1.0.2/16"}


def plan_of(**own: Any) -> Plan:
    return Plan.model_validate({"name": "p", "experiments": [FORWARDING | own]})


def only(**own: Any) -> Experiment:
    return resolve(plan_of(**own)).experiments[0]


def problems(**own: Any) -> dict[str, str]:
    return problems_of(plan_of(**own))


@pytest.mark.parametrize(
    ("family", "first", "last"),
    [("ipv4", "198.18.1.0", "198.18.4.231"), ("ipv6", "2001:2::1:0", "2001:2::1:3e7")],
)
def test_a_thousand_neighbours_on_each_link(family: str, first: str, last: str) -> None:
    experiment = only(family=family, addresses={"on_link": 1000})
    hosts, link = experiment.addresses.left_hosts, experiment.addresses.left
    assert (hosts.first, hosts.last, hosts.size) == (ip_address(first), ip_address(last), 1000)
    assert all(host in link.dut.network for host in (hosts.first, hosts.last))
    assert link.routes == ()
    assert link.neighbors == [link.tester.ip, *link.hosts_on_link]
    assert only(**FORWARDING | {"family": family}).addresses.left.neighbors == [link.tester.ip]


def test_the_tester_answers_for_its_hosts_on_the_link() -> None:
    left, _ = neighbors_request(only(addresses={"on_link": 10})).neighbors
    assert [str(network) for network in left.answers] == ["198.18.0.0/16"]


def test_the_dut_learns_all_its_neighbours() -> None:
    experiment = only(addresses={"on_link": 10})
    own, learned = neighbors_request(experiment), learning_request(experiment)
    assert learned.neighbors[:2] == own.neighbors
    link = experiment.addresses.right
    hosts = [each for each in learned.neighbors[2:] if each.side == Side.RIGHT]
    assert [(each.address, each.gateway) for each in hosts] == [(host, link.dut.ip) for host in link.hosts_on_link]
    assert len(learned.neighbors) == 2 + 2 * 10


def test_a_resolved_plan_has_the_same_neighbours() -> None:
    resolved = resolve(plan_of(addresses={"on_link": 10}))
    again = Plan.model_validate(resolved.model_dump(mode="json", exclude_none=True))
    assert resolve(again).experiments[0].addresses.left == resolved.experiments[0].addresses.left


def test_a_link_of_ones_own_may_have_hosts_on_it() -> None:
    experiment = only(addresses={"left": OWN | {"on_link": 3}})
    assert str(experiment.addresses.left_hosts) == "10.1.1.0 to 10.1.1.2"


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ({"on_link": 5, "preset": "multiple"}, "on the link itself or behind it (`multiple`)"),
        ({"on_link": 5, "networks": 16}, "on the link itself or behind it (networks)"),
        ({"on_link": 5, "left": OWN}, "give its own `on_link` there"),
    ],
)
def test_what_contradicts_itself(addresses: dict[str, Any], message: str) -> None:
    assert message in problems(addresses=addresses)["experiments[0].addresses.on_link"]


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"dut": "10.1.0.1/24", "tester": "10.1.0.2/24", "on_link": 1}, "has no room for 1 hosts from 10.1.1.0 on"),
        ({"dut": "10.1.0.1/23", "tester": "10.1.0.2/23", "on_link": 256}, "has no room for 256 hosts"),
        ({"dut": "10.1.0.1/23", "tester": "10.1.1.7/23", "on_link": 8}, "10.1.1.7 is one of the 8 hosts on_link"),
    ],
)
def test_a_link_has_room_for_its_hosts(link: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        LinkAddresses.model_validate(link)
    LinkAddresses.model_validate({"dut": "10.1.0.1/23", "tester": "10.1.0.2/23", "on_link": 255})
