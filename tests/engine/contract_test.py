# SPDX-License-Identifier: Apache-2.0
"""Tests that the models of requests and the engine agree: on names, on words, and on the least and greatest numbers.

The engine has no ports here, so that it refuses a request that it can read because of that.
"""

from __future__ import annotations

import json
import math
import subprocess
from collections.abc import Iterator
from typing import Any, Final, get_args, get_origin

import annotated_types
import pytest
from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from natxy.engine.messages.common import ErrorCode
from natxy.engine.messages.ports import NeighborsResolve, PortsOpen
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.program import find_engine
from natxy.plan.frames.background import LONGEST_CYCLE
from natxy.plan.model.address_ranges import MOST_ADDRESSES_LISTED
from tests.support import needs

pytestmark = needs.REFERENCE

INVALID_PARAMS: Final = -32602
Path = tuple[str | int, ...]
Fields = dict[str, Any]

ADDRESS: Final[Fields] = {"address": "198.18.0.0", "low_bit": 8, "min": 1, "max": 9, "order": "increasing"}
PORT: Final[Fields] = {"min": 1024, "max": 2047, "order": "decreasing"}
FLOWS: Final[Fields] = {
    "source_address": ADDRESS | {"others": ["198.18.128.0"]},
    "destination_address": ADDRESS | {"address": "198.19.0.0"},
    "source_port": PORT,
    "destination_port": PORT,
}
STREAM: Final[Fields] = {
    "name": "forward", "source": "left", "pair": 1, "role": "foreground", "kind": "flows",
    "frame": {"size": 128, "ttl": 9, "dont_fragment": True}, "rate_fps": 1000.0, "frames": 900, "flows": FLOWS,
    "arrives_as": "ipv6", "selection": "enumerate", "order": "increasing", "max_loss_ratio": 0.1, "max_backlog_s": 1.0,
    "frame_timeout_s": 1.0, "start_s": 1.0, "burst": 3, "tagged": {"first": 1, "stride": 2, "count": 3}, "ipdv": True,
}  # fmt: skip
BESIDE: Final[Fields] = {
    "name": "native", "source": "left", "pair": 1, "role": "background",
    "frame": {"size": 128, "form": "udp-hop-by-hop"}, "rate_fps": 1000.0, "frames": 900, "flows": FLOWS,
    "interleaved_with": "forward",
}  # fmt: skip
SUBSCRIBERS: Final[Fields] = {
    "address": "2001:db8::1", "address_mask": 255, "address_shift": 8, "psid_mask": 240,
    "psid_drop": 4, "psid_shift": 4, "address_xor": 7, "psid_xor": 16, "identifier": True,
    "ports": {"lowest": 1024, "mask": 240, "value": 16},
}  # fmt: skip
SOFTWIRE: Final[Fields] = {
    "core": "2001:db8::1", "subscribers": SUBSCRIBERS | {"psid_mask": 0, "psid_xor": 0}, "inner_address": "10.0.0.1",
    "may_lack_checksum": True, "hop_limit": 9, "traffic_class": 3, "flow_label": 5,
}  # fmt: skip
MAPPING: Final[Fields] = {
    "subscribers": SUBSCRIBERS, "prefix": "2001:db8:ffff::/64", "traffic_class": 3, "flow_label": 5,
}  # fmt: skip
# Homes with one inner address have no table.
TABLE: Final[Fields] = {"core": "2001:db8::1", "subscribers": {"address": "::"}, "table": ["2001:db8::2"]}
REPLIES: Final[Fields] = {
    "name": "reverse", "source": "right", "kind": "replies", "rate_fps": 1.0,
    "frame": {"size": [104, 128], "form": "softwire-from-core", "arrival_form": "udp", "softwire": SOFTWIRE,
              "mapping": MAPPING},
    "frames": 1, "active_connections": 5,
}  # fmt: skip
FROM_TABLE: Final[Fields] = REPLIES | {
    "name": "of a table", "frame": {"size": 104, "form": "softwire-from-core", "softwire": TABLE},
}  # fmt: skip
SYN_ACK: Final[Fields] = {"sender": "responder", "flags": "SA", "sequence": 0, "acknowledged": 1, "largest": 1460}
SEGMENTS: Final[Fields] = REPLIES | {"name": "tcp", "frame": {"size": 106, "form": "tcp-option", "segment": SYN_ACK}}
QUERIES: Final[Fields] = {
    "name": "queries", "source": "left", "rate_fps": 1.0, "frames": 1, "frame": {"size": 116},
    "flows": {
        "source_address": {"address": "2001:db8::1"}, "destination_address": {"address": "2001:db8::2"},
        "source_port": {"min": 1024, "max": 2000}, "destination_port": {"min": 53, "max": 53},
    },
    "queries": {"prefix": "64:ff9b::/96", "cached_percent": 20, "aaaa_percent": 40},
}  # fmt: skip
REQUESTS: Final[dict[str, tuple[type[BaseModel], Fields]]] = {
    "trial.run": (
        TrialRequest,
        {
            "streams": [STREAM, BESIDE, REPLIES, FROM_TABLE, SEGMENTS, QUERIES],
            "seed": 7,
            "drain_s": 1.0,
            "drain_ends_early": True,
            "ends_early": "lost",
            "limits": {"max_overrun_ratio": 0.5, "overrun_floor_s": 0.5, "max_pause_s": 0.5, "link_may_fall": True},
            "delay_histogram": True,
            "list_ports": True,
            "begin_at_ns": 5,
        },
    ),
    "neighbors.resolve": (
        NeighborsResolve,
        {
            "neighbors": [
                {
                    "side": "left",
                    "pair": 1,
                    "address": "198.18.0.2",
                    "gateway": "198.18.0.1",
                    "gateway_mac": "02:00:00:00:00:01",
                    "answers": ["198.18.0.0/16"],
                }
            ],
            "timeout_s": 1.0,
        },
    ),
    "ports.open": (
        PortsOpen,
        {
            "ports": [
                {
                    "side": side,
                    "pair": 0,
                    "device": f"net_none{side}",
                    "medium": "veth",
                    "mac": "02:00:00:00:00:01",
                    "vlan": 5,
                    "service_vlan": 6,
                    "queues": 1,
                    "mtu": 1500,
                    "send_cores": [0],
                    "receive_cores": [0],
                }
                for side in ("left", "right")
            ],
            "dut_cores": [0],
        },
    ),
}


