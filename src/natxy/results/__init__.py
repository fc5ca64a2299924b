# SPDX-License-Identifier: Apache-2.0
"""What a run leaves behind: its SQLite store, and what is read and computed from it."""
