# SPDX-License-Identifier: Apache-2.0
"""`natxy watch`: serves a page that shows a run or a campaign while it measures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from natxy.cli.completion import runs_and_campaigns
from natxy.installation import ExtraMissingError
from natxy.terminal.console import Console
from natxy.terminal.errors import reported_errors

# The number of the RFC that most procedures are from.
_PORT: Final = 8219


def watch(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="The folder of a run or a campaign.",
            autocompletion=runs_and_campaigns,
            show_default=False,
        ),
    ],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on 127.0.0.1; 0: any free one.")] = _PORT,
) -> None:
    """Serve a web page of a run or a campaign.

    The page shows a run while it measures, and afterwards. It is served on this machine until Ctrl-C. Its address
    contains a secret, so that only those who were given it see the page. From another machine, reach it through
    `ssh -L 8219:127.0.0.1:8219 TESTER`. Nothing is written into the folder.
    """
    with reported_errors():
        try:
            # An installation has them only as an extra.
            from natxy.watch.page.server import LOOPBACK, application, bound, serve
        except ModuleNotFoundError as error:
            raise ExtraMissingError("`natxy watch`", "watch") from error
        from natxy.watch.page.address import token_of

        token = token_of(folder)
        app = application(folder, token)
        with bound(port) as listening:
            number = listening.getsockname()[1]
            Console(soft_wrap=True).print(f"http://{LOOPBACK}:{number}/{token}/")
            serve(app, token, listening)
