# SPDX-License-Identifier: Apache-2.0
"""Helps people who are new to natxy: these verbs explain its words and write a first plan."""
