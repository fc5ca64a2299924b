# SPDX-License-Identifier: Apache-2.0
"""Testbeds: they connect a tester to a DUT, or build both on this machine."""
