# SPDX-License-Identifier: Apache-2.0
"""natxy-reference as a child process, and its messages besides natxy-engine's own.

The program checks the same rules (engine/reference/). Times are in the unit of their names.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, ValidationError

from natxy.engine.messages.common import Message, Side
from natxy.engine.messages.ports import EngineInfo, PortsOpen, PortsOpened
from natxy.engine.pipe import RefusedError, RpcPipe
from natxy.errors import DutError
from natxy.plan.gateways.reference import PortChoice, RateScope
from natxy.plan.gateways.simulated import TablePolicy

IPAddress = IPv4Address | IPv6Address
IPNetwork = IPv4Network | IPv6Network

# Besides what a table is set to take for being emptied.
SILENCE_S: Final = 20.0

Reply = TypeVar("Reply", bound=Message)


class GatewayMode(StrEnum):
    FORWARD = "forward"
    NAT44 = "nat44"
    NAT66 = "nat66"
    NAT64 = "nat64"
    NAT46 = "nat46"
    SIIT = "siit"


class GatewayLink(Message):
    """`addresses`: the gateway's own on this side. `neighbors`: whom it asks for a MAC address."""

    side: Side
    addresses: list[IPAddress]
    neighbors: list[IPAddress]


class MappedHosts(Message):
    ipv4: IPv4Network
    ipv6: IPv6Network


class GatewayTranslation(Message):
    pool: IPNetwork | None = None
    port_choice: PortChoice | None = None
    prefix: IPv6Network | None = None
    mappings: list[MappedHosts] | None = None


class GatewayTable(Message):
    capacity: Annotated[int, Field(ge=1)]
    when_full: TablePolicy
    max_connection_rate_cps: float | None = None
    connection_burst: int | None = None
    without_state_every: int | None = None
    tear_down_rate_cps: float | None = None
    clear_s: float = 0.0
    flow_cost: float = 0.0


class EveryFrames(Message):
    every: int
    frames: int


class WaitingFrames(Message):
    every: int
    by: int


class ShareOfDelays(Message):
    share: float
    min_ns: int
    max_ns: int


class DirectionFaults(Message):
    loss: EveryFrames | None = None
    loss_ratio: float = 0.0
    delay: list[ShareOfDelays] | None = None
    keep_order: bool = False
    duplicate_every: int | None = None
    reorder: WaitingFrames | None = None
    corrupt_checksum_every: int | None = None
    wrong_port_every: int | None = None


class GatewayTruth(Message):
    seed: int
    max_rate_fps: float | None = None
    buffer_frames: int
    rate_scope: RateScope
    recovery_s: float
    forward: DirectionFaults
    reverse: DirectionFaults


class GatewayApply(Message):
    mode: GatewayMode
    links: list[GatewayLink]
    translation: GatewayTranslation | None = None
    table: GatewayTable | None = None
    truth: GatewayTruth


class GatewayRestart(Message):
    duration_s: float


class TableCleared(Message):
    cleared: int


class TableCount(Message):
    connections: int


class ExactnessRequest(Message):
    reset: bool


class Exactness(Message):
    """How exactly the gateway kept its truth since it was last reset. `longest_pause_ns`: between two looks at a port
    while frames flow; `pauses_ns`: all of those longer than 1 ms together. The others: how late frames left that it had
    delayed."""

    longest_pause_ns: int
    pauses_ns: int
    lateness_p999_ns: int
    lateness_max_ns: int


class ReferenceClient:
    """Starts the program with `argv`; its stderr goes to `log_path`, which need not stay: errors quote it.

    DutError when it dies or refuses.
    """

    def __init__(self, argv: Sequence[str], log_path: Path, silence_s: float = SILENCE_S) -> None:
        self._pipe = RpcPipe(
            argv, log_path, log_stays=False, name="natxy-reference", silence_s=silence_s, died=DutError
        )

    def info(self) -> EngineInfo:
        return self._call("engine.info", None, EngineInfo)

    def open_ports(self, request: PortsOpen) -> PortsOpened:
        return self._call("ports.open", request, PortsOpened)

    def apply(self, gateway: GatewayApply) -> None:
        """From then on it is this gateway, with an empty table and all sequences from their start."""
        self._called("gateway.apply", gateway)

    def restart(self, request: GatewayRestart) -> None:
        """Replies at once; nothing is forwarded for a while, and no connection is left."""
        self._called("gateway.restart", request)

    def clear_table(self, quiet_s: float) -> TableCleared:
        """`quiet_s`: how long that may take."""
        return self._call("table.clear", None, TableCleared, quiet_s=quiet_s)

    def count_connections(self) -> int:
        return self._call("table.count", None, TableCount).connections

    def take_exactness(self) -> Exactness:
        """And resets it."""
        return self._call("gateway.exactness", ExactnessRequest(reset=True), Exactness)

    def close(self) -> None:
        """Within 2 s. Can be called twice."""
        self._pipe.close("ports.close")

    def _call(self, method: str, params: Message | None, reply: type[Reply], *, quiet_s: float = 0.0) -> Reply:
        result = self._called(method, params, quiet_s=quiet_s)
        try:
            return reply.model_validate(result)
        except ValidationError as error:
            raise self._pipe.death(f"sent a reply to {method} that doesn't fit: {error}") from error

    def _called(self, method: str, params: Message | None, *, quiet_s: float = 0.0) -> Any:
        try:
            return self._pipe.call(method, params, quiet_s=quiet_s)
        except RefusedError as refused:
            raise DutError(f"natxy-reference refused {method}: {refused.text}. {self._pipe.last_words()}") from refused
