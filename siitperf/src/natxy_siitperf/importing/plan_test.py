# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
from typer.testing import CliRunner

from natxy.cli import app
from natxy.errors import PlanError
from natxy.plan.experiment import Experiment
from natxy.plan.model.address_ranges import AddressRange
from natxy.plan.model.terms import Order, Selection
from natxy.plan.model.traffic import ActiveConnections, PortRange
from natxy.plan.procedures.latency import LatencyConfig
from natxy.plan.procedures.throughput import ThroughputConfig
from natxy.plan.resolve import DEFAULT_ALPHA
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan
from natxy.shipped import schema_comment
from natxy_siitperf.arguments import parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.importing.plan import import_plan
from natxy_siitperf.importing.source import OF_CONNECTIONS, VALIDATING, Source
from natxy_siitperf.program import PROCEDURES
from tests.support.siitperf_confs import CONFS, conf_text

TRAFFIC = "84 50000 60 2000 2 2"
PHASE1 = "100000 100000 50000 2000 6000"
FEW = "100 70 50000 500 600"
STATEFUL = {"nat64", "nat44", "nat64-many"}


def text_of(name: str, procedure: str = "throughput", arguments: str | None = None, **changed: str | None) -> str:
    conf = parse_conf(conf_text(name, **changed))
    given = parse_arguments(PROCEDURES[procedure], arguments.split(), conf) if arguments else None
    return import_plan(Source(conf, procedure, given))


def unwrapped(text: str) -> str:
    """Returns a plan in which each sentence of its head is one line."""
    return text.replace("\n#   ", " ")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def loaded(folder: Path, text: str) -> ResolvedPlan:
    (folder / "plan.yaml").write_text(text, encoding="utf-8")
    return load_plan(folder / "plan.yaml")


def experiment_of(folder: Path, text: str) -> Experiment:
    return loaded(folder, text).experiments[0]


@pytest.mark.parametrize("procedure", PROCEDURES)
@pytest.mark.parametrize("name", CONFS)
def test_every_documented_configuration_becomes_a_plan_without_errors(folder: Path, name: str, procedure: str) -> None:
    if name not in STATEFUL and procedure in OF_CONNECTIONS:
        with pytest.raises(PlanError, match=r"Stateful: .* makes connections; expected 1 or 2"):
            text_of(name, procedure)
        return
    last = {"latency": " 20 500", "pdv": " 0"}.get(procedure, "")
    arguments = f"{TRAFFIC}{f' {PHASE1}' if name in STATEFUL else ''}{last}"
    experiment = experiment_of(folder, text_of(name, procedure, arguments))
    assert experiment.procedure.name == procedure
    assert experiment.ttl == 10


@pytest.mark.parametrize("name", CONFS)
def test_a_plan_without_arguments_has_guesses(folder: Path, name: str) -> None:
    text = text_of(name)
    assert "search: {max_rate: 14880952}  # a guess: rate is an argument of siitperf-tp" in text
    assert experiment_of(folder, text).uses_connections == (name in STATEFUL)


def test_check_accepts_what_import_prints(folder: Path) -> None:
    conf, plan = folder / "siitperf.conf", folder / "plan.yaml"
    conf.write_text(conf_text("router-many"), encoding="utf-8")
    printed = CliRunner().invoke(app, ["import", str(conf), "--arguments", TRAFFIC])
    assert printed.exit_code == 0, printed.output
    assert printed.stdout.startswith(f"{schema_comment(Path())}\n# Imported from siitperf.conf")
    plan.write_text(printed.stdout, encoding="utf-8")
    checked = CliRunner().invoke(app, ["check", str(plan)])
    assert checked.exit_code == 0, checked.output
    assert "65,279 addresses from 198.18.1.0 to 65,279 addresses from 198.19.1.0" in checked.output


