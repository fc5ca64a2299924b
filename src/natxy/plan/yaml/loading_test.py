# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from natxy.errors import PlanError
from natxy.plan.model.terms import Family
from natxy.plan.resolved_plan import ResolvedPlan
from natxy.plan.yaml.loading import load_plan

REPOSITORY = Path(__file__).parents[4]
QUICKSTART = REPOSITORY / "plans" / "quickstart.yaml"


def load(tmp_path: Path, text: str) -> ResolvedPlan:
    file = tmp_path / "plan.yaml"
    file.write_text(textwrap.dedent(text))
    return load_plan(file)


def errors_of(tmp_path: Path, text: str) -> str:
    with pytest.raises(PlanError) as caught:
        load(tmp_path, text)
    return str(caught.value).replace(f"{tmp_path}/", "")


def experiment(line: str, *, before: str = "") -> str:
    """Returns a valid plan with `line` in its experiment (line 8) and `before` at its top (line 2)."""
    return f"""\
name: bad
{before or "seed: 1"}
experiments:
  - name: first
    gateway: nftables
    procedure: connection-rate
    search: {{max_rate: 1M}}
    {line}
"""


BAD_EXPERIMENTS = [
    ("conections: 50k", "8:5", "experiments[0].conections: unknown field; did you mean 'connections'?"),
    ("connections: many", "8:5", "experiments[0].connections: expected a whole number"),
    ("connections: true", "8:5", "experiments[0].connections: expected a whole number"),
    ("alpha: 0.5", "8:5", "experiments[0].alpha: connection-rate doesn't take it, only validated-connection-rate"),
    ("frame_size: 63", "8:5", "experiments[0].frame_size: expected at least 64, got 63"),
    (
        "frame_size: imix",
        "8:5",
        "experiments[0].frame_size: expected a whole number or 'rfc2544' or 'rfc8219', got 'imix'; write `mix: imix`",
    ),
    (
        "frame_size: rfc8129",
        "8:5",
        "experiments[0].frame_size: expected a whole number or 'rfc2544' or 'rfc8219', got 'rfc81",
    ),
    ("mix: internet", "8:5", "experiments[0].mix: expected imix, imix-csit, a genome of the letters a to i"),
    ("mix: [imix, 64]", "8:17", "experiments[0].mix[1]: expected text in quotes, got 64"),
    ("mix: imix\n    frame_size: 64", "9:5", "experiments[0].frame_size: `mix` has the sizes of the frames; remove"),
    ("mix: 1x70, 1x84\n    family: ipv6", "8:5", "experiments[0].mix: 70 bytes cannot hold an IPv6 test frame"),
    (
        "extension_headers: both",
        "8:5",
        "experiments[0].extension_headers: only IPv6 without a translation has extension headers",
    ),
    (
        "family: ipv6\n    extension_headers: both\n    frame_size: 84",
        "10:5",
        "experiments[0].frame_size: 84 bytes cannot hold an IPv6 test frame: headers and the 18-byte signature",
    ),
    ("protocol: sctp", "8:5", "experiments[0].protocol: expected 'udp' or 'tcp', got 'sctp'"),
    (
        "protocol: tcp\n    frame_size: 64",
        "9:5",
        "experiments[0].frame_size: 64 bytes cannot hold an IPv4 test frame of TCP",
    ),
    ("protocol: tcp\n    mix: imix", "9:5", "experiments[0].mix: segments of TCP have one size; remove `mix`"),
    ("orders: {source_port: random}", "8:14", "experiments[0].orders.source_port: expected 'increasing', 'decreasing'"),
    ("ports: {source: 500-100}", "8:13", "experiments[0].ports.source: min (500) must not be above max (100)"),
    ("ports: {source: 1-70000}", "8:13", "experiments[0].ports.source: expected at most 65535"),
    ("addresses: several", "8:5", "experiments[0].addresses: expected 'single' or 'multiple', got 'several'"),
    (
        "baseline: first",
        "8:5",
        "experiments[0].baseline: connection-rate doesn't take it, only throughput, ndr-pdr, receive-rate, frame-cost, "
        "tcp-goodput, dns64-rate; remove it",
    ),
    ("repeat: 0", "8:5", "experiments[0].repeat: expected at least 1, got 0"),
    ("timing: {trial: 0}", "8:14", "experiments[0].timing.trial: expected more than 0, got 0"),
    ("timing: {trial: .inf}", "8:14", "experiments[0].timing.trial: expected a duration such as 60s"),
    ("connections: .inf", "8:5", "experiments[0].connections: expected a whole number of at least 1"),
    ("connections:\n    5: 6", "9:5", "experiments[0][5]: unknown field; expected a word"),
    ("title: !!str [1]", "8:5", "experiments[0].title: expected text, got a list"),
    ("title: -6", "8:5", "experiments[0].title: expected text in quotes, got -6"),
    ("title: true", "8:5", "experiments[0].title: expected text in quotes, got true"),
    ("title: 2020-01-02", "8:5", "experiments[0].title: expected text, got the date 2020-01-02; put it in"),
    ("timing: {trial: soon}", "8:14", "experiments[0].timing.trial: expected a duration such as 60s"),
]


