# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import struct
from pathlib import Path

from natxy.engine.messages.common import Side
from natxy.engine.messages.results import ForeignSample
from natxy.results.pcap import PcapWriter

SAMPLE = ForeignSample(side=Side.LEFT, kind="arp", time_ns=1_700_000_000_123_456_789, data_base64="AAECAwQ=")


def test_samples_become_a_capture(tmp_path: Path) -> None:
    writer = PcapWriter(tmp_path / "foreign.pcap")
    writer.add([SAMPLE, SAMPLE])
    writer.close()
    data = (tmp_path / "foreign.pcap").read_bytes()
    # The format's version is 2.4. Times are in UTC, and 1 is Ethernet.
    assert struct.unpack_from("<IHHiIII", data) == (0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
    assert struct.unpack_from("<IIII", data, 24) == (1_700_000_000, 123_456_789, 5, 5)
    assert data[40:45] == bytes(range(5))
    assert len(data) == 24 + 2 * (16 + 5)


def test_a_capture_goes_on_after_half_a_frame(tmp_path: Path) -> None:
    file = tmp_path / "foreign.pcap"
    for cut in (0, 7, 23, 24, 30, 40, 44, 45):
        writer = PcapWriter(tmp_path / "whole.pcap")
        writer.add([SAMPLE])
        writer.close()
        whole = (tmp_path / "whole.pcap").read_bytes()
        (tmp_path / "whole.pcap").unlink()
        file.write_bytes(whole[:cut])
        writer = PcapWriter(file)
        writer.add([SAMPLE])
        writer.close()
        assert file.read_bytes() == (whole + whole[24:] if cut == len(whole) else whole)


def test_a_capture_counts_seconds_in_32_bits_and_may_have_an_empty_frame(tmp_path: Path) -> None:
    file = tmp_path / "foreign.pcap"
    late = SAMPLE.model_copy(update={"time_ns": ((1 << 32) + 5) * 10**9 + 7, "data_base64": ""})
    for expected in (1, 2):
        writer = PcapWriter(file)
        writer.add([late])
        writer.close()
        data = file.read_bytes()
        assert len(data) == 24 + 16 * expected
        assert struct.unpack_from("<IIII", data, 8 + 16 * expected) == (5, 7, 0, 0)
