# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_interface, ip_network
from pathlib import Path

import pytest
from pydantic import ValidationError

from natxy.addressing.map_rules import MapRule
from natxy.addressing.subscriber_ranges import SubscriberRange
from natxy.dut.base import Capability, DutInterfaces
from natxy.dut.drivers.command import CommandGateway
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, GatewayDiedError
from natxy.plan.gateways.command import CommandConfig
from natxy.plan.model.addresses import AddressPlan, LinkAddresses, Softwire, Translation
from natxy.plan.model.terms import SoftwireEnd
from natxy.system.machine_sysctls import MachineSysctls

ADDRESSES = AddressPlan(
    left=LinkAddresses(dut=ip_interface("198.18.0.1/24"), tester=ip_interface("198.18.0.2/24")),
    right=LinkAddresses(dut=ip_interface("198.19.0.1/24"), tester=ip_interface("198.19.0.2/24")),
)


def gateway(**settings: object) -> CommandGateway:
    config = CommandConfig.model_validate(settings)
    return CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("eth1", "eth2"), ADDRESSES)


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


def test_what_arguments_stand_for() -> None:
    words = ["echo", "{left} {right}", "{left_address}", "{right_address}", "chain { type }", "{other}"]
    assert gateway(describe=[words]).describe().configuration.splitlines()[1] == (
        "eth1 eth2 198.18.0.1 198.19.0.1 chain { type } {other}"
    )


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ("198.19.0.4/30", "198.19.0.4/30 198.19.0.4 198.19.0.7"),
        (None, "198.19.0.1/32 198.19.0.1 198.19.0.1"),
    ],
)
def test_the_public_addresses_are_the_plan_s_or_the_dut_s_own(pool: str | None, words: str) -> None:
    addresses = ADDRESSES.model_copy(update={"pool": ip_network(pool) if pool else None})
    config = CommandConfig(describe=[["echo", "{pool}", "{pool_first}", "{pool_last}"]])
    own = CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("eth1", "eth2"), addresses)
    assert own.describe().configuration.splitlines()[1] == words


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        (("198.18.0.2/32", "2001:2::2/128"), "2001:2:0:64::/96 198.18.0.2 2001:2::2"),
        (("198.18.0.0/16", "2001:2:0:1::/112"), "2001:2:0:64::/96 198.18.0.0/16 2001:2:0:1::/112"),
        (None, "2001:2:0:64::/96 {mapped_ipv4} {mapped_ipv6}"),
    ],
)
def test_the_prefix_and_the_first_mapping_are_the_translation_s(mapping: tuple[str, str] | None, words: str) -> None:
    given = [{"ipv4": mapping[0], "ipv6": mapping[1]}] if mapping else []
    translation = {"kind": "siit", "prefix": "2001:2:0:64::/96", "pool": "198.19.0.1/32", "mappings": given}
    addresses = ADDRESSES.model_copy(update={"translation": Translation.model_validate(translation)})
    config = CommandConfig(describe=[["echo", "{prefix}", "{mapped_ipv4}", "{mapped_ipv6}"]])
    own = CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("eth1", "eth2"), addresses)
    assert own.describe().configuration.splitlines()[1] == words


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (None, "2001:2::c 2001:2::e 198.18.0.0/16 {rule_ipv4} {rule_ea_length}"),
        (
            MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/24"), 12, 0),
            "2001:2::c 2001:2::e 198.18.0.0/16 198.18.128.0/24 12",
        ),
    ],
)
def test_the_ends_of_a_softwire_and_the_rule_of_its_subscribers(rule: MapRule | None, words: str) -> None:
    carried = (IPv4Network("198.18.0.0/24"), IPv4Network("198.18.0.0/16"))
    own, far = IPv6Address("2001:2::c"), IPv6Address("2001:2::e")
    softwire = Softwire(end=SoftwireEnd.CORE, own=own, far=far, carries=carried, subscribers=rule)
    given = ["{softwire_own}", "{softwire_far}", "{softwire_carries}", "{rule_ipv4}", "{rule_ea_length}"]
    config = CommandConfig(describe=[["echo", *given]])
    addresses = ADDRESSES.model_copy(update={"softwire": softwire})
    end = CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("eth1", "eth2"), addresses)
    assert end.describe().configuration.splitlines()[1] == words


