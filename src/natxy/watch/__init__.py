# SPDX-License-Identifier: Apache-2.0
"""Shows a run while it measures, made of its events and nothing else: on a terminal, and as lines elsewhere."""
