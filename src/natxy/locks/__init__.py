# SPDX-License-Identifier: Apache-2.0
"""Keeps sessions apart that measure with the same cores, ports or machines, and knows who holds what."""
