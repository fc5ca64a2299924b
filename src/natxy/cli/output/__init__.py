# SPDX-License-Identifier: Apache-2.0
"""Prints in the formats, and writes into the files, that a user asks for."""
