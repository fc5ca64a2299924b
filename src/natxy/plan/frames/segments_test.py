# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.plan.frames.segments import ACK, REQUEST, RESPONSE, SYN, SYN_ACK, Conversation, Flags, Segment, Sender

INITIATOR, RESPONDER = Sender.INITIATOR, Sender.RESPONDER


def numbers(segment: Segment, data_bytes: int) -> tuple[int, int]:
    return segment.sequence.bytes(data_bytes), segment.acknowledged.bytes(data_bytes)


def test_a_handshake_takes_a_number_of_each_side() -> None:
    assert Conversation().open().said == [("syn", SYN), ("syn-ack", SYN_ACK), ("ack", ACK)]
    said = dict(Conversation().open().exchange().said)
    assert said["request"] == REQUEST
    assert numbers(said["response"], 100) == (1, 101)
    # Without a request, nothing of the initiator's is acknowledged but its SYN.
    assert dict(Conversation().open().exchange(0, 1).said)["response"] == RESPONSE


@pytest.mark.parametrize("first", Sender)
def test_each_side_may_close_first(first: Sender) -> None:
    said = Conversation().open().exchange(2, 3).close(first).said
    assert [name for name, _ in said[3:]] == [
        "request 1 of 2", "request 2 of 2", "response 1 of 3", "response 2 of 3", "response 3 of 3",
        "fin", "second fin", "last ack",
    ]  # fmt: skip
    fin, second, last = (segment for _, segment in said[-3:])
    assert (fin.sender, second.sender, last.sender) == (first, first.other, first)
    assert numbers(last, 10) == (numbers(fin, 10)[0] + 1, numbers(second, 10)[0] + 1)
    assert last.flags == Flags.ACK


def test_the_initiator_resets_behind_what_it_has_sent() -> None:
    name, reset = Conversation().open().exchange().reset().said[-1]
    assert (name, reset.sender, numbers(reset, 10)) == ("reset", INITIATOR, (11, 11))


@given(
    st.lists(st.tuples(st.sampled_from(Sender), st.sampled_from([Flags.DATA, Flags.ACK]))),
    st.integers(min_value=0, max_value=1500),
)
def test_each_segment_acknowledges_all_that_was_sent(turns: list[tuple[Sender, Flags]], data_bytes: int) -> None:
    talk = Conversation().open()
    for sender, flags in turns:
        talk.say("turn", sender, flags)
    sent = {INITIATOR: 0, RESPONDER: 0}
    for _, segment in talk.said:
        acknowledged = 0 if segment.flags == Flags.SYN else sent[segment.sender.other]
        assert numbers(segment, data_bytes) == (sent[segment.sender], acknowledged)
        sent[segment.sender] += (data_bytes if segment.has_data else 0) + (segment.flags in {Flags.SYN, Flags.SYN_ACK})