def test_failed_set_up_is_taken_back(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    dut = gateway(apply=[["touch", str(mark)], ["false"]], remove=[["rm", str(mark)]])
    with pytest.raises(DutError, match="`false` failed"):
        dut.apply()
    assert not mark.exists()


def test_readiness_is_waited_for(tmp_path: Path) -> None:
    tries = tmp_path / "tries"
    dut = gateway(wait_ready=shell(f"echo >> {tries}; test $(wc -l < {tries}) -ge 3"))
    dut.wait_ready()
    assert len(tries.read_text()) == 3


@pytest.mark.usefixtures("virtual_time")
def test_readiness_that_never_comes() -> None:
    dut = gateway(wait_ready=shell("echo booting; exit 7"), timeout="1s")
    with pytest.raises(DutError, match=r"not ready within 1 s: .* exit code 7; it printed: booting"):
        dut.wait_ready()


def test_the_plan_s_own_command_says_whether_it_is_alive(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    dut = gateway(apply=[["touch", str(mark)]], remove=[["rm", "-f", str(mark)]], alive=["cat", str(mark)])
    dut.apply()
    dut.wait_ready()
    dut.check_alive()
    dut.remove()
    with pytest.raises(
        GatewayDiedError, match=r"^its `alive` failed with exit code 1; it printed: cat: .*No such file"
    ):
        dut.check_alive()


class Interfaces(LocalTransport):
    """A machine whose interfaces are the files of a folder, which the commands make."""

    def __init__(self, folder: Path) -> None:
        super().__init__(MachineSysctls())
        self._folder = folder
        self.asked = 0

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        if list(argv) == ["ls", "/sys/class/net"]:
            self.asked += 1
            argv = ["ls", str(self._folder)]
        return super().run(argv, input=input, timeout_s=timeout_s, check=check)


def test_an_interface_that_its_commands_made_is_looked_for(tmp_path: Path) -> None:
    (tmp_path / "lo").touch()
    mine = str(tmp_path / "mine")
    config = CommandConfig(apply=[["touch", mine]], remove=[["rm", "-f", mine]])
    dut = CommandGateway(config, Interfaces(tmp_path), DutInterfaces("eth1", "eth2"), ADDRESSES)
    dut.apply()
    dut.wait_ready()
    dut.check_alive()
    (tmp_path / "mine").unlink()
    with pytest.raises(GatewayDiedError, match=r"^its interface mine is gone$"):
        dut.check_alive()
    dut.restart()
    dut.check_alive()
    dut.remove()
    dut.check_alive()


def test_a_gateway_that_made_nothing_is_not_asked(tmp_path: Path) -> None:
    transport = Interfaces(tmp_path)
    dut = CommandGateway(CommandConfig(apply=[["true"]]), transport, DutInterfaces("eth1", "eth2"), ADDRESSES)
    dut.apply()
    dut.wait_ready()
    asked = transport.asked
    dut.check_alive()
    assert transport.asked == asked
    # Neither is one that was set up by someone else.
    own = CommandGateway(CommandConfig(), transport, DutInterfaces("eth1", "eth2"), ADDRESSES)
    own.apply()
    own.wait_ready()
    own.check_alive()
    assert transport.asked == asked


def test_restart_by_its_own_commands_and_else_by_setting_it_up_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    verbs = {verb: [shell(f"echo {verb} >> {log}")] for verb in ("apply", "remove", "restart")}
    ready = shell(f"echo ready >> {log}")
    gateway(**verbs, wait_ready=ready).restart()
    del verbs["restart"]
    gateway(**verbs, wait_ready=ready).restart()
    assert log.read_text().split() == ["restart", "ready", "remove", "apply", "ready"]


def changing(folder: Path, **own: object) -> CommandGateway:
    """Returns a core of four addresses with two subscribers each, whose commands say what they do in a file."""

    def note(*words: str) -> list[str]:
        return shell(f"echo {' '.join(words)} >> {folder}/notes")

    settings = {
        "apply": [note("apply", "{softwire_own}")],
        "add_binding": [note("add", "{binding_ipv4}", "{binding_psid}", "{binding_b4}")],
        "remove_binding": [note("remove", "{binding_ipv4}", "{binding_psid}/{binding_psid_length}/{binding_offset}")],
        **own,
    }
    rule = MapRule(IPv6Network("fd00:2:6::/48"), IPv4Network("198.18.128.0/30"), 3, 0)
    softwire = Softwire(
        end=SoftwireEnd.CORE, own=IPv6Address("2001:2::c"), far=rule.subscriber(0).address, carries=(), subscribers=rule
    )
    addresses = ADDRESSES.model_copy(update={"softwire": softwire})
    config = CommandConfig.model_validate(settings)
    return CommandGateway(config, LocalTransport(MachineSysctls()), DutInterfaces("eth1", "eth2"), addresses)


def some(core: CommandGateway, first: int) -> SubscriberRange:
    assert core.addresses.softwire
    rule = core.addresses.softwire.subscribers
    assert isinstance(rule, MapRule)
    address = IPv4Address("198.18.128.0") + first
    return SubscriberRange.of(rule, address, address)


def test_bindings_are_changed_by_the_commands_of_each_subscriber(tmp_path: Path) -> None:
    core = changing(tmp_path)
    assert core.config.changes_bindings
    core.apply()
    core.set_unbound([some(core, 3)])
    core.set_unbound([some(core, 0)])
    core.set_unbound([])
    assert (tmp_path / "notes").read_text().splitlines() == [
        "apply 2001:2::c",
        "remove 198.18.128.3 0/1/0",
        "remove 198.18.128.3 1/1/0",
        "remove 198.18.128.0 0/1/0",
        "remove 198.18.128.0 1/1/0",
        "add 198.18.128.3 0 fd00:2:6:c000:0:c612:8003:0",
        "add 198.18.128.3 1 fd00:2:6:e000:0:c612:8003:1",
        "add 198.18.128.0 0 fd00:2:6::c612:8000:0",
        "add 198.18.128.0 1 fd00:2:6:2000:0:c612:8000:1",
    ]


def test_a_change_that_fails_leaves_all_subscribers_with_a_binding(tmp_path: Path) -> None:
    core = changing(tmp_path, add_binding=[["false"]])
    core.apply()
    core.set_unbound([some(core, 3)])
    with pytest.raises(DutError, match="false"):
        core.set_unbound([])
    core.set_unbound([some(core, 1)])
    notes = (tmp_path / "notes").read_text().splitlines()
    assert notes[3:] == ["apply 2001:2::c", "remove 198.18.128.1 0/1/0", "remove 198.18.128.1 1/1/0"]


def test_cores_are_a_number_in_the_arguments(tmp_path: Path) -> None:
    dut = gateway(set_cores=[shell(f"echo maxcpus={{cores}} > {tmp_path}/boot")])
    assert dut.capabilities == {Capability.SET_CORES}
    dut.set_cores([0, 1, 2])
    assert (tmp_path / "boot").read_text() == "maxcpus=3\n"


def test_a_machine_that_cannot_be_reached_is_not_ready_yet() -> None:
    class Booting(LocalTransport):
        tries = 0

        def run(
            self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
        ) -> CompletedCommand:
            self.tries += 1
            if self.tries < 3:
                raise DutError("no answer")
            return super().run(argv, input=input, timeout_s=timeout_s, check=check)

    transport = Booting(MachineSysctls())
    config = CommandConfig(wait_ready=["true"])
    CommandGateway(config, transport, DutInterfaces("eth1", "eth2"), ADDRESSES).wait_ready()
    assert transport.tries == 3


def test_table_is_seen_to_be_empty(tmp_path: Path) -> None:
    table = tmp_path / "table"
    table.write_text("sessions: 5 of 100\n")
    dut = gateway(stateful=True, clear=[shell(f"echo sessions: 0 > {table}")], count=["cat", str(table)])
    assert dut.capabilities == {Capability.CLEAR, Capability.COUNT}
    assert dut.count() == 5
    dut.clear()
    assert dut.count() == 0
    assert dut.describe().settings["verified empty by"] == f"cat {table}"


@pytest.mark.usefixtures("virtual_time")
def test_table_that_stays_full() -> None:
    dut = gateway(stateful=True, clear=[["true"]], count=["echo", "3"], timeout="1s")
    with pytest.raises(DutError, match="still counts 3 connections"):
        dut.clear()


@pytest.mark.parametrize(
    ("printed", "entries"),
    [
        ("10,000 sessions", 10_000),
        ("1,234,567", 1_234_567),
        ("in use 0,of 5", 0),
        ("999999999999999999", 10**18 - 1),
    ],
)
def test_a_count_may_have_separators_of_thousands(printed: str, entries: int) -> None:
    assert gateway(stateful=True, clear=[["true"]], count=["echo", printed]).count() == entries


@pytest.mark.parametrize(
    ("count", "printed"),
    [
        (["echo", "none"], "none"),
        (["echo", "1,0000"], "1,0000"),
        (["echo", "in use 12,5"], "in use 12,5"),
        (["true"], "nothing"),
        (["printf", r"\377\376"], "\ufffd\ufffd"),
        (["printf", "٣"], "٣"),
        (["echo", "9" * 5000], "9" * 100),
    ],
)
def test_count_that_is_no_number(count: list[str], printed: str) -> None:
    dut = gateway(stateful=True, clear=[["true"]], count=count)
    with pytest.raises(DutError, match=f"should print a number; it printed: {printed}$"):
        dut.count()


def test_a_description_that_is_not_text_is_replaced() -> None:
    described = gateway(version=["printf", r"v\377"], describe=[["printf", r"\303("]]).describe()
    assert described.version == "v\ufffd"
    assert described.configuration.endswith("\n\ufffd(")


def test_without_a_count_the_description_says_that_nothing_was_seen() -> None:
    dut = gateway(stateful=True, clear=[["true"]])
    dut.clear()
    assert dut.count() is None
    assert dut.capabilities == {Capability.CLEAR}
    assert "no `count`" in dut.describe().settings["verified empty by"]


def test_secrets_are_given_to_the_commands_and_shown_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATXY_TOKEN", "hunter2")
    (tmp_path / "login").write_text("root:swordfish\n")
    login = f"{{file:{tmp_path}/login}}"
    told = tmp_path / "told"
    dut = gateway(
        stateful=True,
        apply=[["sh", "-c", f'echo "$0 $1" > {told}', "--token={env:NATXY_TOKEN}", login]],
        clear=[["test", "{env:NATXY_TOKEN}", "!=", ""]],
        count=["echo", "0"],
        version=["echo", "version 1, {env:NATXY_TOKEN}"],
        describe=[["cat", str(told)], ["echo", login]],
    )
    dut.apply()
    dut.clear()
    assert told.read_text() == "--token=hunter2 root:swordfish\n"
    described = dut.describe()
    assert described.version == "version 1, ***"
    assert described.configuration == f"# cat {told}\n--token=*** ***\n# echo '***'\n***"
    assert "{env:NATXY_TOKEN}" in described.settings["set up by"]
    assert "hunter2" not in str(described)
    assert "swordfish" not in str(described)


def test_secrets_that_cannot_be_read_are_known_before_a_run() -> None:
    config = CommandConfig(apply=[["login", "{env:NATXY_NO_SUCH}"]], version=["v", "{env:NATXY_NO_SUCH}", "{file:/no}"])
    reasons = CommandGateway.unreadable_secrets(config)
    assert [reason.partition(":")[2].partition("}")[0] for reason in reasons] == ["NATXY_NO_SUCH", "/no"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stateful": True}, "needs `clear`"),
        ({"clear": [["true"]]}, "stateful: true"),
        ({"apply": ["reboot"]}, "valid list"),
        ({"apply": [[]]}, "at least 1 item"),
        ({"add_binding": [["true"]]}, "give both `add_binding` and `remove_binding`"),
        ({"apply": [["ip", "{binding_ipv4}"]]}, "only `add_binding` and `remove_binding` have it"),
        ({"add_binding": [["{binding_port}"]]}, "{binding_port} stands for nothing; expected one of binding_b4"),
    ],
)
def test_settings_that_cannot_be(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        CommandConfig.model_validate(settings)
