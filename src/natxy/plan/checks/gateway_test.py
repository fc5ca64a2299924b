# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from natxy.plan.written import Plan
from tests.support.plan_problems import problems_of

NAT: dict[str, Any] = {"driver": "command", "masquerades": True}


def problems(**own: Any) -> dict[str, str]:
    experiment = {"name": "masq", "gateway": NAT, "procedure": "throughput", "search": {"max_rate": "20k"}, **own}
    return problems_of(Plan.model_validate({"name": "p", "experiments": [experiment]}))


@pytest.mark.parametrize("own", [{}, {"flows": 1000}, {"directions": "reverse"}, {"directions": "bidirectional"}])
def test_frames_to_hidden_hosts_that_no_connection_made_are_refused(own: dict[str, Any]) -> None:
    [(field, message)] = problems(**own).items()
    assert field == "experiments[0].gateway"
    assert message.startswith("command hides the left hosts, and frames that the right side sends to their own")
    assert "`stateful: true`" in message
    assert "`directions: forward`" in message


PORT_SET = {"driver": "nftables", "port_set": {"psid_length": 4}}
CONNECTED: dict[str, Any] = {"connections": 100, "phase1_rate": "1k"}


@pytest.mark.parametrize(
    ("own", "field", "message"),
    [
        ({"gateway": PORT_SET, "family": "ipv6"}, "gateway.port_set", "that of an IPv4 address"),
        ({"gateway": PORT_SET, "addresses": {"pool": "198.19.0.4/31"}}, "gateway.port_set", "the pool 198.19.0.4/31"),
        # 63 ranges of 64 ports are 4,032.
        ({"gateway": PORT_SET, "connections": 5000}, "connections", "need 5000 ports of the gateway's address at once"),
    ],
)
def test_port_sets_that_cannot_be(own: dict[str, Any], field: str, message: str) -> None:
    found = problems(**CONNECTED | own)
    assert message in found[f"experiments[0].{field}"]


RELAY = {"driver": "lwaftr", "port_set": {"psid_length": 4}}


@pytest.mark.parametrize(
    ("gateways", "own", "message"),
    [
        ([PORT_SET, "softwire", RELAY], CONNECTED, None),
        ([PORT_SET, "softwire", "lwaftr"], CONNECTED, None),
        (
            [PORT_SET | {"port_set": {"psid_length": 4, "psid": 3}}, "softwire", RELAY],
            CONNECTED,
            "is psid 0 of 4 bits with an offset of 6, and that of nftables is psid 3 of 4 bits",
        ),
        (["nftables", "softwire", RELAY], CONNECTED, "no gateway on the left of the core has a port set"),
        (["softwire", RELAY], {}, "no gateway on the left of the core has a port set"),
        (["tester", RELAY], {"subscribers": {}}, "`subscribers` says which ports each has"),
    ],
)
def test_a_core_has_the_port_set_of_its_subscriber(
    gateways: list[Any], own: dict[str, Any], message: str | None
) -> None:
    found = problems(gateway={"driver": "chain", "gateways": gateways}, **own)
    if message is None:
        assert found == {}
    else:
        [(field, text)] = found.items()
        assert field == f"experiments[0].gateway.gateways[{len(gateways) - 1}].port_set"
        assert message in text


@pytest.mark.parametrize(
    "own",
    [
        {"directions": "forward"},
        {"gateway": {"driver": "command"}},
        {"gateway": NAT | {"stateful": True, "clear": [["x"]]}, "connections": 1000, "phase1_rate": "1k"},
        {"gateway": NAT, "translation": "siit"},
    ],
)
def test_frames_that_are_translated_both_ways_or_sent_one_way_are_measured(own: dict[str, Any]) -> None:
    assert problems(**own) == {}


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (PORT_SET | {"nat": False}, "a filter without NAT gives no ports"),
        (
            PORT_SET | {"port_set": {"psid_length": 12}},
            "an offset and a PSID of at most 16 bits together, got 6 and 12",
        ),
        (PORT_SET | {"port_set": {"psid_length": 4, "psid": 16}}, "a PSID of 4 bits, got 16"),
    ],
)
def test_port_sets_that_contradict_themselves(own: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        problems(gateway=own)


def test_a_box_that_the_tester_plays_has_a_link_too() -> None:
    # Without its link, the port set would be found on the IPv6 link of the softwire.
    own = {"gateway": {"driver": "chain", "gateways": ["tester", "softwire", PORT_SET]}, **CONNECTED}
    assert problems(**own) == {}
    edge = {"gateway": {"driver": "chain", "gateways": [PORT_SET, "softwire", "tester"]}, **CONNECTED}
    assert problems(**edge) == {}
    pool = {"addresses": {"pool": "198.19.0.4/31"}}
    assert [*problems(**own, **pool)] == ["experiments[0].gateway.gateways[2].port_set"]


@pytest.mark.parametrize(
    ("gateways", "addresses", "told"),
    [
        (["softwire", "vpp-dslite"], {}, "missing; vpp-dslite gives connections no address of an interface"),
        (["softwire", "vpp-dslite"], {"pool": "198.19.0.1/32"}, "198.19.0.1 is the gateway's own on the right"),
        (["softwire", "vpp-dslite", "nftables"], {"pool": "198.19.0.4/31"}, "let it be the last of the chain"),
    ],
)
def test_a_gateway_that_needs_public_addresses_of_its_own(
    gateways: list[str], addresses: dict[str, str], told: str
) -> None:
    own: dict[str, Any] = {"gateway": {"driver": "chain", "gateways": gateways}, **CONNECTED}
    assert told in problems(**own, addresses=addresses)["experiments[0].addresses.pool"]
    own["gateway"] = {"driver": "chain", "gateways": ["softwire", "vpp-dslite"]}
    assert problems(**own, addresses={"pool": "198.19.0.4/31"}) == {}
