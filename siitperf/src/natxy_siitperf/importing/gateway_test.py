# SPDX-License-Identifier: Apache-2.0
"""Tests that the gateway and the public addresses that an import guesses suit all that siitperf accepts."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Final

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from natxy.cli import app
from natxy.dut.registry import SINGLE_GATEWAYS
from natxy.plan.experiment import Experiment
from natxy.plan.scale import ports, table_need
from natxy.plan.yaml.loading import plan_of
from natxy_siitperf.arguments import flow_space, parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import check_plan, import_plan
from natxy_siitperf.importing.source import OF_CONNECTIONS, Source
from natxy_siitperf.program import PROCEDURES
from natxy_siitperf.sides import FORWARD
from tests.support.siitperf_confs import conf_text

# Beside the benchmark's addresses that Tayga takes.
_OWN_PREFIX: Final = {"IPv6_R_Virt": "2001:2:0:6464::198.19.0.2"}
_EVERY_PORT: Final = {"Fwd_sport_min": "1", "Fwd_sport_max": "65535"}
_ONE_PORT: Final = {"Fwd_dport_min": "80", "Fwd_dport_max": "80"}
_MANY_OF_NAT44: Final = {
    "IP_L_var": "3", "IP_L_min": "2", "IP_L_max": "60000", "IPv4_L_offset": "2",
    "IP_R_var": "3", "IP_R_min": "2", "IP_R_max": "3", "IPv4_R_offset": "2", "Enumerate_ips": "3",
}  # fmt: skip
_PORTS_OF_MANY: Final = _EVERY_PORT | {"Enumerate_ports": "3", "Fwd_var_sport": "3", "IP_R_max": "3"}

_SPREAD: Final = {
    "IPv4_L_Real": "10.0.0.2", "IP_L_var": "3", "IP_L_min": "32000", "IP_L_max": "33500", "IPv4_L_offset": "1",
    "IPv4_R_Real": "198.18.0.2", "IP_R_var": "3", "IP_R_min": "32767", "IP_R_max": "32768", "IPv4_R_offset": "1",
    "Enumerate_ips": "3", "Enumerate_ports": "3", "Fwd_var_sport": "3",
}  # fmt: skip


def text_of(name: str, frames: int, procedure: str = "throughput", gateway: str | None = None, **keys: str) -> str:
    conf = parse_conf(conf_text(name, **keys))
    last = {"latency": " 20 500", "pdv": " 0"}.get(procedure, "")
    rate_fps = max(1000, frames // 10)
    words = f"84 50000 60 2000 2 2 {frames} {frames} {rate_fps} 500 {1000 * frames // rate_fps + 1000}{last}"
    source = Source(conf, procedure, parse_arguments(PROCEDURES[procedure], words.split(), conf), gateway)
    text = import_plan(source)
    check_plan(source, text)
    return text


def experiment_of(text: str) -> Experiment:
    return plan_of(text, Path("plan.yaml")).experiments[0]


@pytest.mark.parametrize(
    ("name", "frames", "keys", "driver", "pool"),
    [
        ("nat64", 58_705, _EVERY_PORT, "jool", "198.19.0.1/32"),
        ("nat64", 58_706, _EVERY_PORT, "jool", "198.18.0.0/31"),
        ("nat64", 4_000_000, _EVERY_PORT, "jool", "198.18.0.0/31"),
        ("nat64", 65_535, _EVERY_PORT | _ONE_PORT | _OWN_PREFIX, "tayga-netfilter", "198.19.0.1/32"),
        ("nat64-many", 4_000_000, _PORTS_OF_MANY, "jool", "198.18.0.0/25"),
        ("nat64-many", 40_000_000, _PORTS_OF_MANY | _ONE_PORT | _OWN_PREFIX, "tayga-netfilter", "198.18.0.0/21"),
        ("nat64-many", 262_140, _PORTS_OF_MANY | _ONE_PORT | _OWN_PREFIX | {"IP_L_max": "1"}, "jool", "198.18.0.0/30"),
        ("nat44", 65_535, _EVERY_PORT | _ONE_PORT, "nftables", None),
        ("nat44", 40_000_000, _EVERY_PORT | _ONE_PORT | _MANY_OF_NAT44, "nftables", "198.19.2.0/23"),
        # The hosts of both sides are spread over all that is for tests, and over 10.0.0.0/8.
        ("nat44", 40_000_000, _EVERY_PORT | _ONE_PORT | _SPREAD, "nftables", "172.16.0.0/18"),
    ],
)
def test_a_guess_has_the_ports_that_the_connections_need(
    name: str, frames: int, keys: dict[str, str], driver: str, pool: str | None
) -> None:
    text = text_of(name, frames, **keys)
    experiment = experiment_of(text)
    assert experiment.gateway.driver == driver
    assert str(experiment.pool) == str(pool)
    is_guess = experiment.pool not in (None, ip_network(experiment.addresses.right.dut.ip))
    assert ("`pool` is a guess" in text.replace("\n#   ", " ")) == is_guess


def test_where_no_pool_has_the_ports_the_guess_keeps_the_ports_as_they_are() -> None:
    two_hosts = _MANY_OF_NAT44 | {"IP_L_max": "3", "IP_R_max": "2"}
    text = text_of("nat44", 131_070, **_EVERY_PORT, **_ONE_PORT, **two_hosts)
    assert "gateway: {driver: nftables, nat: false, conntrack_max" in text
    assert "does not translate" in text.replace("\n#   ", " ")


@pytest.mark.parametrize("procedure", sorted({*OF_CONNECTIONS, *PROCEDURES} - {"throughput"}))
def test_every_procedure_has_the_ports(procedure: str) -> None:
    assert experiment_of(text_of("nat64", 60_000, procedure, **_EVERY_PORT)).pool == ip_network("198.18.0.0/31")


def test_many_mapped_hosts_are_not_for_a_translator_that_is_configured_host_by_host() -> None:
    keys = {"IP_L_var": "3", "IP_L_min": "2", "IPv6_L_offset": "14", "IPv4_L_offset": "2"}
    for last, driver in (("250", "tayga"), ("300", "jool-siit")):
        text = import_plan(Source(parse_conf(conf_text("siit", IP_L_max=last, **keys)), "throughput"))
        assert experiment_of(text).gateway.driver == driver


@pytest.mark.parametrize("name", ["nat44", "nat64", "nat64-many", "siit", "router-many", "pdv"])
def test_a_gateway_of_the_users_own_commands_suits_everything(name: str) -> None:
    source = Source(parse_conf(conf_text(name)), "throughput", gateway="command")
    text = import_plan(source)
    check_plan(source, text)
    assert ("clear: [[FILL IN]]" in text) == (name in {"nat44", "nat64", "nat64-many"})


@pytest.mark.parametrize("driver", SINGLE_GATEWAYS)
def test_a_gateway_that_is_named_has_the_pool_that_it_takes(driver: str) -> None:
    conf = parse_conf(conf_text("nat44", **_EVERY_PORT, **_ONE_PORT, **_MANY_OF_NAT44))
    text = import_plan(Source(conf, "connection-rate", gateway=driver))
    assert ("pool:" in text) == (driver in {"nftables", "openbsd-pf", "vpp-dslite"})


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from(["nat44", "nat64", "nat64 by Tayga"]),
    st.integers(0, 65_535),
    st.integers(0, 65_535),
    st.integers(1, 65_535),
    st.integers(1, 300),
    st.integers(1, 300),
    st.sampled_from([1, 2]),
)
def test_a_guess_never_refuses_ports_and_hosts(
    name: str, first_port: int, sources: int, destinations: int, left: int, right: int, offset: int
) -> None:
    keys = {
        "Fwd_sport_min": str(first_port), "Fwd_sport_max": str(min(65_535, first_port + sources)),
        "Fwd_dport_min": "1", "Fwd_dport_max": str(destinations),
        "IP_L_var": "3", "IP_L_min": "0", "IP_L_max": str(left),
        "IP_R_var": "3", "IP_R_min": "2", "IP_R_max": str(1 + right),
        "IPv4_L_Real": "10.0.0.2", "IPv4_L_offset": str(offset), "IPv4_R_offset": str(offset),
        "IPv6_L_offset": "12", "IPv6_R_offset": str(12 + offset), "Enumerate_ips": "3",
    }  # fmt: skip
    base, _, tayga = name.partition(" by ")
    conf_keys = keys | (_OWN_PREFIX if tayga else {})
    space = flow_space(parse_conf(conf_text(base, **conf_keys)), FORWARD)
    text = text_of(base, min(space, 60_000_000), **conf_keys)
    experiment = experiment_of(text)
    need = table_need(experiment, None)
    assert need
    needed_and_room = ports(experiment, need)
    event(f"{experiment.gateway.driver}, {experiment.pool and experiment.pool.prefixlen}")
    assert needed_and_room is None or needed_and_room[0] <= needed_and_room[1]


@pytest.mark.parametrize("testbed", ["lab", "hardware"])
@pytest.mark.parametrize(
    ("name", "gateway", "error"),
    [
        ("pdv", "nftables", "experiments[0].connections: missing; through the stateful nftables"),
        ("siit", "linux-forward", "experiments[0].translation: linux-forward translates none"),
        ("nat44", "tayga", "experiments[0].connections: tayga keeps no connections"),
        ("nat44", "simulated", "experiments[0].gateway: the gateway 'simulated' doesn't run on the testbed"),
    ],
)
def test_a_gateway_that_does_not_fit_the_configuration(
    tmp_path: Path, name: str, gateway: str, error: str, testbed: str
) -> None:
    conf = tmp_path / "siitperf.conf"
    conf.write_text(conf_text(name), encoding="utf-8")
    done = CliRunner().invoke(app, ["import", str(conf), "--gateway", gateway, "--testbed", testbed])
    assert (done.exit_code, done.stdout) == (2, "")
    first, *errors, remedy, _ = done.stderr.splitlines()
    assert first == f"natxy: {conf} with --gateway {gateway} makes a plan that has errors:"
    assert any(each.startswith(error) for each in errors)
    assert "import without --gateway" in remedy


@pytest.mark.parametrize("testbed", ["lab", "hardware"])
@pytest.mark.parametrize(("name", "gateway"), [("nat44", "nftables"), ("nat64", "jool"), ("siit", "map646")])
def test_a_gateway_that_fits(tmp_path: Path, name: str, gateway: str, testbed: str) -> None:
    conf = tmp_path / "siitperf.conf"
    conf.write_text(conf_text(name), encoding="utf-8")
    done = CliRunner().invoke(app, ["import", str(conf), "--gateway", gateway, "--testbed", testbed])
    assert done.exit_code == 0, done.stderr
    assert gateway in done.stdout
