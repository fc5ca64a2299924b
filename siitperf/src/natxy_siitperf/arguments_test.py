# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest

from natxy.plan.model.terms import Family
from natxy_siitperf.arguments import ArgumentError, Arguments, Phase1, ignored, parse_arguments
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from tests.support.siitperf_confs import conf_text

STATELESS = "84 1000 10 2000 2 2"
STATEFUL = f"{STATELESS} 4000 4000 1000 500 5000"


def parsed(given: str, name: str = "siit", program: Program = Program.THROUGHPUT, **changed: str | None) -> Arguments:
    return parse_arguments(program, given.split(), parse_conf(conf_text(name, **changed)))


def said(given: str, program: Program = Program.THROUGHPUT) -> list[str]:
    return [*ignored(program, given.split(), parse_conf(conf_text("siit")))]


def test_arguments_of_each_program() -> None:
    assert parsed(STATELESS) == Arguments(Program.THROUGHPUT, 84, 1000, 10, 2000, 2, 2)
    assert parsed(STATELESS).frames == 10_000
    assert parsed(STATELESS).sent_size(Family.IPV4) == 64
    assert parsed(STATEFUL, "nat64").phase1 == Phase1(4000, 4000, 1000, 500, 5000)
    latency = parsed(f"{STATELESS} 5 500", program=Program.LATENCY)
    assert (latency.delay_s, latency.timestamps) == (5, 500)
    assert parsed(f"{STATEFUL} 100", "nat64", Program.PDV).frame_timeout_ms == 100


def test_a_number_is_read_up_to_what_is_none_and_siitperf_tp_ignores_surplus_arguments() -> None:
    assert parsed("84x 1000 10 2000 2 2 and more").size == 84
    assert said("84x 1k 10 2000 2 2 and more") == [
        "size is '84x': siitperf reads 84 and ignores 'x', and so does natxy",
        "rate is '1k': siitperf reads 1 and ignores 'k', and so does natxy",
        "siitperf ignores what comes after m, and so does natxy: 'and more'",
    ]
    assert not said(STATELESS)
    assert not said(f"{STATELESS} 5 500", Program.LATENCY)
    with pytest.raises(ArgumentError, match="8 arguments, expected 7"):
        parsed(f"{STATELESS} 0 0", program=Program.PDV)


@pytest.mark.parametrize(("n", "m", "made"), [(2, 2, 4000), (2, 1, 2000), (10, 7, 2800), (3, 9, 4000)])
def test_foreground_of_phase1(n: int, m: int, made: int) -> None:
    arguments = parsed(f"84 1000 10 2000 {n} {m} 4000 1 1000 500 5000", "nat64", Responder_tuples="0")
    assert arguments.foreground_of_phase1 == made


@pytest.mark.parametrize(("n", "m", "made"), [(2, 2, 403), (10, 7, 283), (3, 0, 0), (500, 400, 400), (3, 9, 403)])
def test_foreground_is_the_beginning_of_each_cycle(n: int, m: int, made: int) -> None:
    assert parsed(f"84 403 1 200 {n} {m}").foreground == made == sum(frame % n < m for frame in range(403))


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("84 1000 10 2000 2", "5 arguments, expected 6: siitperf-tp size rate dur gto n m"),
        ("83 1000 10 2000 2 2", "size is '83', expected the size of an IPv6 frame in bytes from 84 to 1538"),
        ("1539 1000 10 2000 2 2", "size is '1539'"),
        ("1519 1000 10 2000 2 2", "size is 1519; IPv6 frames have at most 1518 bytes"),
        ("x 1000 10 2000 2 2", "size is 'x'"),
        ("84 0 10 2000 2 2", "rate is '0'"),
        ("84 14880953 10 2000 2 2", "rate is '14880953'"),
        ("84 1000 0 2000 2 2", "dur is '0', expected seconds from 1 to 3600"),
        ("84 1000 3601 2000 2 2", "dur is '3601'"),
        # Numbers that siitperf takes modulo 65536, as 4464 and 85.
        ("84 1000 10 70000 2 2", "gto is '70000', expected milliseconds from 0 to 60000"),
        ("65621 1000 10 2000 2 2", "size is '65621'"),
        ("84 1000 10 2000 1 1", "n is '1'"),
        ("84 1000 10 2000 2 -1", "m is '-1'"),
    ],
)
def test_errors_of_stateless_arguments(given: str, error: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parsed(given)
    assert str(caught.value).startswith(error)


@pytest.mark.parametrize(
    ("phase1", "error"),
    [
        ("4000 4001 1000 500 5000", "M is 4001, more than the 4000 foreground frames of phase 1"),
        ("4000 0 1000 500 5000", "M is '0'"),
        ("4000 1 1000 500 5000", "M is 1, and Responder-tuples is not 0"),
        # siitperf divides by it.
        ("4000 4000 0 500 5000", "R is '0', expected frames per second from 1 to 14880952"),
        ("4000 4000 1000 0 5000", "T is '0'"),
        ("4000 4000 1000 2001 7000", "T is '2001'"),
        ("4000 4000 1000 500 4499", "D is 4499, expected at least 1000·N/R + T, 4500"),
        ("4000001 4000 1000000 500 5000", "N makes 4000001 connections, and the ranges have 4000000 four-tuples"),
        ("4000 4000", "8 arguments, expected 11: siitperf-tp size rate dur gto n m N M R T D"),
    ],
)
def test_errors_of_stateful_arguments(phase1: str, error: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parsed(f"{STATELESS} {phase1}", "nat64")
    assert str(caught.value).startswith(error)


def test_a_product_of_more_than_32_bits_is_large_enough() -> None:
    ranges: dict[str, str | None] = {
        "Fwd_sport_min": "1024",
        "Fwd_sport_max": "65535",
        "Fwd_dport_min": "1",
        "Fwd_dport_max": "49151",
    }
    large = f"{STATELESS} 3000000000 3000000000 14880952 500 300000"
    assert parsed(large, "nat64", Program.THROUGHPUT, **ranges).foreground_of_phase1 == 3_000_000_000
    assert Arguments(Program.THROUGHPUT, 84, 14_880_952, 3600, 0, 2, 2).frames == 53_571_427_200


@pytest.mark.parametrize(
    ("program", "last", "error"),
    [
        (Program.LATENCY, "10 500", "delay is 10, expected less than dur, 10"),
        (Program.LATENCY, "0 50001", "timestamps is '50001'"),
        (Program.LATENCY, "9 1001", "timestamps is 1001, more than the frames after the delay"),
        (Program.PDV, "12000", "frame_timeout is 12000, expected less than 1000·dur + gto"),
        (Program.PDV, "", "6 arguments, expected 7"),
    ],
)
def test_errors_of_the_last_arguments(program: Program, last: str, error: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        parsed(f"{STATELESS} {last}", program=program)
    assert str(caught.value).startswith(error)
