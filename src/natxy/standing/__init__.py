# SPDX-License-Identifier: Apache-2.0
"""Keeps labs standing until they are asked to end, for siitperf's scripts and for people who look into them."""
