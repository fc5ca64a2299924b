# SPDX-License-Identifier: Apache-2.0
"""Handles the signals that ask natxy to end, and output that nobody reads, for which Python ignores SIGPIPE."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, TYPE_CHECKING, Any, Final, NoReturn, TypeVar

if TYPE_CHECKING:
    # It takes so long to load that a signal may come meanwhile, which this module handles.
    from pydantic import BaseModel, TypeAdapter

Value = TypeVar("Value")
Result = TypeVar("Result")

INTERRUPTED: Final = 130
INTERRUPTS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_raised = 0
"""The number of times that `interrupt` has raised KeyboardInterrupt."""


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handles a signal as Python does SIGINT, in such a way that `serialized` notices it."""
    global _raised
    _raised += 1
    raise KeyboardInterrupt


def end_at_once(number: int, frame: FrameType | None) -> NoReturn:
    """Handles SIGINT before and after a verb, when there is nothing to clean up."""
    with suppress(OSError):
        os.write(2, b"natxy: interrupted\n")
    os._exit(INTERRUPTED)


def forget_the_interrupt() -> None:
    """Lets Python end with the exit code that it is given after an interrupt.

    If an interrupt leaves code that was text, as the code of dataclasses is, `python -m` ends by SIGINT, whatever is
    done about the interrupt, until further text is executed.
    """
    exec("")


def forget(output: IO[str]) -> None:
    """Discards all further output, so that no write or flush at exit raises."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, output.fileno())
    os.close(nowhere)


@contextmanager
def one_interrupt() -> Iterator[None]:
    """Raises KeyboardInterrupt on SIGINT, SIGTERM or SIGHUP, and ignores further ones during the clean-up.

    If something discards the exception, which a library may do, the next signal raises it again.
    """
    # `nohup natxy run …` ignores SIGHUP from the start.
    survives_hangup = signal.getsignal(signal.SIGHUP) == signal.SIG_IGN
    heeded = [each for each in INTERRUPTS if each != signal.SIGHUP or not survives_hangup]

    def interrupt_once(number: int, frame: FrameType | None) -> None:
        if not _is_being_handled(KeyboardInterrupt):
            interrupt(number, frame)

    before = {each: signal.signal(each, interrupt_once) for each in heeded}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _is_being_handled(kind: type[BaseException]) -> bool:
    """Returns true in the clean-up after an exception of this kind, also where it led to another one."""
    error = sys.exc_info()[1]
    while error is not None and not isinstance(error, kind):
        error = error.__context__
    return error is not None


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """Delays interrupts until the context ends, so that a clean-up in the main thread is never left half done.

    Programs inherit the blocked signals: start none here that outlives the context.
    """
    came: list[int] = []
    handlers: dict[signal.Signals, Callable[[int, FrameType | None], Any]] = {}
    # A call that changes the mask may itself raise what came before, and has changed it then.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
        # A signal that this thread blocks goes to any other one, such as ssh's, and its handler runs in the main one.
        if threading.current_thread() is threading.main_thread():
            for each in INTERRUPTS:
                if callable(handler := signal.getsignal(each)):
                    handlers[each] = handler
                    signal.signal(each, lambda number, _: came.append(number))
        yield
    finally:
        try:
            _restore(handlers)
            for number in came[:1]:
                # This thread's mask holds it until the next line.
                signal.raise_signal(number)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _restore(handlers: Mapping[signal.Signals, Callable[[int, FrameType | None], Any]]) -> None:
    """Restores handlers, also if those that are restored first raise what other threads got meanwhile."""

    def restore() -> None:
        for each, handler in handlers.items():
            signal.signal(each, handler)

    # A loop can be interrupted between two attempts.
    try:
        restore()
    finally:
        try:
            restore()
        finally:
            restore()


def dumped(value: BaseModel, **how: Any) -> dict[str, Any]:
    """Returns a model as what JSON can hold, under the same conditions as `serialized`."""
    return _uninterrupted(lambda: value.model_dump(mode="json", **how))


def serialized(value: BaseModel | Value, adapter: TypeAdapter[Value] | None = None, **how: Any) -> str:
    """Returns a model, or a value with the adapter of its type, as JSON; pydantic takes `how`.

    Raises KeyboardInterrupt for an interrupt: pydantic would turn it into a ValueError about the value, or discard it.
    """
    if adapter is not None:
        return _uninterrupted(lambda: adapter.dump_json(value, **how)).decode()  # type: ignore[arg-type]
    return _uninterrupted(lambda: value.model_dump_json(**how))  # type: ignore[union-attr]


def _uninterrupted(work: Callable[[], Result]) -> Result:
    """Returns what a library's work returns; raises KeyboardInterrupt if `interrupt` did so in the midst of it."""
    before = _raised
    try:
        result = work()
    except Exception as error:
        # Programs that use natxy as a library have Python's own handler, and pydantic keeps nothing of it but the name.
        if _was_interrupted(before) or KeyboardInterrupt.__name__ in str(error):
            raise KeyboardInterrupt from error
        raise
    if _was_interrupted(before):
        raise KeyboardInterrupt
    return result


def _was_interrupted(before: int) -> bool:
    # Handlers run in the main thread, whichever thread the kernel chose.
    return _raised != before and threading.current_thread() is threading.main_thread()