def test_an_error_of_the_command_is_one_line(folder: Path) -> None:
    conf = folder / "siitperf.conf"
    conf.write_text("IP-L-Vers 5\n", encoding="utf-8")
    done = CliRunner().invoke(app, ["import", str(conf)])
    assert (done.exit_code, done.stdout) == (2, "")
    error, more = done.stderr.splitlines()
    assert error == f"natxy: {conf}, line 1: IP-L-Vers: expected 4 or 6, got 5"
    assert more.endswith("docs/how-to/from-siitperf.md#from-siitperfconf-to-a-plan")


def test_siit(folder: Path) -> None:
    text = text_of("siit", "latency", "84 426576 120 2000 2 2 60 50000")
    experiment = experiment_of(folder, text)
    assert isinstance(experiment.procedure, LatencyConfig)
    assert (experiment.procedure.tagged_frames, experiment.traffic_s) == (50_000, 120)
    assert experiment.rate
    assert experiment.rate.rate == 426_576
    translation = experiment.translation
    assert translation
    assert translation.across(IPv6Address("2001:2::2")) == IPv4Address("198.18.0.2")
    assert str(translation.prefix) == "2001:2:0:1000::/96"
    assert "IPv6-R-Virt is 2001:2:0:1000::2, and a plan's translator has IPv4 hosts" in unwrapped(text)
    # What is natxy's default is left out.
    assert not {"ports:", "orders:", "frame_size:", "timing:", "directions:"} & {*text.split()}
    assert (experiment.ports.source, experiment.ports.destination) == (
        PortRange(min=1024, max=65_535),
        PortRange(min=1, max=49_151),
    )  # fmt: skip


def test_nat64(folder: Path) -> None:
    text = text_of("nat64", arguments="84 100000 60 2000 2 2 4000000 4000000 200000 500 21000")
    plan = loaded(folder, text)
    experiment = plan.experiments[0]
    assert (experiment.connections, experiment.flow_space_size) == (4_000_000, 4_000_000)
    assert experiment.left_destinations
    assert experiment.left_destinations.first == IPv6Address("64:ff9b::198.19.0.2")
    # Tayga, which is guessed for other prefixes, refuses this one.
    assert experiment.gateway.driver == "jool"
    assert experiment.phase1_rate
    assert experiment.phase1_rate.rate == 200_000
    assert (experiment.timing.drain, experiment.timing.learning_pause) == (2.0, 0.5)
    assert "T is 500 ms and gto 2000 ms" in text


def test_nat64_of_many_addresses(folder: Path) -> None:
    experiment = experiment_of(folder, text_of("nat64-many", Enumerate_ips="1", Responder_tuples="2"))
    left, right = experiment.addresses.left_hosts.ranges[0], experiment.addresses.right_hosts.ranges[0]
    assert left == AddressRange(first=ip_address("2001:2::2"), last=ip_address("2001:2::f9f:2"), low_bit=16)
    # The hosts up to the broadcast address of the gateway's link are left out.
    assert right == AddressRange(first=ip_address("198.19.1.0"), last=ip_address("198.19.3.233"))
    assert (experiment.ports.source.min, experiment.ports.destination.max) == (49_184, 7)
    orders = experiment.orders
    assert (orders.source_address, orders.destination_address, orders.state_table) == (
        Order.INCREASING,
        Order.INCREASING,
        Order.DECREASING,
    )


def test_comments_name_keys_and_lines(folder: Path) -> None:
    text = text_of("router-many", arguments="128 50000 30 500 2 2", IP_L_var="1", IP_R_var="1", Reverse="0")
    (line,) = (line for line in text.splitlines() if "orders:" in line)
    lines = conf_text("router-many").splitlines()
    first, second = (1 + lines.index(f"IP-{side}-var 3") for side in "LR")
    assert line.endswith(f"  # IP-L-var (line {first}), IP-R-var (line {second})")
    assert "source_address: increasing, destination_address: increasing" in line
    assert "frame_size: 108  # argument size, less 20 for IPv4" in text
    assert "timing: {trial: 30 s, drain: 500 ms}  # arguments dur, gto" in text
    assert "directions: forward" in text
    assert experiment_of(folder, text).frame_size == 108


