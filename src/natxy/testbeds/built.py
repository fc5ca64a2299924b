# SPDX-License-Identifier: Apache-2.0
"""How a testbed is built and taken down."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from natxy.system.interrupts import interrupts_held_back


class BuiltTestbed(ABC):
    """A context manager: what was built is taken down in reverse, also what was built by half.

    `_stack`: of what takes it down, to be pushed before the step that it undoes.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()

    @abstractmethod
    def _build(self) -> None: ...

    def __enter__(self) -> Self:
        try:
            self._build()
        except BaseException:
            self._take_down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._take_down()

    def _take_down(self) -> None:
        with interrupts_held_back():
            self._stack.close()
