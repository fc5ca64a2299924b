# SPDX-License-Identifier: Apache-2.0
"""Checks a plan without touching a machine."""
