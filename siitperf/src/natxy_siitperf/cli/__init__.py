# SPDX-License-Identifier: Apache-2.0
"""Adds verbs to natxy: they write plans of siitperf's configuration, install programs, and leave calls out."""
