# SPDX-License-Identifier: Apache-2.0
"""Completes the bill of materials of a release, in CycloneDX's JSON, by Debian's part.

`python -m tools.package.sbom PYTHON_PART PACKAGE BUILD OUTPUT` adds to what cyclonedx-py found in the package's Python
what PACKAGE, a .deb, depends on, and what the engine's build in the folder BUILD has compiled in. Both have the
versions that are installed on this machine, where the package was built.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

# A package that is not installed here, such as one of several alternatives, has no version to name.
_FORMAT: Final = "${db:Status-Status}\t${binary:Package}\t${Version}\t${Architecture}\t${Homepage}\n"


def required(depends: str) -> list[str]:
    """Returns the names in a `Depends` field, without versions and architectures; of alternatives all."""
    return [re.split(r"[ :(]", each.strip())[0] for each in re.split("[,|]", depends)]


def headers(dependencies: str) -> set[str]:
    """Returns the files outside of the sources that were compiled in, from what `ninja -t deps` prints."""
    return set(re.findall(r"^ +(/usr/\S+)$", dependencies, re.MULTILINE))


def components(installed: str, use: str) -> Iterator[dict[str, Any]]:
    """Yields a component for each line of dpkg-query in the form `_FORMAT` whose package is installed."""
    for line in installed.splitlines():
        status, name, version, architecture, homepage = line.split("\t")
        if status != "installed":
            continue
        name = name.partition(":")[0]
        purl = f"pkg:deb/debian/{quote(name, safe='')}@{quote(version, safe='')}?arch={architecture}&distro=debian-12"
        links = {"externalReferences": [{"type": "website", "url": homepage}]} if homepage else {}
        yield {
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "properties": [{"name": "natxy:use", "value": use}],
            **links,
        }


def completed(python_part: Mapping[str, Any], root: Mapping[str, Any], debian: Iterable[dict[str, Any]]) -> Any:
    """Returns the bill with `root`'s fields in its main component, which depends on all of `debian` as well."""
    main = python_part["metadata"]["component"] | root
    added = sorted(debian, key=lambda each: str(each["bom-ref"]))
    names = [each["bom-ref"] for each in added]
    return {
        **python_part,
        "metadata": python_part["metadata"] | {"component": main},
        "components": [*python_part["components"], *added],
        "dependencies": [
            each | {"dependsOn": [*each.get("dependsOn", ()), *names]} if each["ref"] == main["bom-ref"] else each
            for each in [*python_part["dependencies"], *({"ref": name} for name in names)]
        ],
    }


def main() -> None:
    python_part, package, build, output = map(Path, sys.argv[1:])
    compiled_in = _owners(headers(_printed("ninja", "-C", str(build), "-t", "deps")))
    started = required(_printed("dpkg-deb", "--field", str(package), "Depends"))
    root = {
        "version": _printed("dpkg-deb", "--field", str(package), "Version").strip(),
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(package.read_bytes()).hexdigest()}],
    }
    debian = [
        *components(_installed(compiled_in), "compiled in"),
        *components(_installed(started), "linked or started"),
    ]
    bill = completed(json.loads(python_part.read_text(encoding="utf-8")), root, debian)
    output.write_text(json.dumps(bill, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{len(bill['components'])} components, of which {len(debian)} are Debian's")


def _owners(files: Iterable[str]) -> set[str]:
    """Returns the packages that have the files."""
    lines = _printed("dpkg-query", "--search", *sorted(files)).splitlines()
    return {name.strip() for line in lines for name in line.rpartition(": ")[0].split(",") if "diversion" not in line}


def _installed(names: Iterable[str]) -> str:
    # Names of which dpkg knows nothing make its exit code 1.
    command = ["dpkg-query", "--show", f"--showformat={_FORMAT}", *sorted(names)]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False).stdout


def _printed(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


if __name__ == "__main__":
    main()
