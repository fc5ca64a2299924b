# SPDX-License-Identifier: Apache-2.0
"""Reports of a run: text for a terminal, a self-contained HTML file, tables and charts."""
