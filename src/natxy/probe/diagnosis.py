# SPDX-License-Identifier: Apache-2.0
"""Concludes from what was observed why probe frames did not arrive: a sentence with the cause, and what to do.

Each cause is a function. The first one that explains the observation is given, so the most certain ones come first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from natxy.engine.messages.common import IPAddress
from natxy.plan.caveats import Caveat, limitation
from natxy.probe.observed import DutState, Observed, Refusal
from natxy.system.machine_sysctls import interface_word

# The kernel's answer to a request for a route whose source the reverse path filter refuses.
_CROSS_DEVICE: Final = "Invalid cross-device link"
_FORWARDING: Final = {4: "net.ipv4.ip_forward", 6: "net.ipv6.conf.all.forwarding"}
_MOST_NAMED: Final = 3


def diagnose(observed: Observed) -> str:
    """Returns the cause, and after a semicolon what to do."""
    return next(filter(None, (cause(observed) for cause in _CAUSES)), None) or _unknown(observed)


def caveats(state: DutState, near: str, far: str) -> list[Caveat]:
    """Returns what does not keep frames from passing but disturbs a measurement."""
    return [
        limitation(
            f"The DUT's default route leads through its test interface {name}: what it sends by itself, such as "
            "queries for names and time, goes to the tester and is counted there as foreign."
        )
        for name in dict.fromkeys(state.default_routes)
        if name in {near, far}
    ]


def untranslated(sender: IPAddress, seen_as: IPAddress) -> str | None:
    """Returns the cause if a gateway that should hide the left side's addresses does not."""
    if sender != seen_as:
        return None
    return (
        f"the gateway does not translate: frames from {sender} leave it with this source address, although it is to "
        "hide the left side's addresses; check that its rule exists, that none before it accepts the frames, and that "
        "it names the right interface"
    )


def _link_down(observed: Observed) -> str | None:
    link = observed.state.interfaces.get(observed.near)
    if link is None or link.up:
        return None
    return (
        f"the DUT's interface {observed.near} has no link; check that the tester's {observed.source} port is cabled to "
        f"it, and `ip link` on the DUT"
    )


def _wrong_mac(observed: Observed) -> str | None:
    """Finds a `dut_mac` that the DUT's interface at the end of this cable does not have."""
    interfaces, field = observed.state.interfaces, f"testbed.{observed.source}.dut_mac"
    near, far = interfaces.get(observed.near), interfaces.get(observed.far)
    if observed.given is None or near is None or observed.given == near.mac or observed.is_elsewhere:
        return None
    wrong = f"{field} is {observed.given}, "
    if far is not None and observed.given == far.mac:
        return (
            f"the plan's MAC addresses of the DUT are swapped: {wrong}which is that of {observed.far} and not of "
            f"{observed.near}; exchange testbed.left.dut_mac and testbed.right.dut_mac"
        )
    return (
        f"{wrong}and the DUT's {observed.near} has {near.mac}, so that it may not take the frames; give this one, or "
        "remove `dut_mac`, and the DUT is asked"
    )


def _swapped(observed: Observed) -> str | None:
    if observed.reached != observed.far:
        return None
    return (
        f"the DUT's interfaces are swapped: the tester's {observed.source} port is cabled to {observed.far}; exchange "
        "the two cables, or `left` and `right` in the testbed's `dut`"
    )


def _another_port(observed: Observed) -> str | None:
    if observed.reached in {None, observed.near, observed.far}:
        return None
    return (
        f"the cable is in the wrong port: the tester's {observed.source} port is cabled to the DUT's "
        f"{observed.reached}, and not to {observed.near}; move the cable, or name {observed.reached} in the testbed's "
        "`dut`"
    )


def _nowhere(observed: Observed) -> str | None:
    if observed.mac or not observed.counts or observed.has_received(observed.near):
        return None
    return (
        f"nothing that the tester's {observed.source} port sends arrives at the DUT's {observed.near}, although its "
        "link is up: the cable is in the wrong port, of the tester, of the DUT or of a switch between them; follow it, "
        "and compare the MAC addresses that `ip link` shows"
    )


