# SPDX-License-Identifier: Apache-2.0
"""Settings of the ends of MAP-T by Jool, whose releases so far lack this translator."""

from __future__ import annotations

from typing import ClassVar, Literal

from natxy.plan.gateways.map_ends import AlgorithmicMapEndModel


class JoolMaptConfig(AlgorithmicMapEndModel):
    """One end of MAP-T by Jool 4.2, of which there are release candidates alone, so that the user builds it."""

    module: ClassVar[str | None] = "jool_mapt"
    module_remedy: ClassVar = (
        "build Jool 4.2 from the branch mapt of https://github.com/NICMx/Jool (`dkms install` for the module, "
        "`make install` for the program)"
    )
    untried: ClassVar[str | None] = (
        "has never run Jool 4.2 itself, only made its commands; look at these in the first report"
    )
    # As of Jool's other translators.
    sends_zero_checksums: ClassVar[bool] = True
    driver: Literal["jool-mapt"] = "jool-mapt"
