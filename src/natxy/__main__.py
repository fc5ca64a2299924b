# SPDX-License-Identifier: Apache-2.0
"""The command `natxy`, and `python -m natxy`."""

from __future__ import annotations

import signal

from natxy.system.interrupts import end_at_once


def main() -> None:
    # Importing the rest takes a while, and Ctrl-C in the midst of it would be a traceback, or be lost in a library.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, end_at_once)
    from natxy.cli import main as cli

    cli()


if __name__ == "__main__":
    main()
