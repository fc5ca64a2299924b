# SPDX-License-Identifier: Apache-2.0
"""The formats that verbs print and the files that they write for a user."""