def _address_missing(observed: Observed) -> str | None:
    if observed.mac or observed.given or not observed.has_received(observed.near):
        return None
    return (
        f"requests for the DUT's address arrive at {observed.near}, and it does not answer: it does not have this "
        "address there, or filters the requests; compare `ip address` on the DUT with the plan's `addresses`"
    )


def _merged(observed: Observed) -> str | None:
    passage = observed.passage
    if passage is None:
        return None
    on = {name: words for name, words in observed.state.merging.items() if words}
    if not passage.merged and not (on and passage.corrupt):
        return None
    what = f"frames of {passage.size} bytes arrive merged"
    if passage.merged:
        what += f" into longer ones of up to {passage.longest} bytes"
    if not on:
        return f"{what}: an offload does this; switch it off on the DUT and on the tester: ethtool -K INTERFACE gro off"
    found = "; ".join(f"{', '.join(words)} on {name}" for name, words in on.items())
    off = "; ".join(f"ethtool -K {name} {' '.join(f'{word} off' for word in words)}" for name, words in on.items())
    return f"{what}, by offloads of the DUT: {found}; switch them off: {off}"


def _prohibited(observed: Observed) -> str | None:
    refusals = observed.passage.refusals if observed.passage else ()
    rejects = Refusal.PORT in refusals and not observed.translates
    if Refusal.PROHIBITED not in refusals and not rejects:
        return None
    said = Refusal.PORT if rejects else Refusal.PROHIBITED
    return f"a firewall refuses the frames and answers by ICMP, {said.value}{_rules(observed)}; {_let_pass(observed)}"


def _too_long(observed: Observed) -> str | None:
    if observed.passage is None or Refusal.TOO_LONG not in observed.passage.refusals:
        return None
    return (
        f"the frames of {observed.passage.size} bytes are too long for a link of the DUT, which answers so by ICMP; "
        "raise the MTU of its interfaces, or give smaller frames"
    )


def _path_filter(observed: Observed) -> str | None:
    route = observed.state.routes.get(observed.source)
    back = observed.state.routes_back.get(observed.source)
    # Newer kernels say only that there is no route.
    refused = route is not None and _CROSS_DEVICE in route.error
    refused |= observed.near in observed.state.strict and back is not None and back.interface != observed.near
    dropped = observed.before is not None and observed.state.path_filter_drops > observed.before.path_filter_drops
    if not refused and not dropped:
        return None
    return (
        f"the DUT's reverse path filter drops the frames: its route to their source, {observed.sender}, does not lead "
        f"through {observed.near}; correct that route, or set net.ipv4.conf.all.rp_filter and "
        f"net.ipv4.conf.{interface_word(observed.near)}.rp_filter to 0"
    )


def _not_forwarding(observed: Observed) -> str | None:
    versions = {observed.sender.version, observed.receiver.version}
    off = [name for version, name in _FORWARDING.items() if version in versions and not _forwards(observed, version)]
    return f"the DUT does not forward: {off[0]} is 0; have the gateway's `apply` set it to 1" if off else None


def _default_route(observed: Observed) -> str | None:
    wrong = _wrong_interface(observed)
    if wrong is None or not observed.state.routes[observed.source].by_default:
        return None
    where = f"the test interface {wrong}" if wrong == observed.near else wrong
    return (
        f"the DUT has no route of its own to {observed.receiver}, and its default route leads through {where}, not "
        f"{observed.far}; {_add_route(observed)}"
    )


def _another_route(observed: Observed) -> str | None:
    wrong = _wrong_interface(observed)
    if wrong is None:
        return None
    return (
        f"the DUT's route to {observed.receiver} leads through {wrong}, not through {observed.far}; correct it, or "
        "`left` and `right` in the testbed's `dut`"
    )


def _not_unwrapped(observed: Observed) -> str | None:
    """Finds an end of a softwire that has a route for what is in the packets, and none for the packets themselves."""
    route = observed.state.routes.get(observed.source)
    answered = observed.passage is not None and Refusal.NO_ROUTE in observed.passage.refusals
    if observed.unwraps is None or not answered or (route and route.error):
        return None
    return (
        f"the gateway does not take the packets out of the softwire: it answers that it has no route to "
        f"{observed.unwraps}, its own end; give it this end, by an address, a tunnel or a route that decapsulates"
    )


