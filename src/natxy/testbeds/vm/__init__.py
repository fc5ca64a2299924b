# SPDX-License-Identifier: Apache-2.0
"""Runs a gateway in a virtual machine: QEMU between two taps of natxy's own."""
