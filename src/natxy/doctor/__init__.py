# SPDX-License-Identifier: Apache-2.0
"""Findings of `natxy doctor`: what a machine can do, what it lacks, and what would bias a result."""
