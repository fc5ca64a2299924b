# SPDX-License-Identifier: Apache-2.0
"""Prepares the ports of testers, on this machine and on others."""
