# SPDX-License-Identifier: Apache-2.0
"""Tables of single trials, tests between hosts, and frames that were not intact test frames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from natxy.plan.model.units import Unit, format_duration
from natxy.report.tables.table import Column, Table
from natxy.report.words import wording
from natxy.results.records import ExperimentRecord, RunRecord

# The engine's names of kinds; names that are missing here are shown word by word.
_KINDS: Final = {
    "corrupt_test": "test frame with a wrong checksum or length",
    "arp": "ARP",
    "mld": "MLD (IPv6 multicast listeners)",
    "igmp": "IGMP (IPv4 multicast listeners)",
    "lldp": "LLDP",
    "icmp_fragmentation_needed": "ICMP fragmentation needed",
    "icmpv6_packet_too_big": "ICMPv6 packet too big",
    "icmp_other": "other ICMP",
    "icmpv6_other": "other ICMPv6",
    "udp": "UDP without natxy's signature",
    "tcp": "TCP",
    "other_ipv4": "IPv4 of another protocol",
    "other_ipv6": "IPv6 of another protocol",
    "other_ethertype": "neither IPv4, IPv6 nor ARP",
    "other_vlan": "without the tag of the port's VLAN",
    "malformed": "too short, or with lengths that contradict each other",
}
_WORDS: Final = {
    "icmp": "ICMP", "icmpv6": "ICMPv6", "ipv4": "IPv4", "ipv6": "IPv6", "neighbor": "IPv6 neighbour",
    "router": "IPv6 router",
}  # fmt: skip


def trials(experiment: ExperimentRecord) -> Table:
    columns = ("Rep.", "Step", "Trial", "Rate", "Duration", "Sent", "Received", "Lost", "Verdict", "Reason")
    numeric = {"Rep.", "Step", "Rate", "Duration", "Sent", "Received", "Lost"}
    rows = tuple(
        (
            str(repetition.number), _step(trial.number, trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), format_duration(trial.duration_s), f"{trial.sent:,}",
            f"{trial.received:,}", f"{trial.lost:,}", trial.verdict.value, trial.reason,
        )
        for _, repetition, trial in experiment.all_trials
    )  # fmt: skip
    return Table("Every trial", tuple(Column(title, title in numeric) for title in columns), rows)


def host_tests(experiment: ExperimentRecord) -> Table:
    columns = ("Rep.", "Test", "Direction", "Duration", "Goodput, Mbit/s", "Retransmissions")
    rows = tuple(
        (
            str(repetition.number), str(transfer.number), transfer.direction, format_duration(transfer.duration_s),
            wording.quantity(transfer.goodput_bps, Unit.BPS), f"{transfer.retransmits:,}",
        )
        for repetition in experiment.repetitions
        for transfer in repetition.transfers
    )  # fmt: skip
    return Table("Every test", tuple(Column(title, title != "Direction") for title in columns), rows)


def undecided_trials(run: RunRecord) -> Table:
    """Lists the trials that decided nothing: invalid and disturbed ones, and phases 1 that failed."""
    columns = ("Experiment", "Repetition", "Step", "Attempt", "Trial", "Rate", "Cause", "Reason")
    numeric = {"Repetition", "Step", "Attempt", "Rate"}
    rows = tuple(
        (
            experiment.name, str(repetition.number), str(trial.number), str(trial.attempt), trial.kind.value,
            wording.number(trial.rate_fps), trial.cause.value, trial.reason,
        )
        for experiment, repetition, trial in run.all_trials
        if trial.undecided
    )  # fmt: skip
    return Table("Trials that decided nothing", tuple(Column(title, title in numeric) for title in columns), rows)


def foreign_frames(run: RunRecord) -> Table:
    total: Counter[tuple[str, str]] = Counter()
    for _, _, trial in run.all_trials:
        for port in trial.result.ports:
            for kind, frames in port.foreign.items():
                total[port.side.value, kind] += frames
    rows = tuple((side, _words(kind), f"{frames:,}") for (side, kind), frames in sorted(total.items()) if frames)
    return Table("Foreign frames", (Column("Port"), Column("Kind"), Column("Frames", numeric=True)), rows)


def corrupt_frames(run: RunRecord) -> Mapping[str, int]:
    """Counts test frames that arrived with a wrong checksum or length, by the title of the experiment."""
    total: Counter[str] = Counter()
    for experiment, _, trial in run.all_trials:
        total[experiment.title] += trial.corrupt
    return +total


def _step(step: int, attempt: int) -> str:
    return str(step) if attempt == 1 else f"{step}, attempt {attempt}"


def _words(kind: str) -> str:
    return _KINDS.get(kind) or " ".join(_WORDS.get(word, word) for word in kind.split("_"))
