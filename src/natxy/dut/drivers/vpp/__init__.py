# SPDX-License-Identifier: Apache-2.0
"""The driver for VPP as a border relay."""
