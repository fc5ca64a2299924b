# SPDX-License-Identifier: Apache-2.0
"""Models of the parts of a plan: quantities, addresses, traffic, timing, searches."""
