# SPDX-License-Identifier: Apache-2.0
"""Serves a page on this machine that shows a run while it measures."""