@pytest.mark.parametrize(("line", "position", "message"), BAD_EXPERIMENTS)
def test_a_bad_field_is_named_with_line_column_and_what_was_expected(
    tmp_path: Path, line: str, position: str, message: str
) -> None:
    errors = errors_of(tmp_path, experiment(line))
    assert f"plan.yaml:{position}: {message}" in errors


@pytest.mark.parametrize(
    ("procedure", "position", "message"),
    [
        ("conection-rate", "6:5", "experiments[0].procedure: expected 'throughput', 'ndr-pdr', 'frame-loss-rate', "),
        ("conection-rate", "6:5", "got 'conection-rate'; did you mean 'connection-rate'?"),
        ("{name: connection-rate, nome: 1}", "6:40", "experiments[0].procedure.nome: unknown field; did you mean"),
        ("{}", "6:5", "experiments[0].procedure: missing 'name'"),
    ],
)
def test_a_bad_procedure_is_named_like_any_field(tmp_path: Path, procedure: str, position: str, message: str) -> None:
    text = experiment("connections: 50k").replace("procedure: connection-rate", f"procedure: {procedure}")
    errors = errors_of(tmp_path, text)
    assert f"plan.yaml:{position}: " in errors
    assert message in errors


def test_a_missing_rate_is_named_in_its_search_also_where_there_is_no_search(tmp_path: Path) -> None:
    without = experiment("connections: 50k").replace("    search: {max_rate: 1M}\n", "")
    assert "plan.yaml:4:5: experiments[0].search.max_rate: missing" in errors_of(tmp_path, without)
    empty = experiment("connections: 50k").replace("{max_rate: 1M}", "{min_rate: 1k}")
    assert "plan.yaml:7:5: experiments[0].search.max_rate: missing" in errors_of(tmp_path, empty)


def test_a_procedure_is_a_name_or_a_mapping(tmp_path: Path) -> None:
    text = experiment("connections: 50k")
    named, mapped = load(tmp_path, text), load(tmp_path, text.replace("connection-rate", "{name: connection-rate}"))
    assert named == mapped
    assert "procedure: connection-rate\n" in mapped.to_yaml()


def test_a_trial_ends_within_thirty_days(tmp_path: Path) -> None:
    text = experiment("", before="timing: {trial: 720h}").replace("connection-rate", "throughput")
    text = text.replace("nftables", "linux-forward")
    assert "experiments[0]: the longest trial would take 720 h 00 min, 720 h 00 min is the most" in errors_of(
        tmp_path, text
    )
    load(tmp_path, text.replace("720h", "719h"))


BAD_MEANINGS = [
    (
        "connections: 50k\n    ports: {reverse: {source: 7}}",
        "9:13",
        "experiments[0].ports.reverse: replies have the ports of their connections; remove it",
    ),
    (
        "connections: 50k\n    orders: {reverse: {source_port: increasing}}",
        "9:14",
        "experiments[0].orders.reverse: replies have the orders of their connections; remove it",
    ),
    ("connections: 9\n    active_connections: 9", "9:5", "connection-rate uses every connection; remove it"),
    ("connections: 3G", "8:5", "experiments[0].connections: addresses and ports give"),
    ("connections: 50k\n    ports: {source: 1-100, destination: 1-10}", "8:5", "give 1000 four-tuples, fewer than"),
    ("connections: 2.9G\n    addresses: multiple", "4:5", "experiments[0]: the longest trial would take 805 h 33 min"),
    (
        "connections: 50k\n    family: ipv6\n    frame_size: 64",
        "10:5",
        "experiments[0].frame_size: 64 bytes cannot hold",
    ),
]


@pytest.mark.parametrize(("lines", "position", "message"), BAD_MEANINGS)
def test_what_cannot_work_is_told_before_anything_is_touched(
    tmp_path: Path, lines: str, position: str, message: str
) -> None:
    errors = errors_of(tmp_path, experiment(lines))
    assert f"plan.yaml:{position}: " in errors
    assert message in errors


