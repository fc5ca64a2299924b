# SPDX-License-Identifier: Apache-2.0
"""The database of a run: its tables, their rows, and a connection that reads it as it is at one moment."""
