# SPDX-License-Identifier: Apache-2.0
"""Searches for the highest rate or number that passes. The caller passes in the function that measures."""