def gateway(settings: str, connections: str = "50k", min_rate: str = "10k") -> str:
    return textwrap.dedent(
        f"""\
        name: table
        experiments:
          - name: first
            procedure: connection-rate
            connections: {connections}
            search: {{min_rate: {min_rate}, max_rate: 1M}}
            gateway: {{driver: nftables, {settings}}}
        """
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("conntrack_max: 49999", "gateway.conntrack_max: the table of 49999 entries is smaller than the 50000"),
        ("udp_timeout_s: 5", "gateway.udp_timeout_s: entries would end after 5 s, but the longest trial takes 7 s"),
        ("udp_stream_timeout_s: 5", "gateway.udp_stream_timeout_s: entries would end after 5 s"),
        (
            "flags: [fully-random]",
            "gateway.flags: unknown field. Expected one of conntrack_max, driver, hash_size, nat",
        ),
        ("conntrack_maxx: 1", "gateway.conntrack_maxx: unknown field; did you mean 'conntrack_max'?"),
    ],
)
def test_a_table_that_cannot_hold_the_connections_is_refused(tmp_path: Path, settings: str, message: str) -> None:
    assert f"plan.yaml:7:33: experiments[0].{message}" in errors_of(tmp_path, gateway(settings))


def test_a_sufficient_table_is_accepted(tmp_path: Path) -> None:
    plan = load(tmp_path, gateway("conntrack_max: 50000, udp_timeout_s: 8"))
    assert plan.experiments[0].connections == 50_000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: [", "plan.yaml:1:"),
        ("", "the file is empty; expected a mapping with `name`"),
        ("- 1", "expected a mapping"),
        ("name: x\nname: y", "plan.yaml:2:1: not valid YAML: 'name' is here twice; remove one"),
        ("name: x\nexperiments: []", "plan.yaml:2:1: experiments: "),
        ("name: Bad Name!\nexperiments: []", "plan.yaml:1:1: name: expected small letters"),
        ("experiments:\n  - 3", "plan.yaml:2:5: experiments[0]: "),
        ("name: x\ndefaults: 3\nexperiments: []", "plan.yaml:2:1: defaults: expected a mapping"),
        ("name: x\ndefaults: {serach: 3}\nexperiments: []", "plan.yaml:2:12: defaults.serach: unknown field; did you"),
        (
            "name: x\ntestbed: {kind: labb}\nexperiments: []",
            "plan.yaml:2:11: testbed.kind: expected 'hardware', 'hosts', 'lab', 'loop', 'memif', 'simulated'",
        ),
        ("name: x\ntestbed: lab\nexperiments: []", "got 'lab'; write {kind: lab}"),
        (
            "name: x\ntestbed: {kind: loop, medium: cable}\nexperiments: []",
            "plan.yaml:2:1: testbed: left and right are the ports that a cable joins",
        ),
        (
            "name: x\ntestbed: {kind: loop, left: {interface: a/b}, right: {pci: AA}}\nexperiments: []",
            "expected the name of an interface, such as ens1f0, of at most 15 characters, got 'a/b'",
        ),
    ],
)
def test_a_file_that_is_no_plan(tmp_path: Path, text: str, message: str) -> None:
    assert message in errors_of(tmp_path, text)


def test_siitperfs_configuration_is_no_plan(tmp_path: Path) -> None:
    conf = tmp_path / "siitperf.conf"
    conf.write_text("IP-L-Vers 4\n")
    with pytest.raises(PlanError, match=f"`natxy import {conf}` makes a plan"):
        load_plan(conf)


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("ports: 5", "ports: expected a mapping of destination, reverse, source, got 5"),
        ("repeat: many", "repeat: expected a whole number, got 'many'"),
        ("repeat: 1.5", "repeat: expected a whole number, got 1.5"),
        ("repeat: 0", "repeat: expected at least 1, got 0"),
        ("baseline: {a: 1}", "baseline: expected text, got a mapping"),
        ("rate: {percent: 200}", "rate.percent: expected at most 100, got 200"),
        ("ttl: 1000", "ttl: expected at most 255, got 1000"),
    ],
)
def test_a_value_of_the_wrong_kind_is_told_in_a_plan_s_words(tmp_path: Path, field: str, message: str) -> None:
    assert f"experiments[0].{message}" in errors_of(tmp_path, experiment(field))


