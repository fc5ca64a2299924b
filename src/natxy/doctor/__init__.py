# SPDX-License-Identifier: Apache-2.0
"""Examines machines for `natxy doctor`: what they can measure, what is missing, and what would bias a result."""
