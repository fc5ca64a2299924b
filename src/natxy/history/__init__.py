# SPDX-License-Identifier: Apache-2.0
"""The runs of a plan over time: their figures, what changed between them, and where the level of a figure changed."""
