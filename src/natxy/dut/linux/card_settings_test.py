# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from collections.abc import Sequence

import pytest

from natxy.dut.base import DutInterfaces
from natxy.dut.linux.card_settings import cards_set, settable_features
from natxy.dut.transport.base import CompletedCommand
from natxy.dut.transport.local import LocalTransport
from natxy.errors import DutError, PlanError
from natxy.plan.testbeds.cards import CardSettings
from natxy.system.ledger import Ledger
from natxy.system.machine_sysctls import MachineSysctls

pytestmark = pytest.mark.usefixtures("own_ledger")

FEATURES = """\
Features for eth1:
rx-checksumming: on
tx-checksumming: on
\ttx-checksum-ipv4: off [fixed]
\ttx-checksum-ip-generic: on
scatter-gather: off
\ttx-scatter-gather: off
generic-receive-offload: on
large-receive-offload: off [requested on]
highdma: on [fixed]
; rm -rf /: on
"""
WORDS = {
    "s": "IP SA", "d": "IP DA", "f": "L4 bytes 0 & 1 [TCP/UDP src port]", "n": "L4 bytes 2 & 3 [TCP/UDP dst port]",
}  # fmt: skip


class Cards(LocalTransport):
    """Two cards; one that is `stubborn` accepts changes and makes none."""

    def __init__(self, *, stubborn: bool = False, dumb: bool = False) -> None:
        super().__init__(MachineSysctls())
        self.fields = {(name, flows): "sd" for name in ("eth1", "eth2") for flows in ("udp4", "udp6")}
        self.offloads = {name: {"gro": "on", "tx": "on"} for name in ("eth1", "eth2")}
        self.stubborn, self.dumb = stubborn, dumb

    def run(
        self, argv: Sequence[str], *, input: str | None = None, timeout_s: float = 30, check: bool = True
    ) -> CompletedCommand:
        words = [*argv]
        if words[0] == "sh":
            words = ["ethtool", *words[4:]]
        match words[1:]:
            case ["-n", name, "rx-flow-hash", flows]:
                told = "" if self.dumb else "\n".join(WORDS[each] for each in self.fields[name, flows])
                return CompletedCommand(tuple(argv), 0, f"UDP flows use these fields:\n{told}\n", "")
            case ["-N", name, "rx-flow-hash", flows, wanted]:
                if not self.stubborn:
                    self.fields[name, flows] = wanted
            case ["-k", name]:
                text = "".join(f"{each}: {state}\n" for each, state in self.offloads[name].items())
                return CompletedCommand(tuple(argv), 0, text, "")
            case ["-K", name, *changes]:
                if not self.stubborn:
                    self.offloads[name] |= dict(zip(changes[::2], changes[1::2], strict=True))
            case other:
                raise AssertionError(other)
        return CompletedCommand(tuple(argv), 0, "", "")


CARDS = DutInterfaces("eth1", "eth2")


def test_both_cards_are_set_and_get_their_own_settings_back() -> None:
    cards = Cards()
    cards.offloads["eth2"]["gro"] = "off"
    wanted = CardSettings.model_validate({"rss_fields": "sdfn", "offloads": {"gro": False, "tx": "off"}})
    with cards_set(cards, CARDS, wanted):
        assert set(cards.fields.values()) == {"sdfn"}
        assert cards.offloads == {name: {"gro": "off", "tx": "off"} for name in ("eth1", "eth2")}
        recorded = {entry.what: entry.original for entry in Ledger().entries()}
        assert recorded["the RSS fields of eth1 for udp6"] == "sd"
        assert recorded["the offloads of eth2"] == "gro off, tx on"
    assert set(cards.fields.values()) == {"sd"}
    assert cards.offloads == {"eth1": {"gro": "on", "tx": "on"}, "eth2": {"gro": "off", "tx": "on"}}
    assert Ledger().entries() == []


def test_an_error_gives_back_what_was_set_before_it() -> None:
    cards = Cards()
    with (
        pytest.raises(PlanError, match="the DUT's eth1 has no offload 'lro'"),
        cards_set(cards, CARDS, CardSettings.model_validate({"rss_fields": "sdfn", "offloads": {"lro": "on"}})),
    ):
        pass
    assert set(cards.fields.values()) == {"sd"}
    assert Ledger().entries() == []


@pytest.mark.parametrize(
    ("cards", "wanted", "message"),
    [
        (Cards(dumb=True), {"rss_fields": "sd"}, "does not tell by which fields"),
        (Cards(stubborn=True), {"rss_fields": "sdfn"}, "spreads udp4 by sd although it accepted sdfn"),
        (Cards(stubborn=True), {"offloads": {"gro": "off"}}, "keeps gro on although it should be off"),
    ],
)
def test_a_card_that_does_not_obey_is_an_error(cards: Cards, wanted: dict[str, object], message: str) -> None:
    with pytest.raises(DutError, match=message), cards_set(cards, CARDS, CardSettings.model_validate(wanted)):
        pass
    assert Ledger().entries() == []


def test_what_is_given_back_is_each_part_that_can_be_set() -> None:
    assert settable_features(FEATURES) == {
        "rx-checksumming": "on",
        "tx-checksum-ip-generic": "on",
        "tx-scatter-gather": "off",
        "generic-receive-offload": "on",
        "large-receive-offload": "on",
    }


@pytest.mark.parametrize(
    "given",
    [{"rss_fields": "s;id"}, {"offloads": {"-x": "on"}}, {"offloads": {"gro": "maybe"}}, {"offloads": {"gro": 1}}],
)
def test_other_settings_are_refused(given: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"expected|Input should be"):
        CardSettings.model_validate(given)
