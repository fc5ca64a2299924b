# SPDX-License-Identifier: Apache-2.0
"""Tests what is said of subscribers in a table, and of homes with one address, that a plan cannot have."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from natxy.errors import PlanError
from natxy.plan.written import Plan
from natxy.plan.yaml.loading import load_plan, plan_of
from tests.support.plan_problems import problems_of

CSV: Final = "ipv4,psid,b4\n198.18.128.0,0,fd00:2:7::1\n198.18.128.1,0,fd00:2:7::2\n"
AFTR: Final = {"driver": "reference", "mode": "nat"}
OWN_AFTR: Final = {
    "driver": "command",
    "stateful": True,
    "masquerades": True,
    "clear": [["x"]],
    "apply": [["x", "{softwire_own}"]],
}
CONNECTED: Final = {"connections": 100, "phase1_rate": "1k"}
HOMES: Final = {"inner": "192.168.1.2", "count": 100}
BY_COMMANDS: Final = {"driver": "command", "apply": [["x", "{softwire_own}"]]}
RULED: Final = {"driver": "command", "apply": [["x", "{softwire_own}", "{rule_ipv4}"]]}


def problems(**own: Any) -> dict[str, str]:
    fields = {"name": "x", "procedure": "throughput"} | ({} if "rate" in own else {"search": {"max_rate": "1M"}}) | own
    return problems_of(Plan.model_validate({"name": "p", "experiments": [fields]}))


def chain(*gateways: Any) -> dict[str, Any]:
    return {"gateway": {"driver": "chain", "gateways": [*gateways]}}


def table(text: str = CSV, **own: Any) -> dict[str, Any]:
    return {"subscribers": {"table": text, **own}}


@pytest.mark.parametrize("core", ["softwire", "lwaftr", "reference", BY_COMMANDS])
def test_cores_take_a_table(core: Any) -> None:
    assert problems(**chain("tester", core), **table(core="fd00:2:5::1")) == {}


@pytest.mark.parametrize("core", [AFTR, OWN_AFTR])
def test_an_aftr_takes_homes_with_one_address(core: Any) -> None:
    assert problems(**chain("tester", core), **CONNECTED, subscribers=HOMES) == {}


@pytest.mark.parametrize(
    ("own", "field", "told"),
    [
        (chain("tester", "softwire") | table(core="2001:db8::1"), "core", "the core's end is 2001:db8::1, outside"),
        (chain("tester", "softwire") | table(core="fd00:2:7::1"), "core", "which a subscriber has, too"),
        (chain("tester", "softwire") | table(core="2001:2:0:4001::9"), "core", "in 2001:2:0:4000::/51, which a link"),
        (chain("tester", RULED) | table(), "table", "the commands of the core have {rule_…}, and a table is no rule"),
        (
            chain("tester", {"driver": "reference", "map_t": {}}) | table(),
            "table",
            "a rule gives the addresses of MAP-T's subscribers",
        ),
        (
            chain("tester", "softwire") | table(CSV.replace("fd00:2:7::2", "2001:db8::2")),
            "table",
            "which is in none of the benchmark and private ranges",
        ),
        (
            chain("tester", "softwire") | table(CSV.replace("fd00:2:7", "2001:2:0:5000")),
            "table",
            "overlaps 2001:2:0:4000::/51",
        ),
        (
            chain("tester", "softwire") | table(CSV.replace("198.18.128", "198.18.0")),
            "",
            "the table's addresses are in 198.18.0.0/31, and overlaps 198.18.0.0/24, the left link itself",
        ),
        (
            chain("tester", "softwire") | table(CSV.replace("198.18.128", "198.19.0")),
            "",
            "the table's addresses are in 198.19.0.0/31, and overlaps 198.19.0.0/24, the right link itself",
        ),
        (
            chain("tester", "softwire") | {"subscribers": {"ipv4": "198.19.0.0/24"}},
            "",
            "`ipv4` is 198.19.0.0/24, and overlaps 198.19.0.0/24, the right link itself; give another",
        ),
        (
            chain("tester", "softwire", "linux-forward") | {"subscribers": {"ipv4": "100.64.2.0/24"}},
            "",
            "overlaps 100.64.2.0/24, the link between two gateways",
        ),
        (
            chain("tester", {"driver": "map-t"}) | {"subscribers": {"ipv4": "198.18.128.0/24", "ea_length": 13}},
            "",
            "a PSID of 5 bits, and map-t takes at most 16; give a smaller `ea_length`",
        ),
        (
            chain("tester", "lwaftr") | {"subscribers": {"ipv4": "198.18.128.0/17", "ea_length": 15}},
            "",
            "at most 16,384 subscribers, not 32,768; give an `ipv4` with a longer prefix",
        ),
        (
            chain("tester", {"driver": "command", "apply": [["x"]]}) | {"subscribers": {}},
            "",
            "a `command` is an end of a softwire if one of its commands names {softwire_own} or {softwire_far}",
        ),
        (
            chain("tester", "softwire", "nftables") | CONNECTED | {"subscribers": HOMES},
            "inner",
            "softwire does not keep homes with one address apart",
        ),
        (
            chain("tester", {"driver": "reference", "map_t": {}, "mode": "nat"}) | CONNECTED | {"subscribers": HOMES},
            "inner",
            "homes with one address have softwires, as in DS-Lite, and MAP-T has none",
        ),
        (
            chain("tester", AFTR) | CONNECTED | {"subscribers": HOMES, "procedure": "binding-check", "rate": "1k"},
            "inner",
            "there is no binding to check",
        ),
    ],
)
def test_subscribers_that_a_core_cannot_serve(own: dict[str, Any], field: str, told: str) -> None:
    found = problems(**own)
    assert told in found["experiments[0].subscribers" + (f".{field}" if field else "")]


def test_an_isolated_network_may_have_an_operators_own_table() -> None:
    text = "ipv4,psid,b4\n8.8.8.8,0,2a02:587:f710::400\n8.8.8.9,0,2a02:587:f710::410\n"
    own = chain("tester", "softwire") | table(text, core="2a02:587:f700::100")
    assert "experiments[0].subscribers.core" in problems(**own)
    assert "experiments[0].subscribers.table" in problems(**own)
    fields = {"name": "x", "procedure": "throughput", "search": {"max_rate": "1M"}} | own
    plan = {"name": "p", "allow_public_destinations": True, "experiments": [fields]}
    assert problems_of(Plan.model_validate(plan)) == {}


def test_a_table_has_no_more_port_ranges_than_the_core_takes() -> None:
    lines = "".join(f"198.18.128.{a},{p},fd00:2:7::{a:x}:{p:x}\n" for a in range(32) for p in range(64))
    found = problems(**chain("tester", "softwire"), **table(f"ipv4,psid,b4\n{lines}", offset=0))
    assert (
        "have 2,048 ranges of ports, and softwire takes 1,024; give a shorter table"
        in (found["experiments[0].subscribers.table"])
    )


def test_ports_and_hosts_are_those_of_the_table() -> None:
    lines = "".join(f"198.18.128.0,{p},fd00:2:7::{p:x}\n" for p in (2, 3))
    own = chain("tester", "softwire") | table(f"ipv4,psid,b4\n{lines}", offset=0, psid_length=4)
    assert problems(**own) == {}
    found = problems(**own, ports={"source": "8192-20000", "destination": "1-16383"})
    assert found == {
        "experiments[0].ports.source": "no subscriber has ports above 16,383; give 8192-16383",
        "experiments[0].ports.destination": "no subscriber has ports below 8,192; give 8192-16383, or another `offset`",
    }
    found = problems(**own, addresses={"left_hosts": "198.18.128.1"})
    assert (
        "198.18.128.1 are not the subscribers, 198.18.128.0; leave the hosts out"
        in found["experiments[0].addresses.left_hosts"]
    )


def test_spoofed_frames_have_ports_of_subscribers_whatever_way_the_traffic_goes() -> None:
    own = chain("tester", "softwire") | {"subscribers": {"ipv4": "198.18.128.0/30", "ea_length": 4}}
    reverse = {"directions": "reverse", "ports": {"source": "1-500", "destination": "1024-65535"}}
    assert problems(**own, **reverse) == {}
    found = problems(**own, **reverse, procedure="binding-check", rate="1k")
    assert "no subscriber has ports below 1,024" in found["experiments[0].ports.source"]


PLAN: Final = """
name: p
experiments:
  - name: e
    gateway: {driver: chain, gateways: [tester, softwire]}
    subscribers: {table: street.csv, offset: 0}
    procedure: throughput
    search: {min_rate: 1k, max_rate: 10k}
