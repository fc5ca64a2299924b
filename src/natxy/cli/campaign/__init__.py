# SPDX-License-Identifier: Apache-2.0
"""Measures campaigns, and says how they went."""
