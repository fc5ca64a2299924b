# SPDX-License-Identifier: Apache-2.0
"""Reads a campaign, and knows its jobs: what is measured where, in which order, and for how long."""
