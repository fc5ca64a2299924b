# SPDX-License-Identifier: Apache-2.0
"""Runs a lab's gateway in a guest kernel: user-mode Linux."""
