# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from natxy.bundle.signature import NAMESPACE, key_of, sign, signer
from natxy.errors import PlanError
from tests.support import needs

pytestmark = needs.programs("ssh-keygen")

TEXT = b"1234  plan.yaml\n"


def made_key(folder: Path, name: str = "key", kind: str = "ed25519") -> Path:
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", folder / name], check=True)
    return folder / name


def allowing(folder: Path, *lines: tuple[str, Path]) -> Path:
    """Returns a file that allows keys under names."""
    file = folder / "allowed"
    file.write_text("".join(f"{name} {key.with_name(f'{key.name}.pub').read_text()}" for name, key in lines))
    return file


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "rsa"])
def test_a_signature_names_its_key_and_its_signer(kind: str, tmp_path: Path) -> None:
    key = made_key(tmp_path, kind=kind)
    signature = sign(TEXT, key)
    printed = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{key}.pub"], capture_output=True, text=True, check=True
    ).stdout.split()
    assert key_of(TEXT, signature) == f"{kind.upper()} key {printed[1]}"
    other = made_key(tmp_path, "other")
    assert signer(TEXT, signature, allowing(tmp_path, ("bob", other), ("alice@lab", key))) == "alice@lab"


def test_a_text_that_was_changed_has_no_signer(tmp_path: Path) -> None:
    key = made_key(tmp_path)
    signature = sign(TEXT, key)
    for text, made in ((TEXT + b" ", signature), (TEXT, b""), (TEXT, b"x" * 10_000), (TEXT, signature[:-60])):
        with pytest.raises(PlanError, match="does not fit its hashes"):
            signer(text, made, allowing(tmp_path, ("alice", key)))


def test_a_key_that_is_not_allowed_is_named(tmp_path: Path) -> None:
    signature = sign(TEXT, made_key(tmp_path))
    with pytest.raises(PlanError, match=r"signed with the ED25519 key SHA256:\S{43}, which .*allowed does not allow"):
        signer(TEXT, signature, allowing(tmp_path, ("bob", made_key(tmp_path, "other"))))
    with pytest.raises(PlanError, match="is no file; give one with lines such as"):
        signer(TEXT, signature, tmp_path / "none")


def test_a_key_for_commits_alone_signs_no_bundle(tmp_path: Path) -> None:
    key = made_key(tmp_path)
    allowed = tmp_path / "allowed"
    for spaces, allows in (("git", False), (f"git,{NAMESPACE}", True)):
        allowed.write_text(f'alice namespaces="{spaces}" {(tmp_path / "key.pub").read_text()}')
        if allows:
            assert signer(TEXT, sign(TEXT, key), allowed) == "alice"
        else:
            with pytest.raises(PlanError, match="does not allow"):
                signer(TEXT, sign(TEXT, key), allowed)
    # A signature in git's namespace does not sign a bundle.
    of_git = subprocess.run(
        ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", key], input=TEXT, capture_output=True, check=True
    )
    with pytest.raises(PlanError, match="does not fit its hashes"):
        key_of(TEXT, of_git.stdout)


def test_what_is_no_key_signs_nothing(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no key")
    for path in (tmp_path / "text", tmp_path / "none"):
        with pytest.raises(PlanError, match=r"(signs nothing: .*|is no file); give a private ssh key"):
            sign(TEXT, path)
