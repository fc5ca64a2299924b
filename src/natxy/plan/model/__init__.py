# SPDX-License-Identifier: Apache-2.0
"""The parts that plans are made of: units, addresses, traffic, timing, searches."""