def test_directions_have_ports_and_orders_of_their_own(folder: Path) -> None:
    text = text_of(
        "router-many", Fwd_var_sport="3", Rev_var_sport="1", Rev_var_dport="2", Rev_dport_min="80", Rev_dport_max="90",
        IP_L_var="1", IP_R_var="2",
    )  # fmt: skip
    assert "ports: {destination: 7, reverse: {destination: 80-90}}" in text
    experiment = experiment_of(folder, text)
    ports, orders, back = experiment.ports, experiment.orders, experiment.orders.in_reverse
    assert (ports.source, ports.destination) == (PortRange(min=1024, max=65_535), PortRange(min=7, max=7))
    assert ports.in_reverse.source == ports.source
    assert ports.in_reverse.destination == PortRange(min=80, max=90)
    assert (orders.source_address, orders.destination_address, orders.source_port) == (
        Order.INCREASING, Order.DECREASING, Order.PSEUDORANDOM,
    )  # fmt: skip
    assert (back.source_address, back.destination_address, back.source_port, back.destination_port) == (
        Order.DECREASING, Order.INCREASING, Order.INCREASING, Order.DECREASING,
    )  # fmt: skip


def test_the_right_as_initiator_becomes_the_left(folder: Path) -> None:
    exchanged = {"-L-": "-R-", "-R-": "-L-", "Fwd": "Rev"}
    mirrored = {
        re.sub("-[LR]-|Fwd", lambda match: exchanged[match[0]], key): value for key, value in CONFS["nat44"].items()
    }
    mirrored["Stateful"] = "2"
    text = "".join(f"{key} {value}\n" for key, value in mirrored.items())
    plan = import_plan(Source(parse_conf(text), "throughput"))
    experiment = experiment_of(folder, plan)
    assert experiment.addresses.left_hosts.first == ip_address("198.18.0.2")
    assert experiment.ports.source == PortRange(min=10_000, max=49_999)
    assert "with Stateful 2, siitperf's right is the plan's left" in unwrapped(plan)
    in_lab = "natxy lab up --initiator right"
    assert in_lab in unwrapped(plan)
    assert in_lab not in unwrapped(import_plan(Source(parse_conf(text), "throughput", hardware=True)))
    assert in_lab not in unwrapped(text_of("nat44"))


def test_links_whose_addresses_are_near_each_other(folder: Path) -> None:
    for left, right, length in (
        ("10.0.0.2", "10.0.0.130", 25),
        ("10.0.0.5", "10.0.0.2", 30),
        ("10.0.0.2", "10.0.1.2", 24),
    ):
        experiment = experiment_of(folder, text_of("nat44", IPv4_L_Real=left, IPv4_R_Real=right))
        links = (experiment.addresses.left, experiment.addresses.right)
        assert [str(each.tester) for each in links] == [f"{left}/{length}", f"{right}/{length}"]


def test_public_addresses_of_mappings_and_of_background_are_allowed(folder: Path) -> None:
    allowed = "allow_public_destinations: true"
    assert allowed in (of_mapping := text_of("siit", IPv4_L_Virt="8.8.8.8"))
    assert experiment_of(folder, of_mapping).translation
    native = {"IPv6_L_Real": "2001:db8::2", "IPv6_R_Real": "2001:db8:1::2"}
    assert allowed in (mixed := text_of("nat44", arguments=f"84 50000 60 2000 10 7 {FEW}", **native))
    assert experiment_of(folder, mixed).background
    assert allowed not in text_of("nat44", arguments=f"84 50000 60 2000 2 2 {FEW}", **native)


@pytest.mark.parametrize(
    ("changed", "arguments"),
    [({"Enumerate_ports": "1"}, "100 100 100 500 1500"), ({}, "100 100 14880952 500 500")],
)
def test_a_trial_of_more_than_a_week_is_an_error(changed: dict[str, str], arguments: str) -> None:
    with pytest.raises(
        PlanError, match=r"R is \d+ and rate 1: with 64,000,000 connections a trial takes more than a week"
    ):
        text_of("nat44", "table-capacity", f"84 1 3600 500 2 2 {arguments}", **changed)


