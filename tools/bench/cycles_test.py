# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from tools.bench.cycles import parts

REPORT = """# Samples: 9K of event 'cycles:u'
#
#       Period|Command        |Shared Object       |Symbol
 7000         |rte-worker-1   |librte_net_null.so.23|[.] 0x00000000000017b0
 4000         |rte-worker-1   |task_bench|[.] natxy::FrameTemplate<(natxy::Family)4>::write
 3000         |task_bench     |task_bench|[.] natxy::TupleSpace<(natxy::Family)4>::at
 2000         |rte-worker-1   |task_bench|[.] natxy::TupleSpace<(natxy::Family)4>::at
 1000         |rte-worker-1   |ld-linux-x86-64.so.2|[.] __tls_get_addr
 600          |rte-worker-1   |task_bench|[.] natxy::Receiver::take_plain
 300          |rte-worker-1   |task_bench|[.] natxy::Receiver::Statistics::arrive
 100          |rte-worker-1   |task_bench|[.] natxy::Port::allocate
 90           |rte-worker-1   |task_bench|[.] natxy::receive<(natxy::Family)4>::{lambda()#1}::operator()
 10           |rte-worker-1   |[unknown]|[k] 0xffffffff815dc682

# (Tip: To show context switches)
"""


def test_cycles_are_the_workers_alone_by_part_and_frame() -> None:
    assert parts(REPORT, "send-enumerated-ipv4", 100) == {
        "the port, which gives each buffer back to its pool": 80.0,
        "writing the frame: template, fields, two checksums": 40.0,
        "the four-tuple": 20.0,
        "rest": 11.0,
    }


def test_what_the_benchmark_does_to_have_frames_is_no_part_of_receiving_them() -> None:
    assert parts(REPORT, "receive-ipv4", 100) == {
        "giving its buffer back": 80.0,
        "rest": 0.1,
        "judging it and reading its signature": 6.0,
        "its sequence number and delay": 3.0,
    }
