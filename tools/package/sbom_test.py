# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tools.package.sbom import completed, components, headers, required


def test_names_of_a_depends_field() -> None:
    assert required("libc6 (>= 2.36), python3:any (<< 3.12), mta | postfix (>= 3), procps") == [
        "libc6", "python3", "mta", "postfix", "procps",
    ]  # fmt: skip


def test_only_headers_outside_of_the_sources_are_of_packages() -> None:
    printed = (
        "a.o: #deps 3, deps mtime 1 (VALID)\n"
        "    ../../engine/a.cpp\n"
        "    /usr/include/fmt/core.h\n"
        "\n"
        "b.o: #deps 2, deps mtime 1 (VALID)\n"
        "    /usr/include/fmt/core.h\n"
        "    /usr/include/rte_ring.h\n"
    )
    assert headers(printed) == {"/usr/include/fmt/core.h", "/usr/include/rte_ring.h"}


def test_a_component_has_the_version_that_is_installed() -> None:
    lines = (
        "installed\tlibfmt9:amd64\t9.1.0+ds1-2\tamd64\thttps://fmt.example\n"
        "config-files\tpostfix\t3.7\tamd64\t\n"
        "installed\tprocps\t2:4.0.2-3\tamd64\t\n"
    )
    fmt, procps = components(lines, "linked or started")
    assert (fmt["name"], fmt["version"]) == ("libfmt9", "9.1.0+ds1-2")
    assert fmt["purl"] == "pkg:deb/debian/libfmt9@9.1.0%2Bds1-2?arch=amd64&distro=debian-12"
    assert procps["purl"] == "pkg:deb/debian/procps@2%3A4.0.2-3?arch=amd64&distro=debian-12"
    assert "externalReferences" not in procps


def test_the_main_component_depends_on_debians_too() -> None:
    python_part = {
        "metadata": {"component": {"bom-ref": "root", "name": "natxy"}},
        "components": [{"bom-ref": "rich", "name": "rich"}],
        "dependencies": [{"ref": "rich"}, {"ref": "root", "dependsOn": ["rich"]}],
    }
    debian = [{"bom-ref": "b", "name": "b"}, {"bom-ref": "a", "name": "a"}]
    bill = completed(python_part, {"version": "1"}, debian)
    assert bill["metadata"]["component"] == {"bom-ref": "root", "name": "natxy", "version": "1"}
    assert [each["name"] for each in bill["components"]] == ["rich", "a", "b"]
    assert bill["dependencies"] == [
        {"ref": "rich"}, {"ref": "root", "dependsOn": ["rich", "a", "b"]}, {"ref": "a"}, {"ref": "b"},
    ]  # fmt: skip