@pytest.mark.parametrize(
    ("last", "hosts", "fewer"),
    [
        ("65534", "198.18.1.0 to 198.18.255.254", 254),
        ("300", "198.18.0.2 to 198.18.0.254", 46),
        ("255", "198.18.0.2 to 198.18.0.254", 1),
        ("254", "198.18.0.2 to 198.18.0.254", 0),
    ],
)
def test_no_host_has_the_broadcast_address_of_the_gateways_link(
    folder: Path, last: str, hosts: str, fewer: int
) -> None:
    text = text_of("router-many", IP_L_max=last, IP_R_max="200")
    experiment = experiment_of(folder, text)
    assert str(experiment.addresses.left_hosts) == hosts
    assert str(experiment.addresses.left.dut) == "198.18.0.1/24"
    said = "198.18.0.255 is the broadcast address of 198.18.0.0/24, and no router forwards frames to that of its own "
    assert (f"{said}link: the plan has the hosts {hosts}, {fewer} fewer." in unwrapped(text)) == (fewer > 0)
    assert str(experiment.addresses.right_hosts) == "198.19.0.2 to 198.19.0.200"


def test_hosts_that_all_connections_need_are_kept_with_a_warning(folder: Path) -> None:
    text = text_of("nat64-many", arguments="84 100000 60 2000 2 2 4000000 4000000 200000 500 21000", Enumerate_ips="1")
    assert experiment_of(folder, text).addresses.right_hosts.first == ip_address("198.19.0.2")
    assert "its own link: connections to this host fail. Ask for fewer, or for other hosts." in unwrapped(text)


def test_networks(folder: Path) -> None:
    experiment = experiment_of(folder, text_of("pdv", Num_R_Nets="100", Reverse="0"))
    hosts = experiment.addresses.right_hosts.ranges[0]
    assert (str(hosts.first), str(hosts.last), hosts.low_bit) == ("2001:2:0:8000::2", "2001:2:0:8063::2", 64)
    assert len(experiment.addresses.right.networks_behind) == 128
    assert experiment.addresses.left_hosts.size == 1
    ipv4 = text_of("router-many", IP_L_var=None, IP_R_var=None, Num_L_Nets="256", Num_R_Nets="256")
    assert "siitperf varies the networks of destinations alone" in ipv4
    hosts = experiment_of(folder, ipv4).addresses.left_hosts.ranges[0]
    assert (str(hosts.first), str(hosts.last), hosts.low_bit) == ("198.18.0.2", "198.18.255.2", 8)


@pytest.mark.parametrize(("procedure", "said"), [("latency", True), ("pdv", True), ("throughput", False)])
def test_a_plan_of_delays_says_that_lost_frames_have_none(procedure: str, said: bool) -> None:
    head = unwrapped(text_of("siit", procedure))
    assert ("the plan's figures leave lost frames out" in head) is said


def test_background(folder: Path) -> None:
    text = text_of("nat44", arguments=f"84 50000 60 2000 10 7 {PHASE1.replace('100000 100000', '100000 50000')}",
                   IPv6_L_Real="2001:2::2", IPv6_R_Real="2001:2:0:8000::2")  # fmt: skip
    experiment = experiment_of(folder, text)
    assert experiment.background
    assert experiment.background.turns == (3, 10)
    assert experiment.background.frame_size == 84
    assert str(experiment.background.left.tester) == "2001:2::2/64"
    assert experiment.connections == 70_000
    assert experiment.phase1_rate
    assert experiment.phase1_rate.rate == 35_000
    assert "phase1_rate: 35000  # arguments R, n, m: its foreground" in text
    whole = unwrapped(text)
    assert "M is 50000: siitperf's responder uses the 50000 connections that arrived last" in whole
    assert experiment.active_connections == ActiveConnections(forward=None, reverse=50_000)
    assert "phase 1 has no background" in whole
    assert "siitperf's vary" not in whole
    same_family = text_of("siit", arguments="84 50000 60 2000 2 1")
    assert experiment_of(folder, same_family).background
    assert "those on the left have the address 2001:2:0:4000::2" in unwrapped(same_family)


