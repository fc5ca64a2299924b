# SPDX-License-Identifier: Apache-2.0
"""Truths about faults: the tester must count them as what they are, and never hide its own failures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from natxy.calibration.case import Case, Expected, exactly, within
from natxy.calibration.scale import Scale
from natxy.calibration.stall import STALL_S
from natxy.results.trials import TrialKind

LOST_EVERY: Final = 100
DUPLICATED_EVERY: Final = 10
# The gateway holds a frame for so long if no other overtakes it.
LONGEST_HOLD_S: Final = 0.1
WRONG_EVERY: Final = 50
# The gateway goes on counting from trial to trial.
_WHY_COUNT: Final = "a trial may begin at any frame of the gateway's count"


def faults(scale: Scale) -> Iterator[Case]:
    frames = round(scale.delays_fps * scale.trial_s)
    lost = frames // LOST_EVERY
    wrong = frames // WRONG_EVERY
    yield _traffic(
        scale, "duplicates", "Duplicates and loss",
        {"loss": LOST_EVERY, "duplicate_every": DUPLICATED_EVERY},
        {"lost": _of_both(lost), "duplicate": _of_both((frames - lost) // DUPLICATED_EVERY)},
    )  # fmt: skip
    yield _wrong_ports(scale, frames, wrong)
    yield _traffic(
        scale, "wrong-checksums", "Wrong checksums", {"corrupt_checksum_every": WRONG_EVERY},
        {"corrupt": _of_both(wrong), "received": _of_both(frames - wrong)},
    )  # fmt: skip
    yield _traffic(
        scale, "reordering", "Reordering", {"reorder": {"every": WRONG_EVERY}},
        {"reordered": _of_both(wrong), "lost": exactly(0)},
        timing={"drain": 2 * LONGEST_HOLD_S},
    )  # fmt: skip
    rate_cps = scale.connections_cps
    yield Case(
        "not-established", "Connections forwarded but not established",
        {"mode": "nat", "without_state_every": LOST_EVERY},
        {
            "procedure": "validated-connection-rate",
            "connections": scale.connections,
            "search": {"min_rate": rate_cps, "max_rate": rate_cps},
        },
        counts={
            (TrialKind.PHASE1, "lost"): exactly(0),
            (TrialKind.VALIDATE, "lost"): exactly(scale.connections // LOST_EVERY),
        },
    )  # fmt: skip
    yield from _of_tcp(scale, frames)
    yield Case(
        "stalled-tester", "Tester stopped during a trial",
        # The buffer is too small for the burst of frames that became due in the meantime.
        {"max_rate": 2 * scale.delays_fps, "buffer_frames": round(scale.delays_fps * STALL_S / 10)},
        _at(scale.delays_fps) | {"max_invalid": 2, "timing": {"trial": 6 * STALL_S}},
        stalled=True,
    )  # fmt: skip


def _of_tcp(scale: Scale, frames: int) -> Iterator[Case]:
    """Each fault is lost segments of one step, but a wrong sequence number, which makes a segment corrupt."""
    rate_cps, connections = scale.connections_cps, scale.connections
    lives: dict[str, Any] = {
        "procedure": "tcp-connection-rate", "protocol": "tcp", "connections": connections,
        "search": {"min_rate": rate_cps / 10, "max_rate": rate_cps / 10},
    }  # fmt: skip
    lost = connections // LOST_EVERY
    yield Case(
        "lost-syn-acks", "SYN-ACKs lost", {"mode": "nat", "tcp": {"drop_syn_ack_every": LOST_EVERY}}, lives,
        counts={(TrialKind.LIVES, "lost"): exactly(lost)},
    )  # fmt: skip
    yield Case(
        "forgotten-at-fin", "Connections forgotten at the first FIN", {"mode": "nat", "forgets_on_fin": True}, lives,
        counts={(TrialKind.LIVES, "lost"): exactly(connections)},
    )  # fmt: skip
    yield Case(
        "answered-by-rst", "SYNs answered by an RST", {"mode": "nat", "tcp": {"reset_every": LOST_EVERY}},
        lives | {"procedure": "connection-rate"},
        counts={(TrialKind.PHASE1, "lost"): exactly(lost), (TrialKind.PHASE1, "tcp"): exactly(lost)},
    )  # fmt: skip
    wrong = frames // WRONG_EVERY
    yield Case(
        "wrong-sequence", "Sequence numbers off by one", {"tcp": {"shift_sequence_every": WRONG_EVERY}},
        _at(scale.delays_fps) | {"protocol": "tcp"},
        counts={
            (TrialKind.TRAFFIC, "corrupt"): _of_both(wrong),
            (TrialKind.TRAFFIC, "received"): _of_both(frames - wrong),
        },
    )  # fmt: skip


def _wrong_ports(scale: Scale, frames: int, wrong: int) -> Case:
    """Uses so few connections that each is established with its right port, which later frames have to keep."""
    rate_fps, wrong_ports = scale.delays_fps, {"wrong_port_every": WRONG_EVERY}
    return Case(
        "wrong-ports", "Wrong ports", {"mode": "nat", "forward": wrong_ports, "reverse": wrong_ports},
        _at(rate_fps) | {"connections": WRONG_EVERY - 1, "phase1_rate": rate_fps},
        counts={
            (TrialKind.TRAFFIC, "misrouted"): _of_both(wrong),
            (TrialKind.TRAFFIC, "received"): _of_both(frames - wrong),
        },
    )  # fmt: skip


def _traffic(
    scale: Scale, name: str, title: str, both: dict[str, Any], counts: dict[str, Expected], **experiment: Any
) -> Case:
    return Case(
        name, title, {"forward": both, "reverse": both}, _at(scale.delays_fps) | experiment,
        counts={(TrialKind.TRAFFIC, each): expected for each, expected in counts.items()},
    )  # fmt: skip


def _at(rate_fps: float) -> dict[str, Any]:
    """Returns a search of a single step."""
    return {"procedure": "throughput", "search": {"min_rate": rate_fps, "max_rate": rate_fps}}


def _of_both(frames: int) -> Expected:
    return within(2 * frames, 2, _WHY_COUNT)
