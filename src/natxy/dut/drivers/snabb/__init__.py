# SPDX-License-Identifier: Apache-2.0
"""The driver for Snabb's lwAFTR."""
