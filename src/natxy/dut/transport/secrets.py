# SPDX-License-Identifier: Apache-2.0
"""Runs commands whose arguments refer to secrets, which are stored nowhere and are masked in what natxy shows.

`{env:NAME}` is a variable of natxy's own environment, `{file:PATH}` the content of a file on this machine without the
end of its last line.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from natxy.dut.transport.base import CompletedCommand, Transport
from natxy.errors import DutError
from natxy.untrusted.files import opened_regular

MASK: Final = "***"
_REFERENCE: Final = re.compile(r"\{(env|file):([^{}]*)\}")
_LARGEST_BYTES: Final = 1 << 16
# A shorter line of a longer secret, such as a brace, may be in any text.
_SHORTEST_LINE: Final = 8


class Secrets:
    """Resolves references when a command runs, and masks every secret that it resolved before."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def run(
        self, transport: Transport, argv: Sequence[str], *, timeout_s: float, check: bool = True
    ) -> CompletedCommand:
        """Runs a command. Its output is as the program printed it; `argv` and errors are masked.

        Raises DutError as `Transport.run` does, and for a secret that cannot be read.
        """
        resolved = [_REFERENCE.sub(self._secret, word) for word in argv]
        try:
            done = transport.run(resolved, timeout_s=timeout_s, check=check)
        except DutError as error:
            # Without the original, whose text has the secret.
            raise type(error)(self.masked(str(error))) from None
        return replace(done, argv=tuple(map(self.masked, done.argv)))

    def masked(self, text: str) -> str:
        """Returns the text without the secrets, also as `shlex` quotes them."""
        for secret in sorted(self._known, key=len, reverse=True):
            text = text.replace(secret, MASK).replace(secret.replace("'", "'\"'\"'"), MASK)
        return text

    def _secret(self, reference: re.Match[str]) -> str:
        secret = _read(reference)
        self._known |= {secret, *(line for line in secret.splitlines() if len(line) >= _SHORTEST_LINE)}
        return secret


def unreadable_secrets(argv: Sequence[str]) -> Iterator[str]:
    """Yields why references in a command cannot be resolved."""
    for reference in (found for word in argv for found in _REFERENCE.finditer(word)):
        try:
            _read(reference)
        except DutError as error:
            yield str(error)


def _read(reference: re.Match[str]) -> str:
    kind, name = reference.groups()
    if kind == "env":
        if not (secret := os.environ.get(name, "")):
            raise DutError(f"{reference[0]}: natxy's environment has no such variable, or it is empty; export it")
        return secret
    path = Path(name)
    if not path.is_absolute():
        raise DutError(f"{reference[0]}: expected an absolute path, such as {{file:/etc/natxy/token}}")
    try:
        with opened_regular(path) as file:
            content = file.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise DutError(f"{reference[0]}: the file cannot be read: {error.strerror}") from error
    try:
        secret = content.decode().removesuffix("\n")
    except UnicodeDecodeError:
        secret = ""
    if not secret or len(content) > _LARGEST_BYTES or "\0" in secret:
        raise DutError(f"{reference[0]}: expected a file with a text of at most {_LARGEST_BYTES // 1024} KiB")
    return secret
