# SPDX-License-Identifier: Apache-2.0
"""Concludes why a gateway loses frames, from its counters in a trial and from the trials of a search together."""