def test_every_error_is_told_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    _, *errors = errors_of(tmp_path, experiment("conections: 5", before="seeed: 4")).splitlines()
    assert [line.split(": ")[1] for line in errors] == [
        "seeed",
        "experiments[0].connections",
        "experiments[0].conections",
    ]


SEVERAL = """\
    name: several
    title: Several
    testbed: {kind: simulated}
    defaults: {gateway: simulated, search: {max_rate: 1M}}
    experiments:
      - {name: unknown, procedure: throughput, conections: 5, alpha: 0.5}
      - {name: empty-sweep, procedure: throughput, ttl: []}
      - {name: wrong-value, procedure: throughput, ttl: 0}
      - {name: no-rate, procedure: latency}
      - {name: own-range, procedure: throughput, search: {min_rate: 2M, max_rate: 1M}}
      - {name: refers, procedure: throughput, baseline: wrong-value}
    """


def test_the_errors_of_every_step_are_told_in_one_go(tmp_path: Path) -> None:
    _, *errors, last = errors_of(tmp_path, SEVERAL).splitlines()
    assert [line.split(": ")[1] for line in errors] == [
        "title",
        "experiments[0].conections",
        "experiments[0].alpha",
        "experiments[1].ttl",
        "experiments[2].ttl",
        "experiments[3].rate",
        "experiments[4].search.min_rate",
    ]
    assert last == "Fix these first: what depends on them could not be checked."


def test_a_list_of_errors_that_is_complete_ends_with_the_last(tmp_path: Path) -> None:
    text = experiment("connections: 50k\n    alpha: 0.5\n    conections: 5")
    _, *errors = errors_of(tmp_path, text).splitlines()
    assert [line.split(": ")[1] for line in errors] == ["experiments[0].alpha", "experiments[0].conections"]


def test_an_unknown_field_leaves_nothing_unchecked_and_a_wrong_value_does(tmp_path: Path) -> None:
    last = "Fix these first: what depends on them could not be checked."
    _, *errors = errors_of(tmp_path, experiment("connections: 50k\n    conections: 5")).splitlines()
    assert len(errors) == 1
    assert errors[-1] != last
    assert errors_of(tmp_path, experiment("connections: none")).splitlines()[-1] == last


def test_a_list_of_words_in_place_of_commands_is_one_error(tmp_path: Path) -> None:
    given = "{driver: command, stateful: true, clear: [conntrack, -F]}"
    _, *errors = errors_of(tmp_path, experiment("connections: 50k").replace("nftables", given)).splitlines()
    assert "gateway.clear: expected a list of commands, each a list of words: [[conntrack, -F]]" in errors[0]
    assert not any("clear[" in error for error in errors)


def test_what_a_plan_lacks_altogether_is_an_error_of_its_first_line(tmp_path: Path) -> None:
    assert "plan.yaml:1:1: experiments: " in errors_of(tmp_path, "name: p\n")


def test_a_check_of_a_whole_mapping_follows_that_of_its_fields(tmp_path: Path) -> None:
    text = experiment("connections: 50k").replace("nftables", "{driver: command, stateful: true, cleer: [[true]]}")
    _, whole, field, _ = errors_of(tmp_path, text).splitlines()
    assert "experiments[0].gateway: a stateful gateway needs `clear`" in whole
    assert "experiments[0].gateway.cleer: unknown field; did you mean 'clear'?" in field


def test_a_sweep_that_never_ends_is_refused(tmp_path: Path) -> None:
    numbers = list(range(2, 250))
    errors = errors_of(tmp_path, experiment(f"ttl: {numbers}\n    repeat: {numbers}"))
    assert "plan.yaml:4:5: experiments[0]: the lists give more than 10,000 experiments; shorten them" in errors


def test_a_file_without_an_end_is_not_read_to_it() -> None:
    with pytest.raises(PlanError, match=r"/dev/zero cannot be read: it is a device"):
        load_plan(Path("/dev/zero"))


def test_a_file_that_is_too_long_is_not_read_to_its_end(tmp_path: Path) -> None:
    with (tmp_path / "long.yaml").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(PlanError, match=r"long.yaml cannot be read: it is longer than \d+ MiB"):
        load_plan(tmp_path / "long.yaml")


def test_lines_may_end_as_on_any_machine(tmp_path: Path) -> None:
    text = experiment("connections: 50k")
    plan = load(tmp_path, text)
    for end in ("\r\n", "\r"):
        (tmp_path / "other.yaml").write_bytes(b"\xef\xbb\xbf" + text.replace("\n", end).encode())
        assert load_plan(tmp_path / "other.yaml") == plan


