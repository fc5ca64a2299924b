# SPDX-License-Identifier: Apache-2.0
"""Makes taps: network interfaces whose other end is a program, here a virtual machine's NIC.

A tap belongs to natxy and its virtual machine, who share its descriptors. It disappears when both have ended, and with
the network namespace that it is moved to.
"""

from __future__ import annotations

import fcntl
import os
import struct
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from natxy.dut.transport.local import NetnsTransport, run_program
from natxy.system.process_owner import Owner

TUN: Final = "/dev/net/tun"
# From <linux/if_tun.h>.
_TUNSETIFF: Final = 0x400454CA
_IFF_TAP: Final = 0x0002
_IFF_NO_PI: Final = 0x1000
_IFF_MULTI_QUEUE: Final = 0x0100
# The kernel's queue to the virtual machine; frames that find it full are dropped and counted.
QUEUE_FRAMES: Final = 1000


@contextmanager
def tap(tester: NetnsTransport, name: str, mac: str, *, number: int, queues: int, mtu: int) -> Iterator[list[int]]:
    """Has a tap `name` in the namespace of `tester` within the context, and yields a descriptor for each of its queues.

    `number` is another one for each of a process's taps.
    """
    # Another name until it is in its namespace, where nothing else has the name.
    first_name = f"nx{Owner.current().pid}-{number}"
    flags = _IFF_TAP | _IFF_NO_PI | (_IFF_MULTI_QUEUE if queues > 1 else 0)
    with ExitStack() as stack:
        descriptors = []
        for _ in range(queues):
            descriptor = os.open(TUN, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            stack.callback(os.close, descriptor)
            fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", first_name.encode(), flags))
            descriptors.append(descriptor)
        run_program(["ip", "link", "set", first_name, "netns", tester.namespace, "name", name])
        settings = ["address", mac, "mtu", str(mtu), "txqueuelen", str(QUEUE_FRAMES)]
        tester.run(["ip", "link", "set", name, *settings])
        tester.run(["ip", "link", "set", name, "up"])
        yield descriptors
