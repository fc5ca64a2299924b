# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import os
import random
import re
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import FrameType

import pytest
from pydantic import BaseModel, TypeAdapter, field_serializer

import natxy
from natxy.system import interrupts
from natxy.system.interrupts import dumped, interrupt, interrupts_held_back, one_interrupt, serialized
from tests.support.command import HANG_S


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


def test_an_interrupt_that_a_library_discards_can_be_repeated() -> None:
    """Serializers and callbacks of C turn it into other errors, which their callers expect and pass over."""

    def discard() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt as error:
            raise ValueError("not serialized") from error

    def work() -> None:
        with one_interrupt():
            with suppress(ValueError):
                discard()
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(KeyboardInterrupt):
        work()


def test_a_clean_up_is_not_interrupted_where_it_handles_other_errors() -> None:
    done = []

    def work() -> None:
        with one_interrupt():
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                try:
                    raise OSError
                except OSError:
                    signal.raise_signal(signal.SIGINT)
                    done.append("inner")
                signal.raise_signal(signal.SIGTERM)
                done.append("outer")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["inner", "outer"]


def test_a_hangup_that_was_ignored_still_is() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with one_interrupt():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


class Slow(BaseModel):
    """A model whose serializer is Python's for a while, so that signals fall into it."""

    numbers: tuple[int, ...] = tuple(range(200))

    @field_serializer("numbers")
    def spelled(self, numbers: tuple[int, ...]) -> list[str]:
        return [str(number) for number in numbers]


@pytest.mark.parametrize("handler", [interrupt, signal.default_int_handler])
def test_no_interrupt_is_lost_in_a_serializer(handler: Callable[[int, FrameType | None], object]) -> None:
    adapter = TypeAdapter(list[Slow])
    value = Slow()
    interrupted = 0
    dice = random.Random(1)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for _ in range(3000):
            try:
                signal.setitimer(signal.ITIMER_REAL, dice.uniform(1e-6, 150e-6))
                serialized(value)
                serialized([value], adapter)
                # This thread does not notice in its sleep what the kernel gave to another thread.
                for _ in range(10_000):
                    time.sleep(0.001)
            except KeyboardInterrupt:
                interrupted += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 3000


class Discarding(BaseModel):
    """A model whose serializer sends SIGTERM to this process, and discards what that raises."""

    number: int = 1

    @field_serializer("number")
    def sent(self, number: int) -> int:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        return number


@pytest.mark.parametrize("serialize", [serialized, dumped])
def test_an_interrupt_that_a_serializer_discards_is_raised(serialize: Callable[[BaseModel], object]) -> None:
    with one_interrupt(), pytest.raises(KeyboardInterrupt):
        serialize(Discarding())


def test_an_interrupt_is_the_main_threads_alone() -> None:
    begun, over = threading.Event(), threading.Event()

    class Waiting(BaseModel):
        number: int = 1

        @field_serializer("number")
        def spelled(self, number: int) -> str:
            begun.set()
            over.wait(HANG_S)
            return str(number)

    with one_interrupt(), ThreadPoolExecutor(1) as pool:
        text = pool.submit(serialized, Waiting())
        assert begun.wait(HANG_S)
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        over.set()
        assert text.result() == '{"number":"1"}'


def test_nothing_else_serializes_models() -> None:
    own = {Path(interrupts.__file__)}
    source = {file: file.read_text() for file in Path(natxy.__file__).parent.rglob("*.py") if file not in own}
    assert [
        f"{file.name}: use `serialized` or `dumped` of system.interrupts instead of {found}"
        for file, text in source.items()
        if not file.name.endswith("_test.py")
        for found in re.findall(r"\.(?:model_)?dump_json\(|\.model_dump\((?=[^)]*mode=\"json\")|\.dump_python\(", text)
    ] == []
