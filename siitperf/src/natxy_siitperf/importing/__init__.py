# SPDX-License-Identifier: Apache-2.0
"""Writes plans that measure what siitperf measures."""
