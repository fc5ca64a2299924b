# SPDX-License-Identifier: Apache-2.0
"""Serves the page of a run or a campaign on the loopback interface, and sends what changes to everyone who looks."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Final

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response, StreamingResponse
from starlette.routing import Route

from natxy.campaign import LOG_FILE
from natxy.errors import PlanError
from natxy.untrusted.files import ForeignFolder
from natxy.watch.page.campaign import CampaignView
from natxy.watch.page.run import RunView
from natxy.watch.page.shell import OTHER_PAGES, View, charts_script, other_pages, page, problem, script
from natxy.watch.page.strangers import protocol_for

LOOPBACK: Final = "127.0.0.1"
# Reading and drawing take CPU time from a measurement on the same machine.
REFRESH_S: Final = 1.0
# A line of its own now and then shows the server that a viewer is gone.
_QUIET_S: Final = 15.0
_AT_ONCE: Final = 64
_CLOSING_S: Final = 0.05
_CHUNK: Final = 1 << 18
# Below all that measures, and above what only fills idle time.
_NICE: Final = 10
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
# These pages have policies of their own, unless somebody else wrote them.
_OF_THE_FOLDER: Final = _HEADERS | {
    "Content-Security-Policy": "sandbox allow-scripts allow-downloads; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
}


class OwnCores:
    """Keeps this process off cores that measure."""

    def __init__(self) -> None:
        self._allowed = frozenset(os.sched_getaffinity(0))

    def keep_off(self, cores: frozenset[int]) -> None:
        """Lets this process run on all the cores that it began with except these, or if none is left, on all."""
        os.sched_setaffinity(0, self._allowed - cores or self._allowed)


class Viewed:
    """Sends a view to any number of viewers: it is read and drawn once for all of them, and only while one looks.

    The one of a campaign knows all cores that measure, and is read whenever someone looks at a run of it.
    """

    def __init__(self, view: View, folder: ForeignFolder, campaign: Viewed | None = None) -> None:
        self._view = view
        self._campaign = campaign
        self._own_cores = None if campaign else OwnCores()
        self._folder = folder
        self._parts: dict[str, str] = {}
        self._others: Sequence[str] = ()
        self._drawn = False
        self._read_at = -math.inf
        if self._own_cores:
            self._own_cores.keep_off(view.tester_cores)

    def page(self) -> Response:
        self._refresh()
        return HTMLResponse(page(self._view, self._parts), headers=_HEADERS)

    def other(self, name: str) -> Response:
        try:
            file = self._folder.opened(name)
        except OSError:
            return Response("this page has not been written", status_code=404, headers=_HEADERS)
        return StreamingResponse(_chunks(file), media_type="text/html", headers=_OF_THE_FOLDER)

    def events(self) -> Response:
        return StreamingResponse(self._stream(), media_type="text/event-stream", headers=_HEADERS)

    async def _stream(self) -> AsyncIterator[str]:
        """Yields every part at first, and then those that have changed (server-sent events)."""
        sent: dict[str, str] = {}
        sent_at = time.monotonic()
        while True:
            self._refresh()
            # A viewer that is slow suspends this loop, and the parts may change meanwhile.
            now = self._parts
            for name, part in now.items():
                if sent.get(name) != part:
                    yield f"event: {name}\ndata: {part}\n\n"
                    sent_at = time.monotonic()
            sent = now
            if time.monotonic() - sent_at > _QUIET_S:
                yield ": still here\n\n"
                sent_at = time.monotonic()
            await asyncio.sleep(REFRESH_S)

    def _refresh(self) -> None:
        """Reads and draws what has been written since, at most once in a while, whoever of the viewers asks first."""
        if time.monotonic() - self._read_at < REFRESH_S:
            return
        self._read_at = time.monotonic()
        if self._campaign:
            self._campaign._refresh()
        # They are written after the last event.
        others = other_pages(self._folder)
        try:
            new = self._view.read()
            if self._own_cores:
                self._own_cores.keep_off(self._view.tester_cores)
            if new or not self._drawn or others != self._others:
                self._parts = self._view.parts()
                self._drawn, self._others = True, others
        except (PlanError, OSError) as error:
            self._parts = self._parts | {"state": problem(str(error))}
            self._drawn = False


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


class Pages:
    """Holds the page of a folder, and if that is a campaign's, those of its runs, each from when it is asked for."""

    def __init__(self, folder: Path) -> None:
        """Raises PlanError when the folder is neither a run's nor a campaign's."""
        self._folder = ForeignFolder(folder)
        self._campaign = CampaignView(self._folder) if self._folder.has(LOG_FILE) else None
        self._viewed = {"": Viewed(self._campaign or RunView(self._folder), self._folder)}

    def of(self, request: Request) -> Viewed:
        """Returns what a request's address names. Raises HTTPException (404) when that cannot be shown."""
        below = str(request.path_params.get("run", ""))
        if below not in self._viewed:
            # Other folders are nobody's business.
            if not self._campaign or below not in self._campaign.runs:
                raise HTTPException(404)
            try:
                folder = self._folder.within(below)
                self._viewed[below] = Viewed(RunView(folder), folder, self._viewed[""])
            except PlanError as error:
                raise HTTPException(404, str(error)) from error
        return self._viewed[below]


