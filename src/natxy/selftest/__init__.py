# SPDX-License-Identifier: Apache-2.0
"""The self-test: how fast the tester is when its two ports are joined."""
