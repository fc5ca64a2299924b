# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

import pytest

from natxy.dut.transport.local import LocalTransport
from natxy.dut.transport.secrets import Secrets, unreadable_secrets
from natxy.errors import DutError
from natxy.system.machine_sysctls import MachineSysctls

TOKEN = 'it\'s a "secret" $TOKEN'


@pytest.fixture
def transport() -> LocalTransport:
    return LocalTransport(MachineSysctls())


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATXY_TOKEN", TOKEN)


def test_references_are_resolved_within_words(transport: LocalTransport, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("line one\n  line two\n")
    argv = [
        "printf",
        "%s|",
        "Bearer {env:NATXY_TOKEN}",
        f"{{file:{tmp_path}/key}}",
        "{env}",
        "{left}",
        "env:NATXY_TOKEN",
    ]
    done = Secrets().run(transport, argv, timeout_s=10)
    assert done.stdout == f"Bearer {TOKEN}|line one\n  line two|{{env}}|{{left}}|env:NATXY_TOKEN|"
    assert done.argv[2:4] == ("Bearer ***", "***")


@pytest.mark.parametrize(
    "script",
    ['echo "$0" >&2; exit 3', 'echo "$0"; exit 3', "exit 3", "sleep 60"],
)
def test_an_error_shows_no_secret(transport: LocalTransport, script: str) -> None:
    with pytest.raises(DutError) as error:
        Secrets().run(transport, ["sh", "-c", script, "{env:NATXY_TOKEN}"], timeout_s=0.2)
    assert TOKEN not in str(error.value)
    assert "secret" not in str(error.value)
    assert "***" in str(error.value)
    assert error.value.__suppress_context__


def test_a_program_that_is_missing_shows_no_secret_either(transport: LocalTransport) -> None:
    with pytest.raises(DutError, match=r"\*\*\* is not installed"):
        Secrets().run(transport, ["{env:NATXY_TOKEN}"], timeout_s=1)


def test_what_later_commands_print_is_masked_line_by_line(transport: LocalTransport, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("-----BEGIN\nabcdefgh\n}\n-----END--\n")
    secrets = Secrets()
    assert secrets.masked("abcdefgh }") == "abcdefgh }"
    secrets.run(transport, ["true", f"{{file:{tmp_path}/key}}"], timeout_s=10)
    assert secrets.masked("key: abcdefgh }") == "key: *** }"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("{env:NATXY_NO_SUCH}", "no such variable"),
        ("{env:}", "no such variable"),
        ("{file:token}", "absolute path"),
        ("{file:/no/such}", "No such file"),
        ("{file:/dev/zero}", "it is a device"),
        ("{file:/}", "Is a directory"),
    ],
)
def test_a_secret_that_cannot_be_read_is_named(transport: LocalTransport, word: str, reason: str) -> None:
    with pytest.raises(DutError, match=reason) as error:
        Secrets().run(transport, ["true", f"x{word}"], timeout_s=10)
    assert [*unreadable_secrets(["true", "{env:NATXY_TOKEN}", f"x{word}"])] == [str(error.value)]
    assert word in str(error.value)


@pytest.mark.parametrize("content", [b"", b"x" * (1 << 17), b"a\0b", b"\xff"])
def test_a_secret_is_a_short_text(transport: LocalTransport, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "token").write_bytes(content)
    with pytest.raises(DutError, match="expected a file with a text of at most 64 KiB"):
        Secrets().run(transport, ["true", f"{{file:{tmp_path}/token}}"], timeout_s=10)
