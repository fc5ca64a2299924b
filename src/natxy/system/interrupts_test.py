# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import signal
import threading

import pytest

from natxy.system.interrupts import interrupts_held_back


def interrupt_this_thread() -> None:
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


def test_an_interrupt_is_delayed_to_the_end_of_the_context() -> None:
    done = []

    def work() -> None:
        with interrupts_held_back():
            interrupt_this_thread()
            with interrupts_held_back():
                done.append("inner")
            done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_interrupts_are_not_delayed_afterwards() -> None:
    with interrupts_held_back():
        pass
    with pytest.raises(KeyboardInterrupt):
        interrupt_this_thread()
