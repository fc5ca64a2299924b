# SPDX-License-Identifier: Apache-2.0
"""Runs `ip`, and programs inside of network namespaces."""

from __future__ import annotations

import subprocess


def ip(*arguments: str, text: str | None = None) -> str:
    """Runs `ip` with `text` as its input; returns its output. Raises CalledProcessError when it fails."""
    return subprocess.run(["ip", *arguments], capture_output=True, text=True, check=True, input=text).stdout


def inside(namespace: str, *argv: str, text: str | None = None) -> str:
    """Runs a program inside of a network namespace as `ip` runs it."""
    return ip("netns", "exec", namespace, *argv, text=text)
