# SPDX-License-Identifier: Apache-2.0
"""The client of natxy-reference, which runs as a child process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError

from natxy.engine.messages.common import Message
from natxy.engine.messages.ports import EngineInfo, PortsOpen, PortsOpened
from natxy.engine.messages.reference import (
    Exactness,
    ExactnessRequest,
    GatewayApply,
    GatewayBindings,
    GatewayRestart,
    TableCleared,
    TableCount,
)
from natxy.engine.pipe import RefusedError, RpcPipe
from natxy.errors import DutError
from natxy.untrusted.values import problems

# Besides the time that a table is set to take to be emptied.
SILENCE_S: Final = 20.0

Reply = TypeVar("Reply", bound=Message)


class ReferenceClient:
    """Starts the program by `argv` and sends it requests.

    Errors quote its stderr. Every call raises DutError when the program dies or refuses.
    """

    def __init__(self, argv: Sequence[str], silence_s: float = SILENCE_S) -> None:
        self._pipe = RpcPipe(argv, name="natxy-reference", silence_s=silence_s, died=DutError)

    def info(self) -> EngineInfo:
        """Returns the program's version, cores and clock."""
        return self._call("engine.info", None, EngineInfo)

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        """Opens the DUT's ports."""
        return self._call("ports.open", request, PortsOpened)

    def apply(self, gateway: GatewayApply) -> None:
        """Makes it this gateway, with an empty table and with all sequences of faults from their start."""
        self._called("gateway.apply", gateway)

    def restart(self, request: GatewayRestart) -> None:
        """Deletes all connections and stops forwarding for the duration. Returns at once."""
        self._called("gateway.restart", request)

    def change_bindings(self, request: GatewayBindings) -> None:
        """Makes these the subscribers without a binding. Returns at once."""
        self._called("gateway.bindings", request)

    def clear_table(self, quiet_s: float) -> TableCleared:
        """Empties the table, which may take `quiet_s`."""
        return self._call("table.clear", None, TableCleared, quiet_s=quiet_s)

    def count_connections(self) -> int:
        """Returns the number of connections in the table."""
        return self._call("table.count", None, TableCount).connections

    def take_exactness(self) -> Exactness:
        """Returns the gateway's accuracy since the last call, and resets it."""
        return self._call("gateway.exactness", ExactnessRequest(reset=True), Exactness)

    def close(self) -> None:
        """Closes the ports and ends the program within 2 s. A second call does nothing."""
        self._pipe.close("ports.close")

    def _call(self, method: str, params: Message | None, reply: type[Reply], *, quiet_s: float = 0.0) -> Reply:
        result = self._called(method, params, quiet_s=quiet_s)
        try:
            return reply.model_validate(result)
        except ValidationError as error:
            raise self._pipe.death(f"sent an invalid reply to {method}: {problems(error, '')}") from error

    def _called(self, method: str, params: Message | None, *, quiet_s: float = 0.0) -> Any:
        try:
            return self._pipe.call(method, params, quiet_s=quiet_s)
        except RefusedError as refused:
            raise DutError(f"natxy-reference refused {method}: {refused.text}. {self._pipe.last_words()}") from refused