def test_a_missing_file_is_a_plan_error(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="cannot be read: No such file"):
        load_plan(tmp_path / "none.yaml")


def test_the_name_of_a_ready_plan_is_told_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plans").mkdir()
    Path("plans/ready.yaml").write_text(experiment("connections: 50k"))
    with pytest.raises(PlanError, match=r"No such file or directory; did you mean plans/ready\.yaml\?$"):
        load_plan(Path("ready"))
    with pytest.raises(PlanError, match=r"did you mean plans/ready\.yaml\?$"):
        load_plan(Path("redy"))
    with pytest.raises(PlanError, match=r"did you mean /.*/plans/quickstart\.yaml\?$"):
        load_plan(Path("quickstart"))


DEFAULTS = """\
    name: defaults
    testbed: {kind: simulated}
    defaults:
      gateway: simulated
      alpha: 0.25
      connections: 1k
      search: {min_rate: 5k, max_rate: 1M, error: 1k}
    experiments:
      - name: plain
        procedure: connection-rate
        search: {max_rate: 2M}
      - name: validated
        procedure: validated-connection-rate
      - name: forwarding
        procedure: throughput
        connections: null
    """


def test_defaults_are_merged_and_reach_only_procedures_that_take_them(tmp_path: Path) -> None:
    plain, validated, forwarding = load(tmp_path, DEFAULTS).experiments
    assert plain.search is not None
    assert validated.search is not None
    assert (plain.search.min_rate, plain.search.max_rate, plain.alpha) == (5e3, 2e6, None)
    assert (validated.search.max_rate, validated.alpha) == (1e6, 0.25)
    assert forwarding.connections is None


def test_an_error_in_a_default_is_told_once_and_where_it_stands(tmp_path: Path) -> None:
    errors = errors_of(tmp_path, DEFAULTS.replace("error: 1k", "error: little"))
    assert errors.splitlines()[1:-1] == [
        "plan.yaml:7:40: defaults.search.error: expected a rate such as 1.5M, 812 kfps, 1_000_000 or 50%, got 'little'"
    ]


@pytest.mark.parametrize("family", list(Family))
def test_the_quickstart_is_good_in_both_families(tmp_path: Path, family: Family) -> None:
    plan = load(tmp_path, QUICKSTART.read_text().replace("family: ipv4", f"family: {family}"))
    assert {experiment.family for experiment in plan.experiments} == {family}


@pytest.mark.parametrize("family", list(Family))
def test_a_resolved_plan_is_a_plan_that_means_the_same(tmp_path: Path, family: Family) -> None:
    plan = load(tmp_path, QUICKSTART.read_text().replace("family: ipv4", f"family: {family}"))
    assert load(tmp_path, plan.to_yaml()) == plan


@pytest.mark.parametrize(
    ("wrong", "last"), [(20, "odd_19: unknown field"), (21, "and 1 more"), (1234, "and 1,214 more")]
)
def test_only_the_first_20_errors_are_printed(tmp_path: Path, wrong: int, last: str) -> None:
    fields = "\n    ".join(["connections: 50k", *(f"odd_{number}: 1" for number in range(wrong))])
    lines = errors_of(tmp_path, experiment(fields)).splitlines()
    assert sum("odd_" in line for line in lines) == 20
    assert last in [line for line in lines if not line.startswith("Fix these first")][-1]


def test_a_field_of_another_driver_of_the_chain_is_not_proposed_by_its_own_name(tmp_path: Path) -> None:
    text = errors_of(
        tmp_path,
        """
        name: p
        experiments:
          - name: e
            gateway: {driver: chain, gateways: [tester, {driver: softwire, leak_every: 9}]}
            procedure: throughput
            search: {max_rate: 10k}
        """,
    )
    assert "leak_every: unknown field. Expected one of by" in text
    assert "did you mean 'leak_every'" not in text


def test_problems_of_the_parts_of_an_experiment_are_told_together(tmp_path: Path) -> None:
    text = errors_of(
        tmp_path,
        """
        name: p
        experiments:
          - name: e
            gateway: {driver: chain, gateways: [tester, softwire]}
            procedure: throughput
            subscribers: {ipv4: 198.18.128.0/24, ea_length: 4}
            search: {min_rate: 10k, max_rate: 1k}
        """,
    )
    assert "4 EA bits give each subscriber a prefix" in text
    assert "min_rate (10000) must not be above max_rate (1000)" in text
