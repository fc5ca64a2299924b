# SPDX-License-Identifier: Apache-2.0
"""Puts several gateways into network namespaces of one virtual machine, or of user-mode Linux, with veth pairs between
them."""

from __future__ import annotations

from natxy.dut.base import DutInterfaces
from natxy.dut.registry import Box
from natxy.dut.transport.base import Transport
from natxy.dut.transport.namespaced import NamespacedTransport, in_namespace
from natxy.testbeds.veth import OFFLOADS_OFF

# The first namespace of a system has the number of its first process.
_FIRST = "1"
_SYSCTLS = ("net.ipv6.conf.all.accept_dad=0", "net.ipv6.conf.default.accept_dad=0", "net.ipv4.conf.all.rp_filter=0")


class GuestChain:
    """The namespaces of so many gateways, from left to right; the outer two get the machine's own interfaces.

    `boxes` has the place of each gateway.
    """

    def __init__(self, host: Transport, interfaces: DutInterfaces, hops: int, mtu: int) -> None:
        self._host = host
        self._interfaces = interfaces
        self._mtu = mtu
        names = [f"natxy-dut{hop + 1}" for hop in range(hops)]
        self._places = [in_namespace(host, name) for name in names]
        lefts = [interfaces.left, *(f"dut{hop + 1}-left" for hop in range(1, hops))]
        rights = [*(f"dut{hop + 1}-right" for hop in range(hops - 1)), interfaces.right]
        self.boxes = [
            Box(place, DutInterfaces(left, right))
            for place, left, right in zip(self._places, lefts, rights, strict=True)
        ]

    def make(self) -> None:
        """Makes the namespaces and links. DutError when the machine refuses; then nothing of them stays."""
        try:
            for place in self._places:
                self._host.run(["ip", "netns", "add", place.namespace])
                place.run(["sysctl", "-qw", *_SYSCTLS])
                place.run(["ip", "link", "set", "lo", "up"])
            for place, interface in self._outer():
                self._host.run(["ip", "link", "set", interface, "netns", place.namespace])
            for left, right in zip(self.boxes, self.boxes[1:], strict=False):
                self._join(left, right)
        except BaseException:
            self.dissolve()
            raise

    def dissolve(self) -> None:
        """Gives the machine's interfaces back to its first namespace, and removes the others."""
        for place, interface in self._outer():
            place.run(["ip", "link", "set", interface, "netns", _FIRST], check=False)
        for place in self._places:
            self._host.run(["ip", "netns", "del", place.namespace], check=False)

    def _outer(self) -> tuple[tuple[NamespacedTransport, str], ...]:
        return ((self._places[0], self._interfaces.left), (self._places[-1], self._interfaces.right))

    def _join(self, left: Box, right: Box) -> None:
        near, far = left.interfaces.right, right.interfaces.left
        assert isinstance(right.transport, NamespacedTransport)
        there = ["peer", "name", far, "netns", right.transport.namespace]
        left.transport.run(["ip", "link", "add", near, "type", "veth", *there])
        for box, name in ((left, near), (right, far)):
            box.transport.run(["ethtool", "-K", name, *OFFLOADS_OFF])
            box.transport.run(["ip", "link", "set", name, "mtu", str(self._mtu), "up"])
