# SPDX-License-Identifier: Apache-2.0
"""What people read of a run: the terminal's table, one self-contained HTML file, tables as text."""