def application(folder: Path, token: str) -> Starlette:
    """Returns the server's routes, all below the token. Raises PlanError when the folder has nothing to show."""
    pages = Pages(folder)

    async def shown(request: Request) -> Response:
        return pages.of(request).page()

    async def events(request: Request) -> Response:
        return pages.of(request).events()

    async def other(request: Request) -> Response:
        return pages.of(request).other(request.url.path.rpartition("/")[2])

    endpoints = {"": shown, "page.js": _script, "charts.js": _charts_script, "events": events}
    endpoints |= dict.fromkeys(OTHER_PAGES, other)
    roots = (f"/{token}/", f"/{token}/{{run:path}}/")
    routes = [Route(root + path, to) for root in roots for path, to in endpoints.items()]
    return Starlette(routes=routes, exception_handlers={HTTPException: _nothing_here})


async def _nothing_here(_: Request, error: HTTPException) -> Response:
    return Response(
        f"{error.status_code} {error.detail}\n\nOnly the whole address that `natxy watch` printed, with its token, has "
        "something to show, and the pages that are linked there.\n",
        status_code=error.status_code,
        media_type="text/plain",
        headers=_HEADERS | {"Connection": "close"},
    )


async def _script(_: Request) -> Response:
    return Response(script(), media_type="text/javascript", headers=_HEADERS)


async def _charts_script(_: Request) -> Response:
    # The state is sent on meanwhile.
    text = await asyncio.to_thread(charts_script)
    return Response(text, media_type="text/javascript", headers=_HEADERS)


def bound(port: int) -> socket.socket:
    """Returns a socket that listens on this port of the loopback interface. Raises PlanError when it is taken."""
    listening = socket.socket()
    # The port of a server that has just ended is free again.
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((LOOPBACK, port))
        # Who reads the address may connect at once.
        listening.listen()
    except OSError as error:
        listening.close()
        raise PlanError(f"--port {port}: {error.strerror}; choose another port, or 0 for any that is free") from error
    return listening


class _Server(uvicorn.Server):  # type: ignore[misc]
    """Serves pages, and closes every connection at the end: a viewer's stream of changes never ends by itself."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        ending = asyncio.ensure_future(super().shutdown(sockets))
        while not ending.done():
            # What was accepted last may be set up only now.
            for connection in list(self.server_state.connections):
                connection.transport.abort()
            await asyncio.wait([ending], timeout=_CLOSING_S)
        await ending


def serve(app: Starlette, token: str, listening: socket.socket) -> None:
    """Serves until it is interrupted, with a low priority."""
    # It writes a traceback for each connection that finds no file descriptor free.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    os.setpriority(os.PRIO_PROCESS, 0, max(os.getpriority(os.PRIO_PROCESS, 0), _NICE))
    quiet: Any = {"log_level": "error", "access_log": False, "server_header": False}
    # As many are accepted at once, each with a file descriptor, before any of them can be closed.
    quiet["backlog"] = _AT_ONCE
    config = uvicorn.Config(app, http=protocol_for(token), ws="none", **quiet)
    _Server(config).run(sockets=[listening])
