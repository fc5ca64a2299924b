# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import csv
import io
import json
import sqlite3
import subprocess
import zipfile
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natxy.bundle import file, verification
from natxy.bundle.contents import README_FILE, SUMS_FILE, database_of, files_of, sums
from natxy.bundle.file import read, write_zip
from natxy.bundle.signature import SIGNATURE_FILE, sign
from natxy.bundle.signature_test import allowing, made_key
from natxy.bundle.verification import verify
from natxy.errors import PlanError
from natxy.installation import full_version
from natxy.results import RESULTS_FILE
from natxy.results.pcap import FOREIGN_FILE
from natxy.results.records import RunState
from tests.support import needs
from tests.support.past_runs import night
from tests.support.sample_runs import quickstart

MOMENT = datetime(2026, 3, 1, 2, tzinfo=UTC)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    found = files_of(quickstart(tmp_path_factory.mktemp("measured")))
    return found | {SUMS_FILE: sums(found).encode()}


def zipped(folder: Path, files: dict[str, bytes]) -> Path:
    path = folder / "run.zip"
    with path.open("wb") as out:
        write_zip(out, "run", files, MOMENT)
    return path


def with_new_sums(files: dict[str, bytes]) -> dict[str, bytes]:
    """Returns files as a forger would publish them, who knows how hashes are made."""
    others = {name: content for name, content in files.items() if name not in {SUMS_FILE, SIGNATURE_FILE}}
    return files | {SUMS_FILE: sums(others).encode()}


def test_a_bundle_is_verified_as_a_file_and_unpacked(files: dict[str, bytes], tmp_path: Path) -> None:
    path = zipped(tmp_path, files)
    found = verify(path)
    assert (found.run.name, found.file_count, found.computed_again) == ("quickstart", 8, True)
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path)
    assert verify(tmp_path / "run").run.seed == found.run.seed


@needs.programs("ssh-keygen")
def test_a_signature_is_verified_with_the_rest(files: dict[str, bytes], tmp_path: Path) -> None:
    key = made_key(tmp_path)
    signed = files | {SIGNATURE_FILE: sign(files[SUMS_FILE], key)}
    found = verify(zipped(tmp_path, signed))
    assert (found.signed_with.partition(" ")[0], found.signer, found.file_count) == ("ED25519", "", 9)
    allowed = allowing(tmp_path, ("alice", key))
    assert verify(zipped(tmp_path, signed), allowed).signer == "alice"
    # A forger makes new hashes, but no new signature.
    forged = with_new_sums(signed | {README_FILE: b"none"})
    for bundle, said in ((forged, "its signature does not fit its hashes"), (files, "is not signed")):
        with pytest.raises(PlanError, match=said):
            verify(zipped(tmp_path, bundle), allowed)


