# SPDX-License-Identifier: Apache-2.0
"""Writes a bundle as a zip file, and reads one that may come from anybody."""

from __future__ import annotations

import os
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from natxy.bundle.contents import (
    CONDITIONS_FILE,
    FIGURES_FILE,
    PAGE_FILE,
    PLAN_FILE,
    README_FILE,
    SUMS_FILE,
    TRIALS_FILE,
)
from natxy.bundle.signature import SIGNATURE_FILE
from natxy.errors import PlanError
from natxy.results import RESULTS_FILE
from natxy.results.pcap import FOREIGN_FILE
from natxy.untrusted.files import opened_regular

NEEDED: Final = frozenset(
    {CONDITIONS_FILE, FIGURES_FILE, PAGE_FILE, PLAN_FILE, README_FILE, RESULTS_FILE, SUMS_FILE, TRIALS_FILE}
)
_KNOWN: Final = NEEDED | {FOREIGN_FILE, SIGNATURE_FILE}
_MOST_BYTES: Final = 4 << 30
"""So much is read into memory at most: a small zip file may hold as much as it likes."""
_MODE: Final = 0o644
# What zipfile raises about a file that is none, is damaged, or was made to mislead it.
_DAMAGES: Final = (
    zipfile.BadZipFile, zlib.error, struct.error, ValueError, NotImplementedError, EOFError, RuntimeError,
)  # fmt: skip
# The parts of a zip file (PKWARE's APPNOTE §4.3): a file's header without version and time, the sizes of a large file
# behind it, and the lengths of an entry in the directory and of what ends a zip file and a large one.
_HEADER: Final = struct.Struct("<4s2xHH4xLLLHH")
_LARGE: Final = struct.Struct("<HHQQ")
_ELSEWHERE: Final = 0xFFFFFFFF
_IN_DIRECTORY_BYTES: Final = 46
_END_BYTES: Final = 22
_LARGE_END_BYTES: Final = 76
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# As `file_name` makes it, but no other folder than one below that where it is unpacked.
_FOLDER: Final = re.compile(r"(?!\.+$)[\w.-]+", re.ASCII)
# Zip files know no other years.
_FIRST_YEAR, _LAST_YEAR = 1980, 2107


def write_zip(out: BinaryIO, folder: str, files: Mapping[str, bytes], moment: datetime) -> None:
    """Writes files into a folder of a zip file, which depends on nothing but the arguments."""
    stamp = moment.replace(year=min(max(moment.year, _FIRST_YEAR), _LAST_YEAR)).timetuple()[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", stamp)
            entry.external_attr = _MODE << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, files[name])


def read(path: Path) -> dict[str, bytes]:
    """Returns the files of a bundle by name, from a zip file or from a folder that was unpacked.

    Raises PlanError, which names what is wrong, when it is no bundle: when a file is missing, unknown or damaged.
    """
    try:
        found = _from_folder(path) if path.is_dir() else _from_zip(path)
    except _DAMAGES as error:
        raise PlanError(f"{path} is no bundle, or is damaged: {error}") from error
    except OSError as error:
        raise PlanError(f"{path} cannot be read: {error.strerror or error}") from error
    if missing := sorted(NEEDED - found.keys()):
        raise PlanError(f"{path} is no bundle: it lacks {', '.join(missing)}; `natxy bundle RUN` writes one")
    return found


def _from_folder(folder: Path) -> dict[str, bytes]:
    # What a link leads to may have no end.
    entries = [(each.name, each.lstat().st_size) for each in folder.iterdir() if stat.S_ISREG(each.lstat().st_mode)]
    _check(folder, entries)
    return {name: (folder / name).read_bytes() for name, _ in entries}


