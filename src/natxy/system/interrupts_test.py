# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import signal
import threading

import pytest

from natxy.system.interrupts import interrupts_held_back, one_interrupt


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


def test_an_interrupt_that_another_thread_gets_is_delayed_too() -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    done = []

    def work() -> None:
        with interrupts_held_back():
            # The kernel gives it to a thread that does not block it.
            os.kill(os.getpid(), signal.SIGINT)
            with interrupts_held_back():
                over.set()
                other.join()
                done.append("inner")
            done.append("outer")

    try:
        with pytest.raises(KeyboardInterrupt):
            work()
    finally:
        over.set()
        other.join()
    assert done == ["inner", "outer"]


def test_another_thread_may_hold_its_own_back() -> None:
    held = []

    def hold() -> None:
        with interrupts_held_back():
            held.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))
        held.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))

    other = threading.Thread(target=hold)
    other.start()
    other.join()
    assert held == [True, False]


def test_interrupts_are_not_delayed_afterwards() -> None:
    with interrupts_held_back():
        pass
    with pytest.raises(KeyboardInterrupt):
        interrupt_this_thread()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_one_interrupt(number: signal.Signals) -> None:
    def work() -> None:
        with one_interrupt():
            try:
                signal.raise_signal(number)
            finally:
                signal.raise_signal(number)

    # Under nohup the tests inherit that SIGHUP is ignored.
    inherited = signal.signal(number, signal.SIG_DFL)
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert signal.getsignal(number) == signal.SIG_DFL
    finally:
        signal.signal(number, inherited)


def test_a_hangup_that_was_ignored_still_is() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with one_interrupt():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)