def _no_route(observed: Observed) -> str | None:
    route = observed.state.routes.get(observed.source)
    answered = observed.passage is not None and Refusal.NO_ROUTE in observed.passage.refusals
    if not answered and not (route and route.error and not observed.translates):
        return None
    why = f" ({route.error})" if route and route.error else ""
    return f"the DUT has no route to {observed.receiver}{why}; {_add_route(observed)}"


def _loop(observed: Observed) -> str | None:
    if observed.passage is None or Refusal.LOOP not in observed.passage.refusals:
        return None
    return (
        "the frames' time to live ends on the way, which the DUT answers by ICMP; look for routes in a circle, or give "
        "the plan a higher `ttl`"
    )


def _mistranslated(observed: Observed) -> str | None:
    if observed.passage is None or not observed.passage.misrouted or observed.passage.arrived:
        return None
    return (
        f"the gateway translates wrongly: {observed.passage.misrouted} frames came through with other addresses, ports "
        "or another address family than the plan's, or to the wrong port of the tester; compare the gateway's rules, "
        "pool and prefix with the plan's `translation` and `addresses`"
    )


def _corrupted(observed: Observed) -> str | None:
    if observed.passage is None or not observed.passage.corrupt or observed.passage.arrived:
        return None
    damage = f": {observed.passage.damage}" if observed.passage.damage else ""
    return (
        f"{observed.passage.corrupt} frames came through with a wrong checksum or length{damage}; look at the "
        "gateway's rules and translation, and switch the checksum and segmentation offloads of the DUT's interfaces off"
    )


def _filtered(observed: Observed) -> str | None:
    """Finds a firewall that drops without a word: the DUT has the frames, would route them, and does not send them."""
    if not observed.counts or not observed.has_received(observed.near) or observed.has_sent(observed.far):
        return None
    if not _suspects(observed):
        return None
    return f"a firewall on the DUT drops the frames{_rules(observed)}; {_let_pass(observed)}"


def _unknown(observed: Observed) -> str:
    check = "check the gateway's routes and rules, and the cabling"
    if observed.given:
        check += f", and whether testbed.{observed.source}.dut_mac is an address of the DUT there"
    if not observed.counts:
        return check
    near = "has received" if observed.has_received(observed.near) else "has not received"
    far = "has sent frames" if observed.has_sent(observed.far) else "has sent none"
    return f"the DUT {near} the frames on {observed.near}, and {far} on {observed.far}; {check}"


_CAUSES: Final[tuple[Callable[[Observed], str | None], ...]] = (
    _link_down,
    _wrong_mac,
    _swapped,
    _another_port,
    _nowhere,
    _path_filter,
    _address_missing,
    _merged,
    _prohibited,
    _too_long,
    _not_forwarding,
    _default_route,
    _another_route,
    _not_unwrapped,
    _no_route,
    _loop,
    _mistranslated,
    _corrupted,
    _filtered,
)


def _forwards(observed: Observed, version: int) -> bool:
    return observed.state.forwards.get(version, True)


def _wrong_interface(observed: Observed) -> str | None:
    """Returns the interface that the DUT would send the frames out of, if it is not the right one."""
    route = observed.state.routes.get(observed.source)
    # A translator may take frames that the routes lead anywhere, or to an interface of its own.
    if route is None or observed.translates or route.interface in {None, observed.far, "lo"}:
        return None
    return route.interface


def _add_route(observed: Observed) -> str:
    return f"give it a route to {observed.receiver} through {observed.far}"


def _suspects(observed: Observed) -> list[str]:
    """Returns the rules that counted frames meanwhile or, without such, those that do not count."""
    drops, before = observed.state.drops, observed.before.drops if observed.before else {}
    counted = [rule for rule, frames in drops.items() if (frames or 0) > (before.get(rule) or 0)]
    return counted or [rule for rule, frames in drops.items() if frames is None]


def _rules(observed: Observed) -> str:
    named = [f"`{rule}`" for rule in _suspects(observed)[:_MOST_NAMED]]
    return f" ({' or '.join(named)})" if named else ""


def _let_pass(observed: Observed) -> str:
    return f"let it pass what comes from {observed.near} and goes to {observed.far}, or switch it off for the test"
