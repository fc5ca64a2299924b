# SPDX-License-Identifier: Apache-2.0
"""Holds texts that are no plan, or hardly one: values that no field has, and whole files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

HEAD: Final = "name: p\ntestbed: {kind: simulated}\nexperiments:\n"
EXPERIMENT: Final = {
    "name": "x",
    "procedure": "throughput",
    "gateway": "simulated",
    "search": "{max_rate: 1M}",
}
TENFOLD: Final = "\n".join(
    [
        "a: &a [x, x, x, x, x, x, x, x, x, x]",
        *(f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]" for a, b in zip("abcdefg", "bcdefgh", strict=True)),
    ]
)
VALUES: Final = [
    "9" * 400, "9" * 5000, f"-{'9' * 400}", "1" * 39, "0x" + "f" * 36, "1e308", "1e-320", ".inf", "-.inf", ".nan",
    "-1", "0", "-0.0", "1_0", "1:30", "!!int x", "!!float x", "!!bool x", "!!null x", "!!timestamp x", "!!str 5",
    "!!str [a]", "!!seq x", "!!map x", "!!python/object:os.system [x]", "!!python/object/apply:os.system [x]",
    "!!python/name:os.system", "!!binary aGVsbG8=", "!!set {a, b}", "!!omap [a: b]", "!x y", "!", "2026-02-31",
    "2026-02-28", "2026-02-28T25:61:61", "null", "~", "''", "[]", "{}", "[[]]", "[{a: 1}]", "{a: 1}", "{1: 2}",
    "{null: 3}", "{[a]: 3}", "{{a: b}: 3}", "{<<: 3}", "{<<: {a: 1}}", "[null]", "[1, 1]", "true", "y", "'%'", "50%",
    "-5%", "1000%", "'\\0'", '"\\0"', '"\\ud800"', '"\\e[31mred"', "lab", "simulated", "throughput",
    "[throughput, throughput]", "1M", "[1k, 1M]", "1k-1M", "{min: 1}", "{rate: 1k}", "{experiment: x}",
    "{experiment: x, percent: 50}", "198.18.0.0/15", "2001:db8::/32", "::/0", "{kind: binary, error: 1e-30}",
    "{driver: simulated, forwarding_fps: 1e-3}", "{preset: lab, trial: 1ns}", "*a", "*h",
]  # fmt: skip


def with_fields(**fields: str) -> str:
    """Returns a plan with one experiment that has these fields, as YAML."""
    written = ", ".join(f"{name}: {text}" for name, text in (EXPERIMENT | fields).items())
    return f"{HEAD}  - {{{written}}}\n"


def _fields() -> Iterator[tuple[str, str]]:
    """Yields plans with one field that is wrong in a way of its own."""
    for name, field in {
        "400 digits": {"connections": "9" * 400},
        "5000 digits in a range": {"ports": f"{{source: '{'9' * 5000}-{'9' * 5000}'}}"},
        "400 digits as a rate": {"search": f"{{max_rate: {'9' * 400}}}"},
        "40 digits of microseconds": {"timing": f"{{trial: {'9' * 40}us}}"},
        "no whole number": {"ttl": "!!int x"},
        "an impossible date": {"title": "2026-02-31"},
        "a Python object as a rate": {"search": "{max_rate: !!python/object:os.system [x]}"},
        "a mapping in a swept list": {"frame_size": "[{a: 1}, 64]"},
        "a list in a swept list": {"connections": "[[1, 2], 3]"},
        "a rate close to nothing": {"search": "{max_rate: 1e-320}"},
        "a rate that is none": {"search": "{max_rate: .nan}"},
        "an endless rate": {"search": "{max_rate: .inf}"},
        "half of a character": {"title": '"\\ud800"'},
        "an escape sequence": {"title": '"\\e]0;owned\\a"', "gateway": '"\\e[31mred"'},
        "an escape sequence as a field": {'"\\e[31mred"': "1"},
        "a very long value": {"gateway": "x" * 50_000},
        "a very long field": {"x" * 900: "1"},
        "a very long key": {f"? {'x' * 50_000}\n    ": "1"},
        "a sweep of ten lists": {
            name: "[" + ", ".join(map(str, range(1, 101))) + "]" for name in ("ttl", "flows", "connections", "cores")
        },
        "ten thousand frame sizes": {"frame_size": "[" + "64, " * 10_000 + "64]"},
        "all IPv6 networks": {
            "addresses": "{left: {dut: '::1/64', tester: '::2/64', behind: ['::/0'], networks: 65536}}",
            "family": "ipv6",
        },
        "a network of everything": {"addresses": "{left_hosts: 0.0.0.0/0, right_hosts: '::/0'}"},
        "65,000 lists of addresses": {"addresses": f"{{left_hosts: [{', '.join(['198.18.0.0/24'] * 5000)}]}}"},
        "a baseline with a NUL": {"expect": '{no_worse_than: {baseline: "\\0", by: 5%}}'},
        "a baseline of 5000 characters": {"expect": f"{{no_worse_than: {{baseline: {'x' * 5000}, by: 5%}}}}"},
        "a baseline that is a device": {"expect": "{no_worse_than: {baseline: /dev/zero, by: 5%}}"},
        "a published table that is a path": {"published": "../../../etc/passwd"},
        "a command with a NUL": {"gateway": '{driver: command, apply: [["\\0"]]}'},
        "an empty command": {"gateway": "{driver: command, apply: [[]]}"},
        "commands that are numbers": {"gateway": "{driver: command, apply: [[1, null, {}]]}"},
        "a billion repetitions": {"repeat": "1_000_000_000"},
        "a very small precision": {"repeat": "{until: 1e-30%, at_most: 3}"},
        "a mapping without an end": {"search": "{max_rate: 1M"},
    }.items():
        yield name, with_fields(**field)


def _files() -> Iterator[tuple[str, str | bytes]]:
    """Yields whole files."""
    plan = with_fields()
    yield "nothing", ""
    yield "white space", " \n\t\n"
    yield "a comment", "# nothing\n"
    yield "a word", "plan"
    yield "a list", "- name: p\n"
    yield "a number", "1\n"
    yield "two documents", f"{plan}---\n{plan}"
    yield "a document's end", f"{plan}...\nmore\n"
    yield "a later YAML", f"%YAML 9.9\n---\n{plan}"
    yield "a directive", f"%TAG ! tag:example.com,2000:\n---\n{plan.replace('simulated}', '!x simulated}')}"
    yield "a NUL", plan.replace("name: p", "name: p\0")
    yield "a bell", plan.replace("name: p", "name: 'p\a'")
    yield "UTF-16", plan.encode("utf-16")
    yield "UTF-8 with a byte order mark", plan.encode("utf-8-sig")
    yield "Latin-1", plan.replace("name: x", "name: x, title: \xe9").encode("latin-1")
    yield "bytes that are no text", bytes(range(256))
    yield "carriage returns", plan.replace("\n", "\r")
    yield "other ends of lines", plan.replace("\n", "\u2028")
    yield "a field twice", plan + "name: q\n"
    yield "an alias of aliases", f"{TENFOLD}\nname: *h\nexperiments: *h\n"
    chain = "\n".join(f"a{number}: &a{number} [*a{number - 1}]" for number in range(1, 2000))
    yield "aliases that nest", f"a0: &a0 x\n{chain}\nname: *a1999\n"
    yield "an alias inside its own anchor", f"{plan}defaults: &x {{<<: *x}}\n"
    merges = "\n".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, 9))
    yield "merges of merges", f"m0: &m0 {{a: 1}}\n{merges}\n{plan}defaults: *m8\n"
    yield "an unknown alias", f"{plan}defaults: *nobody\n"
    yield "lists within lists", f"name: p\nexperiments:\n  {'[' * 20_000}\n"
    yield "items within items", f"name: p\nexperiments:\n  {'- ' * 20_000}\n"
    yield "mappings within mappings", f"name: p\nexperiments:\n  {'{a: ' * 20_000}\n"
    yield "keys within keys", f"name: p\nexperiments:\n  {'? ' * 20_000}\n"
    yield "a string that never ends", plan + 'description: "' + "x" * 50_000
    yield "a name of 50,000 characters", plan.replace("name: p", f"name: {'x' * 50_000}")
    wrong = "  - {name: x, procedure: nothing, gateway: nobody, search: 5}\n"
    yield "a thousand wrong experiments", HEAD + wrong * 1000
    yield "a thousand unknown fields", plan + "".join(f"f{number}: 1\n" for number in range(1000))
    yield "a thousand empty experiments", HEAD + "  - {}\n" * 1000
    yield "a thousand experiments of one name", HEAD + plan.removeprefix(HEAD) * 300
    yield "a core that no machine has", plan.replace("kind: simulated", "kind: lab, tester_cores: [999999999999999]")
    yield (
        "an interface that is a path",
        plan.replace(
            "kind: simulated",
            "kind: hardware, left: {interface: ../x}, right: {interface: y}, dut: {left: a, right: b}",
        ),
    )
    yield (
        "an interface with a NUL",
        plan.replace(
            "kind: simulated",
            'kind: hardware, left: {interface: "\\0"}, right: {interface: y}, dut: {left: a, right: b}',
        ),
    )


PLANS: Final[dict[str, bytes]] = {
    name: text if isinstance(text, bytes) else text.encode() for name, text in (*_fields(), *_files())
}