def _from_zip(path: Path) -> dict[str, bytes]:
    with opened_regular(path) as file, zipfile.ZipFile(file) as archive:
        held = archive.infolist()
        if other := [each.filename for each in held if each.compress_type not in _METHODS]:
            raise PlanError(f"{path} is no bundle: {other[0]!r} is not compressed as natxy does")
        _check_shape(path, file, archive)
        folders = sorted({each.filename.rpartition("/")[0] for each in held})
        if len(folders) != 1 or not _FOLDER.fullmatch(folders[0]):
            raise PlanError(f"{path} is no bundle: its files are not in one folder, but in {folders}")
        names = [each.filename.rpartition("/")[2] for each in held]
        _check(path, [(name, each.file_size) for name, each in zip(names, held, strict=True)])
        files = {name: archive.read(each) for name, each in zip(names, held, strict=True)}
        if [len(content) for content in files.values()] != [each.file_size for each in held]:
            raise PlanError(f"{path} is damaged: a file in it is shorter than the bundle says")
        return files


def _check_shape(path: Path, file: BinaryIO, archive: zipfile.ZipFile) -> None:
    """Raises PlanError unless the zip file has the shape that `write_zip` gives it, so that all programs read the same.

    Others could make links of its files, give them other permissions, believe the header beside a file instead of the
    directory, or see another zip file in front of this one or behind it.
    """
    if _has_own_shape(file, archive):
        return
    raise PlanError(
        f"{path} has not the shape of a zip file that natxy writes, and programs may unpack it in other ways than "
        "natxy reads it; if you made it of an unpacked bundle, verify the folder"
    )


def _has_own_shape(file: BinaryIO, archive: zipfile.ZipFile) -> bool:
    end = directory_bytes = 0
    for each in archive.infolist():
        is_plain = each.external_attr >> 16 in (_MODE, stat.S_IFREG | _MODE) and not each.flag_bits and not each.comment
        # An extra field of the directory has the numbers of a large file: both sizes where one is large.
        is_large = max(each.file_size, each.compress_size) > zipfile.ZIP64_LIMIT
        large = 2 * is_large + (each.header_offset > zipfile.ZIP64_LIMIT)
        extra_start = struct.pack("<HH", 1, 8 * large) if large else b""
        is_own_extra = each.extra.startswith(extra_start) and len(each.extra) == len(extra_start) + 8 * large
        header_bytes = _length_of_header(file, each)
        if not is_plain or not is_own_extra or each.header_offset != end or not header_bytes:
            return False
        end += header_bytes + each.compress_size
        directory_bytes += _IN_DIRECTORY_BYTES + len(each.filename.encode()) + len(each.extra)
    tail_bytes = _END_BYTES + (_LARGE_END_BYTES if end > zipfile.ZIP64_LIMIT else 0)
    whole_bytes = file.seek(0, os.SEEK_END)
    return end == archive.start_dir and end + directory_bytes + tail_bytes == whole_bytes


def _length_of_header(file: BinaryIO, entry: zipfile.ZipInfo) -> int:
    """Returns the length of the header in front of a file, 0 if it says something else than the directory."""
    file.seek(entry.header_offset)
    found = file.read(_HEADER.size)
    if len(found) < _HEADER.size:
        return 0
    signature, flags, method, crc, *sizes, name_bytes, extra_bytes = _HEADER.unpack(found)
    name, extra = file.read(name_bytes), file.read(extra_bytes)
    if sizes == [_ELSEWHERE, _ELSEWHERE] and len(extra) == _LARGE.size:
        kind, length, *swapped = _LARGE.unpack(extra)
        sizes = swapped[::-1] if (kind, length) == (1, _LARGE.size - 4) else []
    elif extra:
        return 0
    said = (signature, flags, method, crc, sizes, name)
    sizes_known = [entry.compress_size, entry.file_size]
    known = (b"PK\3\4", 0, entry.compress_type, entry.CRC, sizes_known, entry.filename.encode())
    return _HEADER.size + name_bytes + extra_bytes if said == known else 0


def _check(path: Path, entries: list[tuple[str, int]]) -> None:
    """Raises PlanError unless each file is one that a bundle has, once, and all together fit into memory."""
    names = [name for name, _ in entries]
    if unknown := sorted(set(names) - _KNOWN):
        raise PlanError(f"{path} is no bundle: it holds {unknown[0]!r}, which no bundle has")
    if len(names) > len(set(names)):
        raise PlanError(f"{path} is no bundle: it holds a file twice")
    if (size := sum(size for _, size in entries)) > _MOST_BYTES:
        raise PlanError(f"{path} holds {size:,} bytes, more than the {_MOST_BYTES:,} that natxy reads")
