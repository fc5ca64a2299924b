# SPDX-License-Identifier: Apache-2.0
"""Lets siitperf's users move in: reads its configuration, and writes plans that measure the same."""

__version__ = "0.1.0"
