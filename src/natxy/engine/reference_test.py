# SPDX-License-Identifier: Apache-2.0
"""Tests the client against a small stand-in for natxy-reference."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from natxy.engine.messages.reference import Exactness, GatewayRestart
from natxy.engine.reference import ReferenceClient
from natxy.errors import DutError

PRELUDE = """
import json, sys
def receive(): return json.loads(sys.stdin.readline() or sys.exit(0))
def send(**message): print(json.dumps({"jsonrpc": "2.0"} | message), flush=True)
"""


@contextmanager
def reference(folder: Path, script: str) -> Iterator[ReferenceClient]:
    file = folder / "reference.py"
    file.write_text(PRELUDE + textwrap.dedent(script))
    client = ReferenceClient([sys.executable, str(file)], silence_s=5)
    try:
        yield client
    finally:
        client.close()


def test_a_restart_says_how_long_it_takes(tmp_path: Path) -> None:
    asked = tmp_path / "asked"
    script = f"""
        request = receive()
        with open({str(asked)!r}, "w") as file:
            json.dump(request, file)
        send(id=request["id"], result={{}})
        receive()
        """
    with reference(tmp_path, script) as client:
        client.restart(GatewayRestart(duration_s=0.25))
    request = json.loads(asked.read_text())
    assert (request["method"], request["params"]) == ("gateway.restart", {"duration_s": 0.25})


def test_a_table_that_is_emptied_and_counted(tmp_path: Path) -> None:
    script = """
        send(id=receive()["id"], result={"cleared": 7})
        send(id=receive()["id"], result={"connections": 0})
        receive()
        """
    with reference(tmp_path, script) as client:
        assert client.clear_table(quiet_s=1).cleared == 7
        assert client.count_connections() == 0


def test_its_exactness_is_taken_and_begins_anew(tmp_path: Path) -> None:
    script = """
        request = receive()
        assert (request["method"], request["params"]) == ("gateway.exactness", {"reset": True})
        exact = {"longest_pause_ns": 7, "pauses_ns": 6, "lateness_p999_ns": 8, "lateness_max_ns": 9}
        send(id=request["id"], result=exact)
        receive()
        """
    with reference(tmp_path, script) as client:
        assert client.take_exactness() == Exactness(
            longest_pause_ns=7, pauses_ns=6, lateness_p999_ns=8, lateness_max_ns=9
        )


def test_a_death_is_told_in_its_own_words_and_without_a_log_that_will_be_gone(tmp_path: Path) -> None:
    script = """
        receive()
        print("EAL: no memory", file=sys.stderr)
        sys.exit(7)
        """
    with reference(tmp_path, script) as client, pytest.raises(DutError) as caught:
        client.count_connections()
    assert str(caught.value).endswith("Its last lines:\n  EAL: no memory")


def test_a_refusal_is_the_gateways_error(tmp_path: Path) -> None:
    script = """
        print("EAL: nothing to say", file=sys.stderr, flush=True)
        error = {"code": -32001, "message": "the gateway has collapsed"}
        send(id=receive()["id"], error=error)
        receive()
        """
    with reference(tmp_path, script) as client, pytest.raises(DutError) as caught:
        client.clear_table(quiet_s=0)
    assert "natxy-reference refused table.clear: the gateway has collapsed" in str(caught.value)
    assert "EAL: nothing to say" in str(caught.value)


def test_its_death_is_the_gateways_error(tmp_path: Path) -> None:
    with reference(tmp_path, "receive(); sys.exit(3)") as client, pytest.raises(DutError, match=r"exit code 3"):
        client.count_connections()


def test_a_reply_that_does_not_fit(tmp_path: Path) -> None:
    script = "send(id=receive()['id'], result={'many': 1}); receive()"
    with (
        reference(tmp_path, script) as client,
        pytest.raises(DutError, match=r"an invalid reply to table\.count"),
    ):
        client.count_connections()
