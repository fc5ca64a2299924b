# SPDX-License-Identifier: Apache-2.0
"""Explains natxy's words: terms, verdicts and their causes, exit codes, fields of a plan and of a campaign,
columns, sections of the RFCs."""
