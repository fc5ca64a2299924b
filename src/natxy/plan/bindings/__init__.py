# SPDX-License-Identifier: Apache-2.0
"""Reads binding tables: lists of softwires, in the formats of several lwAFTRs."""
