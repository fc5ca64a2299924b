# SPDX-License-Identifier: Apache-2.0
"""Signs the hashes of a bundle with an ssh key, and tells who signed them, by `ssh-keygen -Y`.

Many people publish their ssh keys already, at GitHub for one, and everybody can check a signature without natxy.
"""

from __future__ import annotations

import os
import re
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Final

from natxy.errors import PlanError

SIGNATURE_FILE: Final = "SHA256SUMS.sig"
NAMESPACE: Final = "natxy-bundle"
"""Keeps a signature from being taken for that of something else, such as a commit."""
_GOOD: Final = re.compile(r'Good "natxy-bundle" signature (?:for \S+ )?with (\S+ key SHA256:[\w+/]{43})\s*', re.ASCII)
# A key with a passphrase asks for it.
_TIMEOUT_S: Final = 300.0


def sign(text: bytes, key: Path) -> bytes:
    """Returns the signature of a text. PlanError if the key cannot sign."""
    # Without the file, ssh-keygen may find the public key beside it.
    if key.exists() and not key.is_file():
        raise PlanError(f"--sign: {key} is no file; give a private ssh key, or a public one whose agent is running")
    done = _ssh_keygen("sign", "-f", str(key), text=text)
    if done.returncode:
        raise PlanError(
            f"{key} signs nothing: {_said(done)}; give a private ssh key, or a public one whose agent is running"
        )
    return done.stdout


def key_of(text: bytes, signature: bytes) -> str:
    """Returns kind and fingerprint of the key that made a signature. PlanError if the signature is not of the text."""
    done = _ssh_keygen("check-novalidate", text=text, signature=signature)
    found = _GOOD.fullmatch(done.stdout.decode(errors="replace"))
    if done.returncode or found is None:
        raise PlanError("its signature does not fit its hashes; one of them was changed after the bundle was signed")
    return found[1]


def signer(text: bytes, signature: bytes, allowed: Path) -> str:
    """Returns the name that a file of allowed signers, as ssh-keygen(1) describes it, gives the key of a signature.

    PlanError if the signature is not that of the text, or if no line of the file allows its key.
    """
    key = key_of(text, signature)
    if not allowed.is_file():
        raise PlanError(
            f"--allowed-signers: {allowed} is no file; give one with lines such as `name ssh-ed25519 AAAA…`"
        )
    named = _ssh_keygen("find-principals", "-f", str(allowed), signature=signature)
    for name in named.stdout.decode(errors="replace").splitlines():
        verified = _ssh_keygen("verify", "-f", str(allowed), "-I", name, text=text, signature=signature)
        if verified.returncode == 0:
            return name
    raise PlanError(f"it was signed with the {key}, which {allowed} does not allow to sign a bundle of natxy")


def _ssh_keygen(
    verb: str, *words: str, text: bytes = b"", signature: bytes | None = None
) -> subprocess.CompletedProcess[bytes]:
    memory = os.memfd_create("signature")
    with closing(os.fdopen(memory, "wb")) as file:
        file.write(signature or b"")
        file.flush()
        of = () if signature is None else ("-s", f"/proc/self/fd/{memory}")
        try:
            return subprocess.run(
                ["ssh-keygen", "-Y", verb, "-n", NAMESPACE, *words, *of], input=text, capture_output=True, check=False,
                pass_fds=(memory,), timeout=_TIMEOUT_S,
            )  # fmt: skip
        except FileNotFoundError as error:
            raise PlanError("signatures need ssh-keygen: apt install openssh-client") from error
        except subprocess.TimeoutExpired as error:
            raise PlanError(f"ssh-keygen did not end within {_TIMEOUT_S:g} s") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return (
        " ".join(done.stderr.decode(errors="replace").split()) or f"ssh-keygen ended with exit code {done.returncode}"
    )