"""


def test_a_run_depends_on_the_file_no_more(tmp_path: Path) -> None:
    plan, street = tmp_path / "p.yaml", tmp_path / "street.csv"
    plan.write_text(PLAN)
    street.write_text(CSV)
    resolved = load_plan(plan)
    street.unlink()
    again = plan_of(resolved.to_yaml(), Path("elsewhere/plan.yaml"))
    assert again == resolved
    assert again.to_yaml() == resolved.to_yaml()
    assert "      198.18.128.1,0,fd00:2:7::2\n" in resolved.to_yaml()
    with pytest.raises(PlanError) as error:
        load_plan(plan)
    place = f"{plan}:6:19: experiments[0].subscribers.table"
    assert f"{place}: {street} cannot be read: No such file or directory" in str(error.value)
    street.write_text(CSV.replace(",0,", ",x,", 1))
    with pytest.raises(PlanError) as error:
        load_plan(plan)
    assert f"{place}: {street}, line 2: psid: expected a number from 0 to 65535, got 'x'" in str(error.value)


def test_tables_are_swept(tmp_path: Path) -> None:
    plan = tmp_path / "p.yaml"
    plan.write_text(PLAN.replace("{table: street.csv, offset: 0}", "{table: [street.csv, lane.csv], offset: 0}"))
    (tmp_path / "street.csv").write_text(CSV)
    (tmp_path / "lane.csv").write_text(CSV.replace("fd00:2:7", "fd00:2:8"))
    found = [each.subscribers for each in load_plan(plan).experiments]
    assert [str(each.ipv6) for each in found if each] == ["fd00:2:7::/126", "fd00:2:8::/126"]