@pytest.mark.parametrize(
    ("changed", "keys"),
    [
        ({"IPv6_L_offset": "14", "IPv6_R_offset": "13"}, "IP-L-var, IPv6-L-offset, IP-R-var, IPv6-R-offset"),
        ({"IP_L_var": "0", "IP_R_var": "1", "IPv6_R_offset": "13"}, "IP-R-var, IPv6-R-offset"),
        ({"IP_L_var": "0", "IP_R_var": "0", "Num_L_Nets": "3", "Num_R_Nets": "5"}, "Num-R-Nets, Num-L-Nets"),
        ({"IP_L_var": "0", "IP_R_var": "0", "Num_L_Nets": "3", "Num_R_Nets": "5", "Reverse": "0"}, "Num-R-Nets"),
    ],
)
def test_background_that_varies_with_siitperf_alone_is_stated(changed: dict[str, str], keys: str) -> None:
    text = text_of("router-many", arguments="84 50000 60 2000 2 1", IPv6_L_Real="2001:2::2",
                   IPv6_R_Real="2001:2:0:8000::2", **changed)  # fmt: skip
    found = re.search(r"; they have one address on each side, and siitperf's vary by ([^;\n]*)\.\n", unwrapped(text))
    assert found
    assert re.sub(r" \((line \d+|default)\)", "", found[1]) == keys


@pytest.mark.parametrize(
    ("name", "changed", "error"),
    [
        ("nat64-many", {"IPv6_R_offset": "11"}, "IPv6-R-offset: a plan cannot express it: the bytes that vary"),
        ("router-many", {"IP_R_min": "1"}, "IP-R-min: a plan cannot express it: 198.19.0.1 to 198.19.255.254 leave no"),
        (
            "router-many",
            {"IPv4_L_Real": "198.18.0.1", "IPv4_R_Real": "198.18.1.2", "IP_L_min": "1", "IP_L_max": "254"},
            "IP-L-min: a plan cannot express it: 198.18.0.1 to 198.18.0.254 leave no address of their link",
        ),
        ("siit", {"Num_R_Nets": "2"}, "Num-R-Nets: a plan cannot express it: a plan's networks are for gateways that"),
        ("siit", {"IPv4_L_Virt": None, "Reverse": "0"}, "IPv4-L-Virt is missing; a plan's translation has an IPv4"),
        ("nat64", {"Forward": "0", "Reverse": "0"}, "Forward: throughput needs a direction"),
        ("nat64", {"Forward": "= 1"}, "Forward: no number follows, so siitperf keeps 1 or what an earlier line says"),
    ],
)  # fmt: skip
def test_what_a_plan_cannot_express_is_an_error(name: str, changed: dict[str, str | None], error: str) -> None:
    with pytest.raises(PlanError) as caught:
        text_of(name, "throughput", None, **changed)
    assert error in str(caught.value)


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_every_argument_leaves_a_field_or_a_sentence(folder: Path, procedure: str) -> None:
    names = ["size", "rate", "dur", "gto", "n", "m", "N", "M", "R", "T", "D"]
    last, more = {"latency": (" 2 600", ["delay", "timestamps"]), "pdv": (" 0", [])}.get(procedure, ("", []))
    arguments = f"100 1000 10 700 4 3 4000 2000 2000 500 9000{last}"
    text = text_of("nat64", procedure, arguments, IPv6_R_Real="2001:2:0:8000::2")
    assert experiment_of(folder, text).connections in {3000, None}
    comments = [line.partition("#")[2] for line in text.splitlines()]
    # A letter within a key, such as IP-R-Vers, is no argument.
    said = {name for name in [*names, *more] for each in comments if re.search(rf"(?<![\w-]){name}(?![\w-])", each)}
    assert said == {*names, *more}


