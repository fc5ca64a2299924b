# SPDX-License-Identifier: Apache-2.0
"""siitperf's documented configurations, as the keys and values that its documentation states."""

from __future__ import annotations

from typing import Final

COMMON: Final = {
    "Forward": "1", "Reverse": "1", "Promisc": "0", "Num-L-Nets": "1", "Num-R-Nets": "1",
    "CPU-L-Send": "2", "CPU-R-Recv": "4", "CPU-R-Send": "6", "CPU-L-Recv": "8",
    "MAC-L-Tester": "02:00:00:00:00:01", "MAC-L-DUT": "02:00:00:00:00:11",
    "MAC-R-Tester": "02:00:00:00:01:01", "MAC-R-DUT": "02:00:00:00:01:11",
}  # fmt: skip
_RANDOM_PORTS: Final = {f"{way}-var-{port}": "3" for way in ("Fwd", "Rev") for port in ("sport", "dport")}
_FORWARD_PORTS: Final = {"Fwd-var-sport": "3", "Fwd-var-dport": "3"}
_STATEFUL: Final = {"Stateful": "1", "Enumerate-ports": "3", "Responder-tuples": "3"}

CONFS: Final[dict[str, dict[str, str]]] = {
    "siit": COMMON | _RANDOM_PORTS | {
        "IP-L-Vers": "6", "IP-R-Vers": "4", "IPv6-L-Real": "2001:2::2", "IPv6-R-Real": "2001:2:0:8000::2",
        "IPv6-R-Virt": "2001:2:0:1000::2", "IPv4-L-Virt": "198.18.0.2", "IPv4-R-Real": "198.19.0.2",
    },
    "nat64": COMMON | _FORWARD_PORTS | _STATEFUL | {
        "IP-L-Vers": "6", "IP-R-Vers": "4", "IPv6-L-Real": "2001:2::2", "IPv6-R-Virt": "64:ff9b::198.19.0.2",
        "IPv4-L-Real": "0.0.0.0", "IPv4-R-Real": "0.0.0.0", "IPv4-L-Virt": "0.0.0.0", "IPv6-R-Real": "::",
        "Fwd-sport-min": "1", "Fwd-sport-max": "40000", "Fwd-dport-min": "1", "Fwd-dport-max": "100",
    },
    "nat44": COMMON | _FORWARD_PORTS | _STATEFUL | {
        "IP-L-Vers": "4", "IP-R-Vers": "4", "IPv4-L-Real": "198.18.0.2", "IPv4-R-Real": "198.19.0.2",
        "Fwd-sport-min": "10000", "Fwd-sport-max": "49999", "Fwd-dport-min": "80", "Fwd-dport-max": "10079",
    },
    "router-many": COMMON | {
        "IP-L-Vers": "4", "IP-R-Vers": "4", "IPv4-L-Real": "198.18.0.2", "IPv4-R-Real": "198.19.0.2",
        "IP-L-var": "3", "IP-L-min": "2", "IP-L-max": "65534", "IPv4-L-offset": "2",
        "IP-R-var": "3", "IP-R-min": "2", "IP-R-max": "0xfffe", "IPv4-R-offset": "2",
    },
    # In the order in which the documentation has these keys: IPv6-R-offset before IPv4-R-offset.
    "nat64-many": COMMON | {
        "IP-L-Vers": "6", "IP-R-Vers": "4", "IPv6-L-Real": "2001:2::2", "IPv6-R-Virt": "64:ff9b::198.19.0.2",
        "IP-L-var": "3", "IP-R-var": "3", "IPv6-L-offset": "12", "IPv6-R-offset": "14", "IPv4-R-offset": "2",
        "IP-L-min": "0", "IP-L-max": "3999", "IP-R-min": "2", "IP-R-max": "1001",
        "Stateful": "1", "Enumerate-ips": "3", "Enumerate-ports": "0", "Responder-tuples": "3",
    },
    "pdv": COMMON | _RANDOM_PORTS | {
        "IP-L-Vers": "6", "IP-R-Vers": "6", "IPv6-L-Real": "2001:2::2", "IPv6-R-Real": "2001:2:0:8000::2",
    },
}  # fmt: skip


def conf_text(name: str, **changed: str | None) -> str:
    """Returns a configuration with some keys changed, or removed where None; `_` stands for `-` in their names."""
    values: dict[str, str | None] = {**CONFS[name]}
    values.update({key.replace("_", "-"): value for key, value in changed.items()})
    return "".join(f"{key} {value}\n" for key, value in values.items() if value is not None)
