# SPDX-License-Identifier: Apache-2.0
"""Checks of a plan that need no machine."""
