# SPDX-License-Identifier: Apache-2.0
"""Mixes of frame sizes: the Internet mixes of common use, genomes (RFC 6985) and shares.

A mix is a list of sizes that repeats, so that the order of frames on the wire is exact. A genome gives the order
itself. Of shares, each size's frames are spread as evenly as possible.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import AfterValidator

from natxy.plan.frames.sizes import LONGEST_FRAME, SMALLEST_FRAME
from natxy.plan.model.terms import Family
from natxy.untrusted.validation import got

NAMED_MIXES: Final = {"imix": {64: 7, 594: 4, 1518: 1}, "imix-csit": {64: 28, 570: 16, 1518: 4}}
"""The simple mix in Ethernet frames, and that of FD.io CSIT."""

# RFC 6985 §3; its `j` (16384) and `z` (the MTU) are not here.
_GENOME: Final = {"a": 64, "b": 128, "c": 256, "d": 512, "e": 1024, "f": 1280, "g": 1518, "h": 2112, "i": 9000}
_SHARE: Final = r"(\d{1,4})\s*[x×]\s*(\d{1,5})"
_SMALLEST: Final = SMALLEST_FRAME[Family.IPV4]
MOST_FRAMES: Final = 1000
"""The most frames after which a mix repeats."""


def mix_sizes(mix: str, smallest: int) -> tuple[int, ...]:
    """Returns the sizes of a mix in the order of its frames.

    Frames of 64 bytes are replaced by the `smallest` that hold a test frame, as RFC 8219 replaces them by 84 in IPv6.
    """
    order = _spread(_shares(mix)) or tuple(_GENOME[letter] for letter in mix)
    return tuple(max(size, smallest) if size == _SMALLEST else size for size in order)


def mean_bytes(sizes: Sequence[int]) -> float:
    return sum(sizes) / len(sizes)


def sizes_text(sizes: Sequence[int]) -> str:
    """Returns `64 bytes`, or `7 × 64 + 4 × 594 + 1 × 1518 bytes (mean 361.8)`."""
    if len(sizes) == 1:
        return f"{sizes[0]} bytes"
    shares = " + ".join(f"{times} × {size}" for size, times in sorted(Counter(sizes).items()))
    return f"{shares} bytes (mean {mean_bytes(sizes):.1f})"


def _shares(mix: str) -> Mapping[int, int]:
    """Returns the number of frames of each size; none for a genome."""
    return NAMED_MIXES.get(mix) or {int(size): int(times) for times, size in re.findall(_SHARE, mix)}


def _spread(shares: Mapping[int, int]) -> tuple[int, ...]:
    """Returns the sizes of one cycle, in which the frames of each size are spread as evenly as possible."""
    common = math.gcd(*shares.values()) if shares else 1
    wanted = {size: times // common for size, times in shares.items()}
    total = sum(wanted.values())
    had = dict.fromkeys(wanted, 0)
    order = []
    for number in range(1, total + 1):
        due = max(wanted, key=lambda size: wanted[size] * number - had[size] * total)
        had[due] += 1
        order.append(due)
    return tuple(order)


def _known(given: str) -> str:
    """Returns the mix in the one way in which shares are written: the smallest size first, in the smallest numbers."""
    mix, parts = given, [part.strip() for part in given.split(",")]
    if mix in NAMED_MIXES or re.fullmatch(f"[{''.join(_GENOME)}]+", mix):
        sizes = mix_sizes(mix, _SMALLEST) if len(mix) <= MOST_FRAMES else ()
    elif all(re.fullmatch(_SHARE, part) for part in parts):
        shares = [(int(size), int(times)) for part in parts for times, size in re.findall(_SHARE, part)]
        if len({size for size, _ in shares}) < len(shares):
            raise ValueError(f"expected each size once{got(given)}")
        if any(not times or not _SMALLEST <= size <= LONGEST_FRAME for size, times in shares):
            raise ValueError(
                f"expected sizes from {_SMALLEST} to {LONGEST_FRAME} bytes, each at least once{got(given)}"
            )
        common = math.gcd(*(times for _, times in shares))
        mix = ", ".join(f"{times // common}x{size}" for size, times in sorted(shares))
        sizes = _spread(dict(shares)) if sum(times for _, times in shares) <= common * MOST_FRAMES else ()
    else:
        raise ValueError(
            f"expected {', '.join(NAMED_MIXES)}, a genome of the letters a to i (RFC 6985) such as aaaaaaabbbbg, or "
            f"shares such as 7x64, 4x594, 1x1518{got(given)}"
        )
    if len({*sizes}) == 1:
        raise ValueError(
            f"expected at least two sizes{got(given)}; put shares with commas, such as '7x64, 4x594, 1x1518', in "
            "quotes, or give `frame_size`"
        )
    if not sizes or len(sizes) > MOST_FRAMES:
        raise ValueError(
            f"expected at most {MOST_FRAMES} frames before the mix repeats; give smaller numbers in nearly the same "
            "ratio"
        )
    return mix


Mix = Annotated[str, AfterValidator(_known)]
