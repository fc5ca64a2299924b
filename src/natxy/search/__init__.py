# SPDX-License-Identifier: Apache-2.0
"""Searches for a rate, as pure functions of an injected measurer."""
