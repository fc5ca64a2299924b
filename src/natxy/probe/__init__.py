# SPDX-License-Identifier: Apache-2.0
"""Probes the path through a gateway before the first trial, and finds out what is in the way."""
