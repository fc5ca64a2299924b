# SPDX-License-Identifier: Apache-2.0
"""Stores the trials of siitperf's scripts as a run that `natxy report` draws."""
