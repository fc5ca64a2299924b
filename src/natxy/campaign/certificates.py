# SPDX-License-Identifier: Apache-2.0
"""Makes the certificates by which a campaign, a scheduler of Dask and its workers know each other.

Whoever reaches a scheduler or a worker of Dask can run programs as its user, and each user of a machine reaches its
ports. With these certificates only those who hold the key are listened to, and nobody else can read along.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from natxy.errors import PlanError

AUTHORITY_FILE: Final = "authority.pem"
CERTIFICATE_FILE: Final = "certificate.pem"
KEY_FILE: Final = "key.pem"
_VALID_DAYS: Final = 3650
# A clock of a tester may be behind.
_EARLIER: Final = timedelta(days=1)


def make_certificates(folder: Path) -> None:
    """Makes a folder with a key, the key's certificate, and the certificate of the authority that signed both.

    The authority's key is thrown away, so that nobody can sign further certificates.

    Raises PlanError when the folder exists or cannot be made.
    """
    try:
        folder.mkdir(mode=0o700, parents=True)
    except FileExistsError as error:
        raise PlanError(f"--make-certificates {folder}: it exists; give the name of a new folder") from error
    except OSError as error:
        raise PlanError(f"--make-certificates {folder}: {error.strerror}") from error
    authority, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    signed = {
        AUTHORITY_FILE: _certificate("natxy's authority", authority, "natxy's authority", authority),
        CERTIFICATE_FILE: _certificate("natxy's campaign", own, "natxy's authority", authority),
    }
    for name, certificate in signed.items():
        _write(folder / name, certificate.public_bytes(serialization.Encoding.PEM))
    encoding = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    _write(folder / KEY_FILE, own.private_bytes(*encoding))


def _certificate(
    subject: str, key: ec.EllipticCurvePrivateKey, issuer: str, authority: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    now = datetime.now(UTC)
    is_authority = key is authority
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + timedelta(days=_VALID_DAYS))
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=0 if is_authority else None), critical=True)
        .sign(authority, hashes.SHA256())
    )


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _write(file: Path, content: bytes) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
        out.write(content)
