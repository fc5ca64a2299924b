# SPDX-License-Identifier: Apache-2.0
"""Measures every procedure on the reference gateway, whose limits and faults are known, and compares the results."""
