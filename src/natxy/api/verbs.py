# SPDX-License-Identifier: Apache-2.0
"""Offers what a verb of another distribution needs to print, to end and to complete its arguments as natxy's own do.

Such a verb is an entry point of the group `natxy.verbs`: its name is the verb's, and it is a function that Typer takes.
"""

from natxy.terminal.console import echo
from natxy.terminal.errors import reported_errors
from natxy.terminal.names import drivers, runs

__all__ = ["drivers", "echo", "reported_errors", "runs"]
