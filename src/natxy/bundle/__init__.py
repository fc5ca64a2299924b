# SPDX-License-Identifier: Apache-2.0
"""Packs a run into one file for publication, and verifies such files."""
