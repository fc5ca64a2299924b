# SPDX-License-Identifier: Apache-2.0
"""Comparisons and columns computed from the records of one or more runs."""