def test_other_programs_check_and_read_it(files: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(zipped(tmp_path, files)) as archive:
        archive.extractall(tmp_path)
    checked = subprocess.run(
        ["sha256sum", "-c", SUMS_FILE], cwd=tmp_path / "run", capture_output=True, text=True, check=True
    )
    assert checked.stdout.count(": OK\n") == 7
    trials = list(csv.DictReader(io.StringIO(files["trials.csv"].decode())))
    with closing(sqlite3.connect(tmp_path / "run" / RESULTS_FILE)) as db:
        assert db.execute("SELECT count(*) FROM trial").fetchone() == (len(trials),)
        assert json.loads(files["conditions.json"])["seed"] == int(db.execute("SELECT seed FROM run").fetchone()[0])


def test_the_same_run_makes_the_same_bundle(tmp_path: Path) -> None:
    run = quickstart(tmp_path / "measured")
    first, second = (zipped(tmp_path, files_of(run)).read_bytes() for _ in range(2))
    assert first == second


def test_frames_that_did_not_belong_are_in_it_and_a_link_is_not(tmp_path: Path) -> None:
    run = night(tmp_path, 1)
    (run / FOREIGN_FILE).write_bytes(b"frames")
    assert files_of(run)[FOREIGN_FILE] == b"frames"
    (run / FOREIGN_FILE).unlink()
    (run / FOREIGN_FILE).symlink_to("/etc/hostname")
    assert FOREIGN_FILE not in files_of(run)


def test_a_run_that_is_being_measured_makes_no_bundle(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="still being measured; bundle it when it has ended"):
        database_of(night(tmp_path, 1, state=RunState.RUNNING))


@pytest.mark.parametrize("name", ["figures.csv", "trials.csv", "plan.yaml", "report.html", RESULTS_FILE, SUMS_FILE])
def test_a_changed_file_is_named(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    changed = files | {name: files[name].replace(b"1", b"2", 1)}
    assert changed != files
    with pytest.raises(PlanError, match=f"is not as it was made: by {SUMS_FILE}, '{'' if name == SUMS_FILE else name}"):
        verify(zipped(tmp_path, changed))


@pytest.mark.parametrize("name", ["figures.csv", "trials.csv", "plan.yaml", "report.html", "README.md"])
def test_a_forged_table_contradicts_the_database(name: str, files: dict[str, bytes], tmp_path: Path) -> None:
    forged = with_new_sums(files | {name: files[name].replace(b"1", b"2", 1)})
    with pytest.raises(PlanError, match=f"contradicts itself: {name} has not what follows from {RESULTS_FILE}"):
        verify(zipped(tmp_path, forged))


def test_tables_of_another_version_are_not_computed_again(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "computing_versions", lambda: {"natxy": "9.9.9"})
    found = verify(zipped(tmp_path, files))
    assert (found.computed_again, found.computed_with["natxy"]) == (False, full_version())


def without(name: str) -> Callable[[dict[str, bytes]], dict[str, bytes]]:
    return lambda files: {other: content for other, content in files.items() if other != name}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (without("plan.yaml"), "is no bundle: it lacks plan.yaml; `natxy bundle RUN` writes one"),
        (lambda files: files | {"../../etc/passwd": b""}, "not in one folder, but in ['run', 'run/../../etc']"),
        (lambda files: files | {"notes.txt": b""}, "it holds 'notes.txt', which no bundle has"),
        (lambda files: with_new_sums(files | {"conditions.json": b"[]"}), "conditions.json does not say"),
        (lambda files: with_new_sums(files | {RESULTS_FILE: b"nothing"}), f"{RESULTS_FILE} cannot be read: it is no"),
    ],
)  # fmt: skip
def test_what_is_no_bundle_is_refused(
    change: Callable[[dict[str, bytes]], dict[str, bytes]], said: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    with pytest.raises(PlanError) as error:
        verify(zipped(tmp_path, change(files)))
    assert said in str(error.value)


@pytest.mark.parametrize("folder", ["..", ".", "", "/", "a/b", "a b"])
def test_files_that_would_be_unpacked_elsewhere_are_refused(
    folder: str, files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "run.zip"
    with path.open("wb") as out:
        write_zip(out, folder, files, MOMENT)
    with pytest.raises(PlanError, match="its files are not in one folder"):
        verify(path)


def test_another_compression_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "run.zip", "w", zipfile.ZIP_BZIP2) as archive:
        for name, content in files.items():
            archive.writestr(f"run/{name}", content)
    with pytest.raises(PlanError, match="is not compressed as natxy does"):
        verify(tmp_path / "run.zip")


def entries(files: dict[str, bytes], mode: int = 0o100644, extra: bytes = b"") -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(f"run/{name}")
            entry.external_attr, entry.extra, entry.compress_type = mode << 16, extra, zipfile.ZIP_DEFLATED
            archive.writestr(entry, content)
    return out.getvalue()


def commented(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO(entries(files))
    with zipfile.ZipFile(out, "a") as archive:
        archive.comment = b"read me"
    return out.getvalue()


@pytest.mark.parametrize(
    ("make", "is_refused"),
    [
        (entries, False),
        (lambda files: entries(files, 0o120777), True),
        (lambda files: entries(files, 0o104755), True),
        (lambda files: entries(files, 0o100777), True),
        (lambda files: entries(files, extra=b"UT\x05\x00\x01\0\0\0\0"), True),
        (lambda files: entries({"README.md": b"another"}) + entries(files), True),
        (lambda files: b"#!/bin/sh\n" + entries(files), True),
        (commented, True),
        (lambda files: entries(files) + b"behind", True),
    ],
)
def test_a_zip_file_of_another_shape_is_refused(
    make: Callable[[dict[str, bytes]], bytes], is_refused: bool, files: dict[str, bytes], tmp_path: Path
) -> None:
    path = tmp_path / "run.zip"
    path.write_bytes(make(with_new_sums(files)))
    if is_refused:
        with pytest.raises(PlanError, match="has not the shape of a zip file that natxy writes"):
            verify(path)
    else:
        verify(path)


@pytest.mark.parametrize("at", [8, 14, 18, 22, 30])
def test_a_header_that_contradicts_the_directory_is_refused(at: int, files: dict[str, bytes], tmp_path: Path) -> None:
    """Changes method, hash, both sizes, and name."""
    changed = bytearray(entries(with_new_sums(files)))
    changed[at] ^= 1
    (tmp_path / "run.zip").write_bytes(changed)
    with pytest.raises(PlanError, match=r"no bundle|has not the shape"):
        verify(tmp_path / "run.zip")


@pytest.mark.parametrize("limit", [100, 20_000])
def test_a_bundle_of_large_files_is_verified(
    limit: int, files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    assert verify(zipped(tmp_path, files)).file_count == 8


def test_another_plan_is_found_whatever_version_made_the_bundle(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "computing_versions", lambda: {"natxy": "9.9.9"})
    forged = with_new_sums(files | {"plan.yaml": b"name: evil\n"})
    with pytest.raises(PlanError, match=r"contradicts itself: plan\.yaml has not what follows"):
        verify(zipped(tmp_path, forged))


def test_a_link_in_an_unpacked_bundle_is_not_followed(files: dict[str, bytes], tmp_path: Path) -> None:
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / FOREIGN_FILE).symlink_to("/dev/zero")
    assert verify(tmp_path).file_count == len(files)


def test_a_file_that_unpacks_to_too_much_is_refused(
    files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file, "_MOST_BYTES", 1000)
    with pytest.raises(PlanError, match="more than the 1,000 that natxy reads"):
        read(zipped(tmp_path, files))


@pytest.fixture(scope="module")
def bundle(files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return zipped(tmp_path_factory.mktemp("bundle"), files).read_bytes()


@given(place=st.integers(0, 5_000_000) | st.integers(-1000, -1), value=st.binary(min_size=1, max_size=4))
def test_damage_is_refused_or_harmless(
    place: int, value: bytes, bundle: bytes, files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("damaged") / "run.zip"
    content = bytearray(bundle)
    place %= len(content)
    content[place : place + len(value)] = value
    path.write_bytes(content)
    try:
        found = read(path)
    except PlanError:
        return
    # A time stamp or a mode was hit.
    assert found == files