@pytest.mark.parametrize("procedure", sorted(VALIDATING))
def test_a_validation_has_the_ratio_of_the_rates(folder: Path, procedure: str) -> None:
    text = text_of("nat64", procedure, "84 1000 10 700 2 2 4000 2000 2000 500 9000")
    assert experiment_of(folder, text).alpha == 0.5
    assert "    alpha: 0.5  # arguments rate, R: rate/R\n" in text
    head = unwrapped(text)
    for sentence in (
        "T is 500 ms and gto 700 ms; the plan's `drain`, T, follows both phases.",
        "dur is 10 s: siitperf sends rate·dur, 10000, frames in each active direction after phase 1, and the plan one",
        "M is 2000: siitperf replies over the 2000 connections that arrived last, and the plan over all of them.",
        "D leaves a pause of 6500 ms after T, and the plan validates at once.",
    ):
        assert f"# - {sentence}" in head
    same = text_of("nat64", procedure, "84 2000 10 500 2 2 4000 4000 2000 500 2500")
    assert experiment_of(folder, same).alpha == 1
    assert not re.search("^# - ([TM] is|D leaves) ", same, re.MULTILINE)


@pytest.mark.parametrize(
    ("procedure", "lowest"),
    [("connection-rate", 1), ("validated-connection-rate", 1), ("table-capacity", 20)],
)
def test_entries_outlast_the_slowest_trial_of_a_search(folder: Path, procedure: str, lowest: int) -> None:
    """At R 1000 or less the search begins lower than natxy's does, and table-capacity tries 4,000,000 connections."""
    search = experiment_of(folder, text_of("nat64", procedure, "84 500 10 700 2 2 4000 2000 1000 500 9000")).search
    assert search
    assert (search.min_rate, search.max_rate) == (lowest, 1000)


@pytest.mark.parametrize(
    ("rate", "alpha", "sentence"),
    [
        ("2000", 1, "rate is 2000, and R 1000; the plan replies no faster than R."),
        (
            "1",
            DEFAULT_ALPHA,
            "rate is 1: rate·dur frames do not reach each connection, so that `alpha` is natxy's 0.5.",
        ),
    ],
)
def test_a_rate_that_is_no_share_of_r_is_stated(folder: Path, rate: str, alpha: float, sentence: str) -> None:
    text = text_of("nat64", "validated-connection-rate", f"84 {rate} 10 500 2 2 4000 4000 1000 500 4500")
    assert experiment_of(folder, text).alpha == alpha
    assert f"# - {sentence}" in unwrapped(text)


@pytest.mark.parametrize(
    ("changed", "why"),
    [({"Reverse": "0"}, "there are no replies"), ({"Responder_tuples": "0"}, "the replies are of one connection")],
)
def test_a_part_of_the_state_table_that_no_reply_reads_is_stated(changed: dict[str, str], why: str) -> None:
    text = text_of("nat64", "throughput", "84 500 10 500 2 2 4000 2000 1000 500 4500", **changed)
    assert f"# - M is 2000, and the plan does not have it: {why}." in unwrapped(text)


@pytest.mark.parametrize(("changed", "said"), [({}, True), ({"Forward": "0"}, False)])
def test_a_state_table_that_phase_2_writes_with_siitperf_alone_is_stated(changed: dict[str, str], said: bool) -> None:
    assert ("and the state table stays that of phase 1." in unwrapped(text_of("nat64", **changed))) is said


@pytest.mark.parametrize("side", ["L", "R"])
def test_hosts_that_vary_above_their_last_byte_leave_room_for_the_gateway(folder: Path, side: str) -> None:
    text = text_of("router-many", **{f"IPv4_{side}_offset": "1", f"IP_{side}_min": "2", f"IP_{side}_max": "65534"})
    pair = experiment_of(folder, text).address_plan.pairs[0]
    link = pair.left if side == "L" else pair.right
    assert link.dut.ip not in (link.tester.ip, link.dut.network.network_address)
    assert link.dut.ip in link.tester.network


def test_what_is_harmless_is_stated_in_the_plan(folder: Path) -> None:
    text = text_of("nat64", Enumerate_ports="4", IPv6_L_Real="2001:2::2 of the tester")
    assert experiment_of(folder, text).orders.source_port == Order.PSEUDORANDOM
    head = unwrapped(text)
    assert "# - Line " in text
    assert "Enumerate-ports: 4 is what versions of 2021 had for 3." in head
    assert "IPv6-L-Real: siitperf ignores 'of the tester' after the value" in head


