# SPDX-License-Identifier: Apache-2.0
"""Tests the ends of MAP-T by Jool in a lab, with a program that stands in for Jool: it takes Jool's commands, computes
the addresses from what they say, and translates by Tayga."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from natxy.engine.messages.results import Verdict
from natxy.procedures.common.streams import establish_request, traffic_request
from natxy.testbeds import lab_kernels
from tests.support import needs
from tests.support.chains import chain, experiment_of, set_up
from tests.support.nat_bed import all_arrived, patiently
from tests.support.undisturbed import repeated

pytestmark = [*needs.LAB, pytest.mark.same_machine, needs.programs("tayga", "nft", "conntrack"), needs.TUN]

FRAMES: Final = 100
CONNECTIONS: Final = 50
CE: Final = {"driver": "nftables", "port_set": {"psid": 3, "psid_length": 4, "offset": 0}}
CONNECTED: Final[dict[str, Any]] = {"connections": CONNECTIONS, "phase1_rate": "1k"}
STAND_IN: Final = """\
#!{python} -SE
import json, os, pathlib, subprocess, sys
from ipaddress import ip_address, ip_network

namespace = os.readlink("/proc/self/ns/net")
file = pathlib.Path("{folder}", "".join(filter(str.isdigit, namespace)))
conf, pid = f"{file}.conf", f"{file}.pid"


def run(*argv):
    subprocess.run(argv, check=True)


def subscriber(rule, ipv4, psid):
    ipv6, network, ea_length = ip_network(rule[0]), ip_network(rule[1]), int(rule[2])
    psid_length = ea_length - (32 - network.prefixlen)
    ea_bits = (int(ipv4) - int(network.network_address)) << psid_length | psid
    prefix = int(ipv6.network_address) | ea_bits << 128 - ipv6.prefixlen - ea_length
    return ip_address(prefix | int(ipv4) << 16 | psid)


def start(state):
    dmr = state["--dmr"]
    if state["map-t-type"] == ["CE"]:
        own, rule = ip_network(state["end-user-ipv6-prefix"][0]), state["bmr"]
        # Of one address, all EA bits are the PSID's.
        ipv4 = ip_network(rule[1]).network_address
        psid = int(own.network_address) >> 128 - own.prefixlen & (1 << int(rule[2])) - 1
        hosts, routes = {ipv4: subscriber(rule, ipv4, psid)}, ("default", str(own))
    else:
        rule = state["fmrt"]
        hosts = {each: subscriber(rule, each, 0) for each in ip_network(rule[1])}
        routes = (rule[1], dmr)
    lines = ["tun-device stand-in", "ipv4-addr 192.168.255.1", f"prefix {dmr}"]
    lines += [f"map {ipv4} {ipv6}" for ipv4, ipv6 in hosts.items()]
    pathlib.Path(conf).write_text("\\n".join(lines) + "\\n")
    run("tayga", "--config", conf, "--mktun")
    run("ip", "link", "set", "stand-in", "up", "mtu", *state["lowest-ipv6-mtu"])
    for route in routes:
        run("ip", "route", "replace", route, "dev", "stand-in")
    run("tayga", "--config", conf, "--pidfile", pid)


match sys.argv[1:]:
    case ["--version"]:
        print("4.2.0.3")
    case ["instance", "add", "natxy", "--netfilter", "--dmr", prefix] if not file.exists():
        file.write_text(json.dumps({"--dmr": prefix}))
    case ["instance", "remove", "natxy"] if file.exists():
        run("sh", "-c", f"kill $(cat {pid}); ip link del stand-in; rm {pid} {conf}")
        file.unlink()
    case ["-i", "natxy", _, "display"]:
        print(file.read_text())
    case ["-i", "natxy", "global", "update", name, *values] | ["-i", "natxy", "fmrt" as name, "add", *values]:
        state = json.loads(file.read_text()) | {name: values}
        file.write_text(json.dumps(state))
        if name == "map-t-type":
            start(state)
    case _:
        sys.exit("unknown command")
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Puts a stand-in for Jool on the PATH, and returns the folder of its instances, of one file each."""
    programs, instances = tmp_path / "programs", tmp_path / "instances"
    texts = {
        "jool_mapt": STAND_IN.replace("{python}", sys.executable).replace("{folder}", str(instances)),
        "modprobe": "#!/bin/sh\n",
    }
    for folder in (programs, instances):
        folder.mkdir()
    for name, text in texts.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:{os.environ['PATH']}")
    monkeypatch.setattr(lab_kernels, "takes_module", lambda _: True)
    return instances


@pytest.mark.parametrize(
    ("gateways", "own"),
    [
        ((CE, "jool-mapt", "tester"), CONNECTED),
        (("tester", "jool-mapt"), {"subscribers": {"ipv4": "198.18.128.0/28"}}),
    ],
    ids=["a CE", "a core"],
)
@repeated
def test_the_commands_say_what_an_end_of_map_t_has_to_know(
    gateways: tuple[str | dict[str, Any], ...], own: dict[str, Any], tmp_path: Path, stand_in: Path
) -> None:
    experiment = experiment_of(gateway=chain(*gateways), **own)
    with set_up(experiment, tmp_path) as (_, gateway, engine):
        if experiment.connections:
            made = engine.run_trial(patiently(establish_request(experiment, 1000, 7)))
            all_arrived(made)
            assert (made.verdict, made.established) == (Verdict.PASS, CONNECTIONS), made.reason
        result = engine.run_trial(patiently(traffic_request(experiment, 2000.0, 7, frames=FRAMES)))
        all_arrived(result)
        # The engine compares the addresses between both ends with those of the rule.
        assert result.verdict == Verdict.PASS, result.reason
        assert all(stream.received == FRAMES and not stream.misrouted for stream in result.streams)
        assert "global update map-t-type" in gateway.describe().configuration
        assert [*stand_in.iterdir()]
        gateway.restart()
        gateway.remove()
        assert not [*stand_in.iterdir()]
