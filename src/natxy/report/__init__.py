# SPDX-License-Identifier: Apache-2.0
"""What people read of a run: the terminal's table and one self-contained HTML file."""

from natxy.report.html import REPORT_FILE, write_report

__all__ = ["REPORT_FILE", "write_report"]