class Engine:
    """Sends JSON to an engine without ports, and returns its refusals."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def refusal(self, method: str, params: object) -> tuple[int, str, str]:
        """Returns the code, the text and the field of the error reply."""
        assert self._process.stdin
        assert self._process.stdout
        request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            reply = json.loads(line)
            if reply.get("id") == 1:
                error = reply["error"]
                return error["code"], error["message"], (error.get("data") or {}).get("field", "")
        raise AssertionError("the engine has ended")

    def reads(self, method: str, params: object) -> bool:
        """Returns whether the engine can read the request."""
        code, *_ = self.refusal(method, params)
        return code != INVALID_PARAMS


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    argv = [str(find_engine()), "--worker-cores", "0", "--main-core", "0"]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as it:
        yield Engine(it)
        assert it.stdin
        it.stdin.close()


def accepts(model: type[BaseModel], params: object) -> bool:
    try:
        model.model_validate(params)
    except ValidationError:
        return False
    return True


def models_in(annotation: object) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [found for each in get_args(annotation) for found in models_in(each)]


def fields_of(model: type[BaseModel], given: Fields, at: Path = ()) -> Iterator[tuple[Path, FieldInfo, object]]:
    """Yields every field that a message gives, with its place and its value."""
    for name, info in model.model_fields.items():
        if name not in given:
            continue
        value = given[name]
        yield (*at, name), info, value
        for inner in models_in(info.annotation):
            items = enumerate(value) if isinstance(value, list) else [(None, value)]
            for number, item in items:
                yield from fields_of(inner, item, (*at, name) if number is None else (*at, name, number))


def changed(params: Fields, place: Path, value: object) -> Fields:
    own: Fields = json.loads(json.dumps(params))
    inner: Any = own
    for part in place[:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return own


def as_text(place: Path) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place).lstrip(".")


def bounds(info: FieldInfo) -> Iterator[tuple[float, float]]:
    """Yields the least and the greatest number that a field takes, each with one beyond it."""
    step = 1 if "int" in str(info.annotation) else 1e-9
    of_options = [each for option in get_args(info.annotation) for each in get_args(option)[1:]]
    for each in (*info.metadata, *of_options):
        for limit in each.metadata if isinstance(each, FieldInfo) else [each]:
            # A bound that is not part of its range has no last number that a float could be told from.
            assert not isinstance(limit, annotated_types.Gt) or step == 1
            for name, direction in (("ge", -1), ("gt", -1), ("le", 1), ("lt", 1)):
                bound: Any = getattr(limit, name, None)
                if bound is not None:
                    inclusive = name.endswith("e")
                    last = bound if inclusive else bound - direction * step
                    away = step if step == 1 else max(step, abs(bound) / 2)
                    yield last, (bound + direction * away if inclusive else bound)


@pytest.mark.parametrize("method", REQUESTS)
def test_a_message_with_every_field_is_read(engine: Engine, method: str) -> None:
    model, params = REQUESTS[method]
    assert accepts(model, params)
    code, text, field = engine.refusal(method, params)
    assert code in (ErrorCode.BAD_STATE, ErrorCode.PORT), (text, field)
    given = {(type_, name) for type_, name in _named(model, params)}
    every = {(inner, name) for inner in _all_models(model) for name in inner.model_fields}
    assert every - given == set(), "a field is not tried"


def _named(model: type[BaseModel], given: Fields) -> Iterator[tuple[type[BaseModel], str]]:
    for name, info in model.model_fields.items():
        if name in given:
            yield model, name
            for inner in models_in(info.annotation):
                value = given[name]
                for item in value if isinstance(value, list) else [value]:
                    yield from _named(inner, item)


def _all_models(model: type[BaseModel]) -> set[type[BaseModel]]:
    inner = {each for info in model.model_fields.values() for each in models_in(info.annotation)}
    return {model}.union(*map(_all_models, inner)) if inner else {model}


@pytest.mark.parametrize("method", REQUESTS)
def test_both_have_the_same_bounds(engine: Engine, method: str) -> None:
    model, params = REQUESTS[method]
    tried = 0
    for place, info, value in fields_of(model, params):
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        for last, beyond in bounds(info):
            tried += 1
            # What fields must have in common, the engine alone knows.
            code, text, field = engine.refusal(method, changed(params, place, last))
            reads = code != INVALID_PARAMS or field != as_text(place) or "expected a" not in text
            assert (accepts(model, changed(params, place, last)), reads) == (True, True), (place, last, text)
            code, text, field = engine.refusal(method, changed(params, place, beyond))
            refused = code == INVALID_PARAMS and field == as_text(place)
            assert (accepts(model, changed(params, place, beyond)), refused) == (False, True), (place, beyond, text)
    assert tried


@pytest.mark.parametrize("method", REQUESTS)
def test_both_have_the_same_words(engine: Engine, method: str) -> None:
    model, params = REQUESTS[method]
    for place, info, _ in fields_of(model, params):
        enums = [each for each in (info.annotation, *get_args(info.annotation)) if hasattr(each, "__members__")]
        for enum in enums:
            for word in enum.__members__.values():
                _, text, field = engine.refusal(method, changed(params, place, word.value))
                assert (field, "expected one of" in text) != (as_text(place), True), text
            code, _, field = engine.refusal(method, changed(params, place, "nonsense"))
            assert (code, field) == (INVALID_PARAMS, as_text(place))
            assert not accepts(model, changed(params, place, "nonsense"))


@pytest.mark.parametrize("method", REQUESTS)
def test_both_need_the_same_fields_and_know_no_others(engine: Engine, method: str) -> None:
    model, params = REQUESTS[method]
    for place, info, value in fields_of(model, params):
        inner = [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict)]
        for number, item in enumerate(inner):
            at = (*place, number) if isinstance(value, list) else place
            strange = changed(params, at, item | {"nonsense": 1})
            code, _, field = engine.refusal(method, strange)
            assert (code, field, accepts(model, strange)) == (INVALID_PARAMS, f"{as_text(at)}.nonsense", False)
        if info.is_required():
            missing = changed(params, place, None)
            code, text, field = engine.refusal(method, missing)
            assert (code, field, accepts(model, missing)) == (INVALID_PARAMS, as_text(place), False), text
        elif get_origin(info.annotation) and type(None) in get_args(info.annotation):
            absent = changed(params, place, None)
            _, text, field = engine.refusal(method, absent)
            assert accepts(model, absent)
            assert not (field == as_text(place) and text.endswith("is missing")), text


@pytest.mark.parametrize(("others", "reads"), [(MOST_ADDRESSES_LISTED - 1, True), (MOST_ADDRESSES_LISTED, False)])
def test_both_list_as_many_addresses(engine: Engine, others: int, *, reads: bool) -> None:
    model, params = REQUESTS["trial.run"]
    listed = {"address": "10.0.0.0", "others": [f"11.{number // 256}.{number % 256}.0" for number in range(others)]}
    request = changed(params, ("streams", 0, "flows", "source_address"), listed)
    assert (accepts(model, request), engine.reads("trial.run", request)) == (reads, reads)


@pytest.mark.parametrize(("cycle", "reads"), [(LONGEST_CYCLE, True), (LONGEST_CYCLE + 1, False)])
def test_interleaved_streams_have_as_long_a_cycle(engine: Engine, cycle: int, *, reads: bool) -> None:
    """The plan's checks refuse longer ones."""
    _, params = REQUESTS["trial.run"]
    few = next(number for number in range(2, cycle) if math.gcd(number, cycle) == 1)
    streams = [
        stream | {"frames": frames, "rate_fps": frames * 1.0, "start_s": 0, "burst": 1}
        for stream, frames in zip(params["streams"][:2], (cycle - few, few), strict=True)
    ]
    assert engine.reads("trial.run", params | {"streams": streams}) is reads
