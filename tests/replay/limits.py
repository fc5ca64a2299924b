# SPDX-License-Identifier: Apache-2.0
"""Gives a gateway limits that depend neither on the speed of this machine nor on natxy: the true results are known.

The kernel keeps each limit, at the interfaces through which frames leave the gateway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

INTERFACES: Final = ("dut-left", "dut-right")

# A limit forgets a phase when no frame has come for this time: longer than a busy machine keeps a tester or a gateway
# from sending. Both ways rest for longer before each trial and between its phases.
FORGETS_S: Final = 1.0
REST_S: Final = 2 * FORGETS_S

_FCS_BYTES: Final = 4
# How a frame is lost. User-mode Linux stops sending for good when one of its frames is dropped here; a frame of another
# protocol (IEEE 802's for experiments) passes, and nobody counts it.
DROP: Final = "drop"
SPOIL: Final = "ether type set 0x88b5"

# What the shaper sends at once after a rest.
_SHAPER_FRAMES: Final = 2


@dataclass(frozen=True)
class Limit:
    """Holds commands for the gateway's network namespace, each with the text for its standard input."""

    put_up: Sequence[tuple[Sequence[str], str]]
    clear: Sequence[Sequence[str]] = ()
    """Commands in the DUT that empty the tables of the gateway before a trial."""

    def clearing(self, *command: str) -> Limit:
        return Limit(self.put_up, [*self.clear, command])


def budget(frames: int, sizes: Mapping[str, int], lose: str = DROP) -> Limit:
    """Lets so many frames of a phase pass in each direction, whenever they come, and no further one.

    `sizes` has their bytes, with FCS, by interface. The limit counts bytes: of longer frames fewer pass.
    """
    quotas = {each: f"quota over {frames * (size - _FCS_BYTES)} bytes" for each, size in sizes.items()}
    return _losing(
        {each: f"meta l4proto udp update @trials {{ oif {quota} }} {lose}" for each, quota in quotas.items()}
    )


def bucket(rate_fps: int, burst: int, lose: str = DROP) -> Limit:
    """Lets `burst` frames of a phase pass at once in each direction, and the others at a rate."""
    rule = f"update @trials {{ oif limit rate over {rate_fps}/second burst {burst} packets }}"
    return _losing(dict.fromkeys(INTERFACES, f"meta l4proto udp {rule} {lose}"))


def bucket_fps(frames: int, rate_fps: int, burst: int) -> float:
    """Returns the highest rate at which that many frames pass a bucket."""
    return rate_fps * frames / (frames - burst)


def table(connections: int, lose: str = DROP) -> Limit:
    """Lets frames of so many connections pass to the right, and of no further one until it is cleared."""
    seen = "update @connections { ip saddr . udp sport . ip daddr . udp dport }"
    limit = _losing({INTERFACES[1]: f"ip protocol udp {seen} accept; ip protocol udp {lose}"}, connections)
    return limit.clearing("nft", "flush", "set", "netdev", "limited", "connections")


def shaper(rate_fps: int, sizes: Mapping[str, int]) -> Limit:
    """Holds frames back so that they leave at a rate. It loses none of the frames that `shaped_delay_s` is for."""
    commands = []
    for each, size in sizes.items():
        length = size - _FCS_BYTES
        shape = ("rate", f"{8 * length * rate_fps}bit", "burst", str(_SHAPER_FRAMES * length), "limit", "10m")
        commands.append((("tc", "qdisc", "replace", "dev", each, "root", "tbf", *shape), ""))
    return Limit(commands)


def shaped_delay_s(rate_fps: int, offered_fps: int, after_s: float) -> float:
    """Returns how long the shaper holds a frame back that comes so long after the first."""
    return ((offered_fps - rate_fps) * after_s - _SHAPER_FRAMES) / rate_fps


def shaped_fps(rate_fps: int, delay_s: float, after_s: float) -> float:
    """Returns the rate at which the shaper holds a frame back for `delay_s` that comes so long after the first."""
    return rate_fps * (1 + delay_s / after_s) + _SHAPER_FRAMES / after_s


def _losing(rules: Mapping[str, str], connections: int = 1) -> Limit:
    hook = "type filter hook egress device {} priority 0"
    chains = "\n".join(f"chain {each} {{ {hook.format(each)}; {rule}; }}" for each, rule in rules.items())
    text = f"""table netdev limited {{
        set trials {{ type iface_index; flags dynamic,timeout; timeout {FORGETS_S * 1000:.0f}ms; }}
        set connections {{
            type ipv4_addr . inet_service . ipv4_addr . inet_service; flags dynamic; size {connections};
        }}
        {chains}
    }}
    """
    return Limit([(("nft", "-f", "-"), text)])
