# SPDX-License-Identifier: Apache-2.0
"""Results for other programs: as rows of plain values, as one JSON document, and in files of runs."""

from enum import StrEnum


class ExportFormat(StrEnum):
    CSV = "csv"
    JSON = "json"
    PARQUET = "parquet"
