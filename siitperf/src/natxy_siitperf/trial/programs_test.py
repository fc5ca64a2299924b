# SPDX-License-Identifier: Apache-2.0
"""Tests what the programs do before they need an engine."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from natxy.api.labs import CORES, DUT_MACS, FLOOR_MS, IO, LEFT, RIGHT
from natxy.engine.simulation.dut import SimulatedDut
from natxy.engine.simulation.engine import SimulatedEngine
from natxy.errors import EngineDiedError, PlanError
from natxy.locks.files import exclusive, holders
from natxy.plan.gateways.simulated import SimulatedConfig
from natxy.results.reader import RunReader
from natxy.untrusted.texts import plain
from natxy_siitperf.conf import parse_conf
from natxy_siitperf.program import Program
from natxy_siitperf.trial.neighbors import with_dut_macs
from natxy_siitperf.trial.phases import PROCEDURE, RUN, SERIES, check_variables
from natxy_siitperf.trial.ports import find_trial_ports
from natxy_siitperf.trial.programs import BROKEN, UNUSABLE, main
from natxy_siitperf.trial.trial import STRICT
from natxy_siitperf.trial.usage import VARIABLES
from tests.support.command import HANG_S
from tests.support.siitperf_confs import CONFS, conf_text

STATELESS = "84 1000 1 200 2 2"
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(tmp_path: Path, own_ledger: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Calls a program in a folder with a configuration; returns its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)

    def called(
        arguments: str | list[str], conf: str | None, program: Program = Program.THROUGHPUT
    ) -> tuple[int, str, str]:
        if conf is not None:
            Path("siitperf.conf").write_text(conf, encoding="utf-8")
        code = main(program, arguments.split() if isinstance(arguments, str) else arguments)
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return called


@pytest.mark.parametrize(
    ("arguments", "conf", "error"),
    [
        (STATELESS, None, "Error: siitperf.conf cannot be read: No such file or directory; siitperf's"),
        (STATELESS, "nonsense\n", "Error: siitperf.conf, line 1: 'nonsense' has no key of siitperf"),
        (STATELESS, conf_text("siit", IP_L_Vers="5"), "Error: siitperf.conf, line 18: IP-L-Vers: expected 4 or 6"),
        (STATELESS, conf_text("siit", CPU_L_Send=None), "Error: siitperf.conf: CPU-L-Send is missing; Forward"),
        (STATELESS, conf_text("siit", MAC_L_Tester=None), "Error: siitperf.conf: MAC-L-Tester is missing"),
        ("84 1000 1 200 2", conf_text("siit"), "Input Error: 5 arguments, expected 6"),
        ("84 0 1 200 2 2", conf_text("siit"), "Input Error: rate is '0'"),
        (STATELESS, conf_text("nat44"), "Input Error: 6 arguments, expected 11"),
        (f"{STATELESS} 10 10 0 100 2000", conf_text("nat44"), "Input Error: R is '0'"),
        ("84 1000 1 200 2 1", conf_text("router-many"), "Error: siitperf.conf: IPv6-L-Real is missing"),
    ],
)  # fmt: skip
def test_an_error_is_one_line_and_the_exit_code_255(call: Call, arguments: str, conf: str | None, error: str) -> None:
    code, out, err = call(arguments, conf)
    assert (code, out) == (UNUSABLE, "")
    assert err.startswith(error)
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("program", "order"),
    [
        (Program.THROUGHPUT, "size rate dur gto n m [N M R T D]"),
        (Program.LATENCY, "size rate dur gto n m [N M R T D] delay timestamps"),
        (Program.PDV, "size rate dur gto n m [N M R T D] frame_timeout"),
    ],
)
@pytest.mark.parametrize("asked", ["--help", "-h"])
def test_help_has_the_arguments_in_order_and_the_variables(
    call: Call, program: Program, order: str, asked: str
) -> None:
    code, out, err = call([asked], None, program)
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: {program} {order}\n")
    listed, of_environment = out.split("Variables of the environment:\n")
    assert re.findall(r"^  (\S+) ", listed, re.MULTILINE) == re.sub(r"[][]", "", order).split()
    assert re.findall(r"^  (\S+) ", of_environment, re.MULTILINE) == [*VARIABLES]
    assert out.endswith("docs/how-to/from-siitperf.md#siitperfs-programs\n")
    assert max(map(len, out.splitlines()[:-1])) <= 80


@pytest.mark.parametrize("arguments", ["84 --help", "--help 84", "", "--version"])
def test_other_calls_are_as_siitperfs(call: Call, arguments: str) -> None:
    code, out, err = call(arguments, conf_text("siit"))
    assert (code, out) == (UNUSABLE, "")
    assert err.startswith("Input Error: ")


def test_the_environment_has_the_gateways_mac_addresses(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    conf = parse_conf(conf_text("siit", MAC_L_DUT=None))
    changed = with_dut_macs(conf, {DUT_MACS: "A0:36:9f:74:73:6, a0:36:9f:74:73:07"})
    assert (changed.mac("MAC-L-DUT"), changed.mac("MAC-R-DUT")) == ("a0:36:9f:74:73:06", "a0:36:9f:74:73:07")
    assert changed.mac("MAC-L-Tester") == conf.mac("MAC-L-Tester")
    assert with_dut_macs(conf, {DUT_MACS: ""}) is conf
    for name, value in {LEFT: "nothing0", RIGHT: "nothing1", DUT_MACS: "02:00:00:00:00:11,02:00:00:00:01:11"}.items():
        monkeypatch.setenv(name, value)
    code, _, err = call(STATELESS, conf_text("siit", MAC_L_DUT=None, MAC_R_DUT=None))
    assert code == UNUSABLE
    assert err.startswith(f"Error: {LEFT}: no interface 'nothing0'")


# Of background frames alone, and the offset of an address that the right does not have.
_UNNEEDED = {("siit", "IPv6-R-Real"), ("nat64-many", "IPv4-R-offset")}
_NEEDED = [
    (name, key)
    for name, conf in CONFS.items()
    for key, value in conf.items()
    if re.fullmatch(r"(CPU|MAC)-.*|IPv[46]-.-(Real|Virt|offset)|IP-.-(min|max)", key)
    if (name, key) not in _UNNEEDED and value not in {"0.0.0.0", "::"}
]


@pytest.mark.parametrize(("name", "key"), _NEEDED)
def test_a_missing_key_is_named(call: Call, name: str, key: str) -> None:
    arguments = f"{STATELESS} 100 100 1000 100 2000" if "Stateful" in CONFS[name] else STATELESS
    code, out, err = call(arguments, conf_text(name, **{key.replace("-", "_"): None}))
    assert (code, out) == (UNUSABLE, "")
    assert err.startswith(f"Error: siitperf.conf: {key} is missing; ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("environment", "error"),
    [
        ({LEFT: "lo"}, f"Error: {RIGHT} is missing; give both"),
        ({LEFT: "lo", RIGHT: "nothing0"}, f"Error: {RIGHT}: no interface 'nothing0' here; expected one of "),
        ({LEFT: "../lo", RIGHT: "lo"}, f"Error: {LEFT}: no interface '../lo' here"),
        ({LEFT: "lo", RIGHT: "lo", IO: "dpdk"}, f"Error: {IO} is 'dpdk', expected af_xdp or af_packet"),
        ({LEFT: "lo", RIGHT: "lo", CORES: "x"}, f"Error: {CORES} is 'x', expected cores of this process"),
        ({LEFT: "lo", RIGHT: "lo", CORES: "1022"}, f"Error: {CORES} is '1022'"),
        ({FLOOR_MS: "soon"}, f"Error: {FLOOR_MS} is 'soon', expected 0 to 1000 milliseconds"),
        ({FLOOR_MS: "2000"}, f"Error: {FLOOR_MS} is '2000'"),
        ({FLOOR_MS: "nan"}, f"Error: {FLOOR_MS} is 'nan'"),
        ({DUT_MACS: "02:00:00:00:00:11"}, f"Error: {DUT_MACS} is '02:00:00:00:00:11', expected the gateway's MAC addr"),
        ({DUT_MACS: "02:00:00:00:00:11,x"}, f"Error: {DUT_MACS} is '02:00:00:00:00:11,x', expected"),
        ({STRICT: "yes"}, f"Error: {STRICT} is 'yes', expected 1, 0 or nothing"),
    ],
)
def test_an_environment_that_does_not_fit(
    call: Call, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], error: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    code, out, err = call(STATELESS, conf_text("siit"))
    assert (code, out) == (UNUSABLE, "")
    assert err.startswith(error)
    assert err.count("\n") == 1


_NO_NAMES = ["Jool", "a b", "-a", "a/b", "a" * 65, "a\n"]


@pytest.mark.parametrize("is_recorded", [False, True])
@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        *((SERIES, value, "expected at most 64 small letters") for value in _NO_NAMES),
        (SERIES, "left-out", "which `natxy leave-out` gives to calls"),
        (PROCEDURE, "latency", "expected frame-loss-rate for frame-loss.sh-scan, or nothing"),
    ],
)
def test_what_nothing_is_recorded_as_is_an_error_before_the_engine_starts(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, value: str, error: str, is_recorded: bool
) -> None:
    monkeypatch.setenv(name, value)
    if is_recorded:
        monkeypatch.setenv(RUN, str(tmp_path / "run"))
    engine = MagicMock()
    monkeypatch.setattr("natxy_siitperf.trial.programs.EngineClient", engine)
    code, out, err = call(STATELESS, conf_text("siit"))
    assert (code, out, engine.called) == (UNUSABLE, "", False)
    assert err.startswith(f"Error: {name} is {plain(value)!r}, {error}")
    assert err.count("\n") == 1
    assert not (tmp_path / "run").exists()


def test_names_of_what_is_not_recorded_are_remarked_upon() -> None:
    names = {SERIES: "jool", PROCEDURE: "frame-loss-rate"}
    said = check_variables(names)
    assert said == [f"{name} has no effect: {RUN}, the folder of a run, is missing" for name in names]
    assert check_variables({**names, RUN: "run"}) == check_variables({SERIES: "", PROCEDURE: ""}) == []


def test_an_error_that_follows_from_a_line_which_is_read_in_another_way_names_that_line(call: Call) -> None:
    conf = conf_text("router-many").replace("IP-L-Vers 4", "IP-L-Vers = 4")
    code, out, err = call(STATELESS, conf)
    assert (code, out) == (UNUSABLE, "")
    remarked, error = err.splitlines()
    number = conf.splitlines().index("IP-L-Vers = 4") + 1
    assert remarked.startswith(f"natxy: siitperf.conf, line {number}: IP-L-Vers: no number follows")
    assert error.startswith("Error: siitperf.conf: IPv6-L-Real is missing; ")
    assert error.endswith(f"; mend line {number} first, which siitperf does not read as it is written")


def test_more_tags_than_foreground_frames_are_an_error_before_anything_starts(call: Call) -> None:
    code, out, err = call(
        "84 1000 10 200 2 0 1 100", conf_text("siit", IPv6_R_Real="2001:2:0:8000::2"), Program.LATENCY
    )
    assert (code, out) == (UNUSABLE, "")
    assert err.startswith("Input Error: timestamps is 100, and 0 foreground frames come after the delay")


def test_other_cores_than_those_of_the_configuration_are_remarked_upon() -> None:
    here = str(min(os.sched_getaffinity(0)))
    ports = {LEFT: "net_null0", RIGHT: "net_null1"}
    lacking = parse_conf(conf_text("siit", CPU_L_Send=here, CPU_R_Recv="1022", CPU_R_Send=here, CPU_L_Recv="1021"))
    (said,) = find_trial_ports(lacking, 84, ports).remarks
    assert said == f"all tasks are on core {here}, because this process has no core 1021, 1022; {CORES} names others"
    assert not find_trial_ports(lacking, 84, {**ports, CORES: here}).remarks
    of_one = conf_text("siit", **dict.fromkeys(("CPU_L_Send", "CPU_R_Recv", "CPU_R_Send", "CPU_L_Recv"), here))
    assert not find_trial_ports(parse_conf(of_one), 84, ports).remarks


def test_a_call_waits_for_who_holds_its_cores_and_then_holds_them(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    here = str(min(os.sched_getaffinity(0)))
    held, free = threading.Event(), threading.Event()
    remarks: list[str] = []
    holding: list[list[str]] = []

    def hold() -> None:
        with exclusive([f"core {here}"], lambda _: None):
            held.set()
            free.wait(HANG_S)

    def told(text: str) -> None:
        remarks.append(text)
        free.set()

    def measured(*_: object) -> Iterator[str]:
        holding.append([each.what for each in holders()])
        yield "traffic"

    for name, value in {LEFT: "net_null0", RIGHT: "net_null1", CORES: here}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("natxy_siitperf.trial.programs.EngineClient", MagicMock())
    monkeypatch.setattr("natxy_siitperf.trial.programs.run", measured)
    monkeypatch.setattr("natxy_siitperf.trial.programs.remark", told)
    other = threading.Thread(target=hold)
    other.start()
    assert held.wait(HANG_S)
    code, _, _ = call(STATELESS, conf_text("siit"))
    other.join(HANG_S)
    (remark,) = remarks
    assert code == 0
    assert remark.startswith(f"waiting for core {here}, which process {os.getpid()} (")
    assert holding == [[f"core {here}"]]
    assert holders() == []


@pytest.mark.parametrize(
    ("end", "code", "error"),
    [
        (EngineDiedError("the engine died"), BROKEN, "Error: the engine died"),
        (KeyboardInterrupt(), 130, "natxy: inter"),
    ],
)
def test_what_breaks_a_test_off_comes_before_an_error_of_its_recording(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: BaseException, code: int, error: str
) -> None:
    """The phase that ended is recorded with what broke the test off, and that recording fails."""
    recorded: list[tuple[list[object], object]] = []

    def broken_off(*_: object) -> Iterator[str]:
        yield "phase 1"
        raise end

    def full(folder: Path, part: object, phases: list[object], tester: object, why: object, began: object) -> None:
        recorded.append(([*phases], why))
        raise PlanError("Error: the disk is full")

    monkeypatch.setenv(LEFT, "net_null0")
    monkeypatch.setenv(RIGHT, "net_null1")
    monkeypatch.setenv(CORES, str(min(os.sched_getaffinity(0))))
    monkeypatch.setenv(RUN, str(tmp_path / "run"))
    monkeypatch.setattr("natxy_siitperf.trial.programs.EngineClient", MagicMock())
    monkeypatch.setattr("natxy_siitperf.trial.programs.run", broken_off)
    monkeypatch.setattr("natxy_siitperf.recording.run.append", full)
    ended, out, err = call(STATELESS, conf_text("siit"))
    assert (ended, out) == (code, "")
    remark, last = err.splitlines()
    assert remark == "natxy: error the disk is full"
    assert last.startswith(error)
    assert recorded == [(["phase 1"], end)]


@pytest.mark.parametrize("output", ["stdout", "stderr"])
def test_a_trial_whose_reader_has_left_is_still_recorded(
    call: Call, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, output: str
) -> None:
    """No frame arrives, and standard error says so."""
    environment = {LEFT: "net_null0", RIGHT: "net_null1", CORES: str(min(os.sched_getaffinity(0)))}
    for name, value in {**environment, RUN: str(tmp_path / "run")}.items():
        monkeypatch.setenv(name, value)
    engine = SimulatedEngine(SimulatedDut(SimulatedConfig(driver="simulated", forwarding_fps=1)))
    monkeypatch.setattr("natxy_siitperf.trial.programs.EngineClient", lambda _: engine)
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as left, monkeypatch.context() as patched:
        patched.setattr(sys, output, left)
        code, _, _ = call(STATELESS, conf_text("siit"))
        assert (code, os.readlink(f"/proc/self/fd/{left.fileno()}")) == (0, os.devnull)
        assert call(["--help"], None)[0] == 0
    (experiment,) = RunReader(tmp_path / "run").run.experiments
    assert [step.rate for each in experiment.repetitions for step in each.steps] == [1000]


@st.composite
def spoiled_calls(draw: st.DrawFn) -> tuple[Program, list[str], str]:
    """Draws a program with arguments and a documented configuration, of which some characters and lines are others."""
    program = draw(st.sampled_from(Program))
    lines = conf_text(draw(st.sampled_from(sorted(CONFS)))).splitlines()
    arguments = f"{STATELESS} 100 100 1000 100 2000".split()[: 11 if any("Stateful" in line for line in lines) else 6]
    arguments += {Program.LATENCY: ["0", "100"], Program.PDV: ["0"]}.get(program, [])
    for spoiled in draw(st.sampled_from([[lines], [arguments], [lines, arguments], []])):
        for _ in range(draw(st.integers(1, 3))):
            number = draw(st.integers(0, len(spoiled) - 1))
            word = spoiled[number]
            at = draw(st.integers(0, len(word)))
            new = draw(st.sampled_from(["", "0", "-", "9" * 30, "x", "=", " ", "\t#", "\r", "\0", ":", ".", "0x", "é"]))
            spoiled[number] = word[:at] + new + word[at + draw(st.integers(0, 3)) :]
    return program, arguments, "\n".join(lines)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spoiled_calls())
def test_whatever_is_spoiled_ends_with_one_line_and_255(
    call: Call, monkeypatch: pytest.MonkeyPatch, spoiled: tuple[Program, list[str], str]
) -> None:
    """Nothing is measured either where nothing is spoiled: there are no such ports."""
    monkeypatch.setenv(LEFT, "nothing0")
    monkeypatch.setenv(RIGHT, "nothing1")
    program, arguments, conf = spoiled
    code, out, err = call(arguments, conf, program)
    assert (code, out) == (UNUSABLE, "")
    errors = [line for line in err.splitlines() if not line.startswith("natxy: ")]
    assert len(errors) == 1
    assert errors[0].startswith(("Error: ", "Input Error: "))
    assert "Traceback" not in err


def test_remarks_do_not_end_scripts(call: Call) -> None:
    code, _, err = call("84 0 1 200 2 2", conf_text("siit") + "Reverse = 0\n")
    assert code == UNUSABLE
    remark, error = err.splitlines()
    assert remark.startswith("natxy: siitperf.conf, line ")
    assert "Error:" not in remark
    assert "invalid" not in remark
    assert error.startswith("Input Error:")
