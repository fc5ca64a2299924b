# SPDX-License-Identifier: Apache-2.0
"""Tests which connections gateways are foreseen to refuse although their tables have room for them."""

from __future__ import annotations

import random
from typing import Any, Final

import pytest

from natxy.plan.gateways.base import PORTS_PER_ADDRESS, TableNeed
from natxy.plan.gateways.linux import IptablesConfig, NftablesConfig
from natxy.plan.resolve import resolve
from natxy.plan.scale import foreseen_refusals
from natxy.plan.written import Plan

LIVES: Final = {"udp_timeout_s": 20_000, "udp_stream_timeout_s": 20_000}
NAT: Final[dict[str, Any]] = {"driver": "nftables", "conntrack_max": "10M", **LIVES}
TWO_HOSTS: Final[dict[str, Any]] = {
    "preset": "multiple",
    "left_hosts": {"first": "10.0.1.0", "last": "10.0.1.1"},
    "right_hosts": {"first": "198.19.1.0", "last": "198.19.1.0"},
}


def foreseen(**own: Any) -> list[str]:
    experiment = {
        "name": "rate",
        "gateway": NAT,
        "procedure": "connection-rate",
        "connections": "200k",
        "addresses": "multiple",
        "search": {"min_rate": "5k", "max_rate": "60k"},
        **own,
    }
    experiment = {name: value for name, value in experiment.items() if value is not None}
    return [*foreseen_refusals(resolve(Plan.model_validate({"name": "p", "experiments": [experiment]})))]


def test_a_hash_table_with_many_connections_in_each_bucket() -> None:
    [reason] = foreseen(gateway=NAT | {"hash_size": 4096})
    assert reason == (
        "the 200,000 connections are 48.8 for each of the 4,096 hash buckets, and Linux since 5.15 refuses more than "
        "25 to 40 in one, whatever the rate (chaintoolong of `conntrack -S`); set hash_size to at least 20000"
    )
    assert foreseen(gateway=NAT | {"hash_size": 20_000}) == []
    assert foreseen() == []


def test_a_hash_table_of_the_usual_size() -> None:
    [reason] = foreseen(connections="4M")
    assert "15.3 for each of the 262,144 hash buckets that the kernel has by default" in reason


@pytest.mark.parametrize(
    "own",
    [
        {"procedure": "throughput", "phase1_rate": "20k", "connections": "50k"},
        {"procedure": "tear-down-rate", "phase1_rate": "20k", "connections": "50k", "search": None},
        {"procedure": "table-capacity", "connections": None},
    ],
)
def test_each_procedure_with_connections(own: dict[str, Any]) -> None:
    """A procedure that does not take a field has None here."""
    [reason] = foreseen(gateway=NAT | {"hash_size": 1500}, **own)
    assert "of the 1,500 hash buckets" in reason


def test_hosts_that_share_the_ports_of_an_address() -> None:
    ports = {"source": "1024-32923", "destination": 7}
    [reason] = foreseen(connections=63_800, ports=ports, addresses=TWO_HOSTS)
    assert reason.startswith(
        "2 left hosts with the same source ports need 63,800 of the 64,512 ports of one public address to one "
        "destination: where a host's port is taken, Linux tries 248 others"
    )
    assert "insert_failed of `conntrack -S`" in reason
    # Each of two destinations has half of the connections, and the ports of one host are its own.
    more = TWO_HOSTS | {"right_hosts": {"first": "198.19.1.0", "last": "198.19.1.15"}}
    assert foreseen(connections=63_800, ports=ports, addresses=more) == []
    one = TWO_HOSTS | {"left_hosts": {"first": "10.0.1.0", "last": "10.0.1.0"}}
    assert foreseen(connections=63_800, ports={"source": "1024-64823", "destination": 7}, addresses=one) == []
    # Without NAT no port is looked for.
    untranslated = TWO_HOSTS | {"left_hosts": {"first": "198.18.1.0", "last": "198.18.1.1"}}
    assert foreseen(gateway=NAT | {"nat": False}, connections=63_800, ports=ports, addresses=untranslated) == []


