# SPDX-License-Identifier: Apache-2.0
"""Bounds what those can do to the page's server who do not know its token.

A connection without a whole request that has the token is a stranger's. There are few of them, each for a few seconds,
and a new one takes the place of the oldest. So a viewer, whose request follows at once, always gets through.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

from uvicorn.protocols.http.h11_impl import H11Protocol

MOST_STRANGERS: Final = 256
_LONGEST_S: Final = 5.0


def protocol_for(token: str) -> type[H11Protocol]:
    """Returns the protocol of connections to a server all of whose pages are below the token."""
    # In the order in which they came.
    strangers: dict[H11Protocol, asyncio.TimerHandle] = {}

    class Bounded(H11Protocol):  # type: ignore[misc]
        def connection_made(self, transport: asyncio.Transport) -> None:
            super().connection_made(transport)
            if len(strangers) >= MOST_STRANGERS:
                next(iter(strangers)).transport.abort()
                strangers.pop(next(iter(strangers))).cancel()
            strangers[self] = self.loop.call_later(_LONGEST_S, transport.abort)

        def handle_events(self) -> None:
            super().handle_events()
            path: Any = (self.scope or {}).get("path", "")
            if path.startswith(f"/{token}/"):
                self._is_known()

        def connection_lost(self, exc: Exception | None) -> None:
            self._is_known()
            super().connection_lost(exc)

        def _is_known(self) -> None:
            if timer := strangers.pop(self, None):
                timer.cancel()

    return Bounded