def test_replies_of_one_four_tuple(folder: Path) -> None:
    text = text_of("nat64", Responder_tuples="0")
    assert experiment_of(folder, text).active_connections == ActiveConnections(forward=None, reverse=1)
    assert "active_connections: {reverse: 1}  # Responder-tuples (line " in text
    assert experiment_of(folder, text_of("nat64", Responder_tuples="0", Reverse="0")).active_connections is None


@pytest.mark.parametrize("procedure", ["validated-connection-rate", "table-capacity"])
def test_a_validation_reads_the_state_table_as_the_responder_does(folder: Path, procedure: str) -> None:
    experiment = experiment_of(folder, text_of("nat64", procedure, Responder_tuples="2", Reverse="0"))
    assert experiment.orders.state_table == Order.DECREASING
    assert "state_table" not in text_of("nat64", "connection-rate", Responder_tuples="2")


def test_a_phase_1_that_draws_four_tuples(folder: Path) -> None:
    text = text_of("nat64", Enumerate_ports="0", Fwd_var_sport="2", Fwd_var_dport="0")
    experiment = experiment_of(folder, text)
    assert experiment.phase1_selection == Selection.RANDOM
    assert (experiment.connections, experiment.orders.source_port) == (1_000_000, Order.DECREASING)
    assert (experiment.ports.source.size, experiment.ports.destination.min) == (40_000, 7)
    with pytest.raises(PlanError, match="a plan cannot express it yet: with 0 phase 1 draws"):
        text_of("nat64", "table-capacity", Enumerate_ports="0")


def test_with_a_frame_timeout_siitperf_pdv_measures_a_throughput(folder: Path) -> None:
    text = text_of("siit", "pdv", "84 50000 60 2000 2 2 100")
    experiment = experiment_of(folder, text)
    assert experiment.procedure == ThroughputConfig(frame_timeout=0.1)
    assert experiment.search
    assert experiment.search.max_rate == 50_000
    assert "procedure: {name: throughput, frame_timeout: 100 ms}  # argument frame_timeout\n" in text
    head = " ".join(text.split("\n#   "))
    assert "for siitperf-pdv." in head
    assert "- frame_timeout is not 0: siitperf-pdv then counts the frames in time, and measures a throughput." in head
    assert experiment_of(folder, text_of("siit", "pdv", "84 50000 60 2000 2 2 0")).procedure.name == "pdv"


@pytest.mark.parametrize(
    ("procedure", "arguments", "error"),
    [
        ("throughput", "84 50000 60 2000 2 0", "m is 0, so that all frames are native IPv6"),
        ("throughput", "84 50000 60 2000 1001 1000", "n is 1001, and a plan's background repeats after at most 1000"),
        ("burst", None, "siitperf has no procedure 'burst'; expected one of throughput, "),
    ],
)
def test_what_no_procedure_does_is_an_error(procedure: str, arguments: str | None, error: str) -> None:
    conf = parse_conf(conf_text("siit"))
    given = parse_arguments(PROCEDURES[procedure], arguments.split(), conf) if arguments else None
    with pytest.raises(PlanError) as caught:
        import_plan(Source(conf, procedure, given))
    assert str(caught.value).startswith(error)


def test_ports_that_are_exchanged_are_an_error_before_they_are_counted() -> None:
    with pytest.raises(PlanError, match="Fwd-dport-min is 80 and Fwd-dport-max 0; exchange them"):
        text_of("nat44", "connection-rate", f"{TRAFFIC} {PHASE1}", Fwd_dport_max="0")


def test_another_gateway(folder: Path) -> None:
    conf = parse_conf(conf_text("nat64"))
    text = import_plan(Source(conf, "throughput", gateway="jool"))
    assert "gateway: {driver: jool, udp_timeout_s: 604800}\n" in text
    assert experiment_of(folder, text).gateway.driver == "jool"
