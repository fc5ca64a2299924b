# SPDX-License-Identifier: Apache-2.0
"""Test frames as data: their sizes, mixes of sizes, and what stands before their signature."""
