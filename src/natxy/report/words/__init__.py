# SPDX-License-Identifier: Apache-2.0
"""Numbers, units, states and settings in the words of a report."""