def test_a_port_set_is_searched_in_part() -> None:
    nat = NAT | {"port_set": {"psid_length": 2, "psid": 3, "offset": 0}}
    one = TWO_HOSTS | {"left_hosts": {"first": "10.0.1.0", "last": "10.0.1.0"}}
    own: dict[str, Any] = {"ports": {"source": "1024-50000", "destination": 7}, "addresses": one}
    [reason] = foreseen(gateway=nat, connections=15_000, **own)
    assert reason.startswith("15,000 connections need 15,000 of the 16,384 ports of a range of the port set")
    assert foreseen(gateway=nat, connections=10_000, **own) == []
    # Ranges of 64 ports are searched whole.
    assert foreseen(gateway=NAT | {"port_set": {"psid_length": 4}}, connections=4000, **own) == []


@pytest.mark.parametrize(
    ("gateways", "own", "sessions"),
    [
        (["tester", "vpp-dslite"], {"subscribers": {"inner": "192.168.1.2", "count": 40}}, "1,250"),
        (["tester", "vpp-dslite"], {"subscribers": {"inner": "192.168.1.2", "count": 50}}, None),
        # All hosts are behind one B4.
        (["softwire", "vpp-dslite"], {"addresses": "multiple"}, "50,000"),
        (["softwire", "vpp-dslite"], {"ports": {"source": "1024-2023", "destination": "1-100"}}, None),
    ],
)
def test_a_b4_has_a_session_for_each_address_and_port(
    gateways: list[str], own: dict[str, Any], sessions: str | None
) -> None:
    addresses = {"preset": own.get("addresses", "single"), "pool": "198.19.0.4/31"}
    chain = {"driver": "chain", "gateways": gateways}
    found = foreseen(**own | {"gateway": chain, "connections": "50k", "addresses": addresses})
    assert [each.partition(" sessions")[0] for each in found] == ([f"each B4 has {sessions}"] if sessions else [])


def lost_by_linux(hosts: int, sources: int, seed: int) -> int:
    """Returns the connections without a port in a model of the kernel's search.

    Linux itself lost 1,498 of 63,800 connections of two hosts, and 31 to 49 of 40,000.
    """
    chance, taken, lost = random.Random(seed), bytearray(PORTS_PER_ADDRESS), 0
    wanted = [source for _ in range(hosts) for source in range(sources)]
    for source in wanted:
        port: int | None = source
        if taken[source]:
            port = None
            for window in (128, 64, 32, 16, 8):
                first = chance.randrange(65_536)
                places = ((first + step) % PORTS_PER_ADDRESS for step in range(window))
                if (port := next((place for place in places if not taken[place]), None)) is not None:
                    break
        if port is None:
            lost += 1
        else:
            taken[port] = 1
    return lost


@pytest.mark.parametrize(
    ("hosts", "sources"), [(2, 31_900), (2, 20_000), (2, 12_000), (4, 15_000), (10, 6_000), (100, 600)]
)
def test_what_a_model_of_the_kernel_loses_is_foreseen(hosts: int, sources: int) -> None:
    need = TableNeed(hosts * sources, hosts * sources, 1, 1.0, hosts=hosts)
    assert lost_by_linux(hosts, sources, seed=1) > 0
    assert [*NftablesConfig().refusals(need, 1)]
    assert [*IptablesConfig().refusals(need, 1)]


@pytest.mark.parametrize(("hosts", "sources"), [(2, 4_000), (4, 4_000), (10, 3_000), (100, 500), (1000, 50)])
def test_where_that_model_loses_none_nothing_is_foreseen(hosts: int, sources: int) -> None:
    need = TableNeed(hosts * sources, hosts * sources, 1, 1.0, hosts=hosts)
    assert lost_by_linux(hosts, sources, seed=1) == 0
    assert [*NftablesConfig().refusals(need, 1)] == []
