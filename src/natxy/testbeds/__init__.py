# SPDX-License-Identifier: Apache-2.0
"""Connects a tester to a DUT, or builds both on this machine."""
